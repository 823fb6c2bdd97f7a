import * as z from 'zod'
import { time } from '../../schema/checks.ts'

export const noteFields = {
  ownerNote: z
    .object({ text: z.string(), at: time, by: z.string() })
    .exactOptional()
    .describe('What an owner noted for those who decide. Absent if there is no note.'),
}
