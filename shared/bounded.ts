// Lists whose check stops after a few wrong entries. The schema library alone makes one
// issue per wrong entry, and a body of 256 KB has room for 128,000 of them.
import * as z from 'zod/mini'

/** How many wrong entries of a list are reported. The first ones show what to fix. */
export const maxWrongEntries = 10

const items = new WeakMap<object, z.core.$ZodType>()

/** The schema of the entries, if `readList` made this schema: it does not say so itself. */
export function readItem(schema: object): z.core.$ZodType | undefined {
  return items.get(schema)
}

export function readList<Item extends z.core.$ZodType>(item: Item, maxLength: number) {
  const list = z.array(z.unknown()).check(z.maxLength(maxLength))
  items.set(list, item)
  return z.pipe(
    list,
    z.transform((values, { issues }) => {
      const read: z.output<Item>[] = []
      let wrong = 0
      for (const [i, value] of values.entries()) {
        const parsed = z.safeParse(item, value)
        if (parsed.success) read.push(parsed.data)
        else {
          issues.push(...within(i, parsed.error, value))
          if (++wrong === maxWrongEntries) break
        }
      }
      return read
    }),
  )
}

/** The issues of one entry as issues of the list. */
function within(at: number, { issues }: z.core.$ZodError, input: unknown): z.core.$ZodRawIssue[] {
  return issues.map(({ message, path }) => {
    return { code: 'custom', message, path: [at, ...path], input }
  })
}
