// What the public view of an event has of mutes.
import { time } from '../../schema/checks.ts'

export const muteFields = {
  mutedUntil: time
    .exactOptional()
    .describe('People are not told of it until then. Absent if it is not muted.'),
}
