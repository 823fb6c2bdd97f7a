// `GET /calendar.ics`: a feed for calendar programs, which send no headers. So the token is in the
// address, and may do nothing else: addresses end up in settings, histories and logs of proxies.
import * as z from 'zod'
import { readAccess } from '../../http/api/access.ts'
import { route } from '../../http/route.ts'
import { createCalendarReader } from './use.ts'

const calendarType = 'text/calendar'

export const calendarRoute = route({
  method: 'get',
  path: '/calendar.ics',
  name: 'getCalendar',
  summary: 'Upcoming and running maintenance as a calendar (iCalendar), at most a minute old.',
  about: 'An event that was cancelled stays for 7 days, with `STATUS:CANCELLED`.',
  group: 'Events',
  caller: 'calendar',
  query: z.strictObject({
    token: z
      .string()
      .optional()
      .describe('A token whose only scope is `calendar`. It is required.'),
  }),
  answers: { 200: { about: 'The calendar.', schema: z.string(), type: calendarType } },
  handler({ relay }) {
    const read = createCalendarReader(relay)
    return async (c) => {
      const headers = { 'content-type': `${calendarType}; charset=utf-8` }
      return c.body(await read(readAccess(c)), 200, headers)
    }
  },
})
