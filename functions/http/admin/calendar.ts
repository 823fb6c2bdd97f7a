// `GET /calendar.ics`: a feed for calendar programs, which send no headers. So the token is in the
// address, and may do nothing else: addresses end up in settings, histories and logs of proxies.
import type { Context } from 'hono'
import * as z from 'zod'
import { type Access, isForCalendar } from '../../core/rules/access.ts'
import { createCalendarReader } from '../../use-cases/read-calendar.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { problem } from '../problem.ts'
import { route } from '../route.ts'
import { accessBy } from './access.ts'
import type { KeyGuard } from './admin-key.ts'

const calendarType = 'text/calendar'

export const calendarRoute = route({
  method: 'get',
  path: '/calendar.ics',
  name: 'getCalendar',
  summary: 'Upcoming and running maintenance as a calendar (iCalendar), at most a minute old.',
  about: 'An event that was cancelled stays for 7 days, with `STATUS:CANCELLED`.',
  group: 'Events',
  caller: 'anyone',
  query: z.strictObject({
    token: z
      .string()
      .optional()
      .describe('A token whose only scope is `calendar`. It is required.'),
  }),
  answers: { 200: { about: 'The calendar.', schema: z.string(), type: calendarType } },
  problems: [401, 403, 429],
  handler({ relay, keyGuard }) {
    const read = createCalendarReader(relay)
    return async (c, { query }) => {
      const access = await enter(relay, keyGuard, c, query.token)
      if (access instanceof Response) return access
      const headers = { 'content-type': `${calendarType}; charset=utf-8` }
      return c.body(await read(access), 200, headers)
    }
  },
})

async function enter(
  relay: Relay,
  guard: KeyGuard,
  c: Context,
  token = '',
): Promise<Access | Response> {
  const remedy = 'add ?token=… with a token that has the scope "calendar"'
  const access = await accessBy(relay, guard, c, token, remedy)
  if (access instanceof Response || isForCalendar(access)) return access
  const detail =
    'others may see this address, so it takes only a token with the one scope "calendar"; ' +
    'make one with POST /v1/tokens, and revoke the one that you sent'
  return problem(c, 403, 'calendar_only', detail)
}
