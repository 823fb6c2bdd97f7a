// Lists whose check stops after a few wrong entries. The schema library alone makes one
// issue per wrong entry, and a body of 256 KB has room for 128,000 of them.
import * as z from 'zod'

/** How many wrong entries of a list are reported. The first ones show what to fix. */
export const maxWrongEntries = 10

export function listOf<Item extends z.ZodType>(item: Item, maxLength: number) {
  return z
    .array(z.unknown())
    .max(maxLength)
    .transform((values, context) => {
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
