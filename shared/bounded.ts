// Lists whose check stops after a few wrong entries. The schema library alone makes one
// issue per wrong entry, and a body of 256 KB has room for 128,000 of them.
import * as z from 'zod'

/** How many wrong entries of a list are reported. The first ones show what to fix. */
export const maxWrongEntries = 10

const items = new WeakMap<object, z.ZodType>()

/** The schema of the entries, if `listOf` made this schema: it does not say so itself. */
export function itemOf(schema: object): z.ZodType | undefined {
  return items.get(schema)
}

export function listOf<Item extends z.ZodType>(item: Item, maxLength: number) {
  const list = z.array(z.unknown()).max(maxLength)
  items.set(list, item)
  return list.transform((values, context) => {
    const read: z.output<Item>[] = []
    let wrong = 0
    for (const [i, value] of values.entries()) {
      const parsed = item.safeParse(value)
      if (parsed.success) read.push(parsed.data)
      else {
        report(context, i, parsed.error)
        if (++wrong === maxWrongEntries) break
      }
    }
    return read
  })
}
function report(context: z.RefinementCtx, at: PropertyKey, { issues }: z.ZodError): void {
  for (const issue of issues) {
    context.addIssue({ code: 'custom', message: issue.message, path: [at, ...issue.path] })
  }
}
