// The readers' own time, for channels whose services cannot show it: mails, and some of kind `http`.
import * as z from 'zod'

/** Key `timeZone` of a channel. */
export const timeZone = z
  .string()
  .max(64)
  .refine(isKnown, { error: 'write the name of a time zone, such as "Europe/Berlin"' })
  .optional()
  .describe('Where the readers are, such as `Europe/Berlin`: messages also say when it is there.')

/** `Sat 13:15 in Europe/Berlin`. `at`: epoch ms. */
export function showIn(zone: string, at: number): string {
  const parts = { weekday: 'short', hour: '2-digit', minute: '2-digit' } as const
  const text = new Intl.DateTimeFormat('en-GB', { ...parts, timeZone: zone }).format(at)
  return `${text.replace(',', '')} in ${zone}`
}

/** Names only: an offset would be wrong for half of the year. */
function isKnown(zone: string): boolean {
  if (!/^[a-z]/i.test(zone)) return false
  try {
    new Intl.DateTimeFormat('en-GB', { timeZone: zone })
    return true
  } catch {
    return false
  }
}
