// Lists and records whose check stops after a few wrong entries. The schema library alone makes one
// issue per wrong entry, and a body of 256 KB has room for 128,000 of them.
import { z } from 'zod'

/** How many wrong entries of a list or record are reported. The first ones show what to fix. */
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

/** Checked by hand: `z.record` takes 50 ms for 20,000 unchecked entries. */
const object = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'Invalid input: expected object',
)

/** An object whose keys are chosen by the sender. */
export function recordOf<Key extends z.ZodType<string>, Value extends z.ZodType>(
  key: Key,
  value: Value,
) {
  return object.transform((given, context) => {
    const read: [string, z.output<Value>][] = []
    let wrong = 0
    for (const [name, one] of Object.entries(given)) {
      // JSON may contain this key, and assigning it later would change the object's prototype
      if (name === '__proto__') continue
      const named = key.safeParse(name)
      const parsed = value.safeParse(one)
      if (named.success && parsed.success) read.push([named.data, parsed.data])
      else {
        const error = named.error ?? parsed.error
        if (error !== undefined) report(context, name, error)
        if (++wrong === maxWrongEntries) break
      }
    }
    return Object.fromEntries(read) as Record<string, z.output<Value>>
  })
}

function report(context: z.RefinementCtx, at: PropertyKey, { issues }: z.ZodError): void {
  for (const issue of issues) {
    context.addIssue({ code: 'custom', message: issue.message, path: [at, ...issue.path] })
  }
}
