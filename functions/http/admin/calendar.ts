// `GET /calendar.ics`: a feed for calendar programs, which send no headers. So the token is in the
// address, and may do nothing else: addresses end up in settings, histories and logs of proxies.
import type { MiddlewareHandler } from 'hono'
import * as z from 'zod'
import { isForCalendar } from '../../core/rules/access.ts'
import { createCalendarReader } from '../../use-cases/read-calendar.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { problem } from '../problem.ts'
import { route } from '../route.ts'
import { accessBy, accessOf } from './access.ts'
import type { KeyGuard } from './admin-key.ts'

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
      return c.body(await read(accessOf(c)), 200, headers)
    }
  },
})

/** Middleware: refuses a sender without such a token in the address. */
export function admitToCalendar(relay: Relay, guard: KeyGuard): MiddlewareHandler {
  return async (c, next) => {
    const token = new URL(c.req.url).searchParams.get('token') ?? ''
    const remedy = 'add ?token=… with a token that has the scope "calendar"'
    const access = await accessBy(relay, guard, c, token, remedy)
    if (access instanceof Response) return access
    c.set('access', access)
    if (isForCalendar(access)) return next()
    const detail =
      'others may see this address, so it takes only a token with the one scope "calendar"; ' +
      'make one with POST /v1/tokens, and revoke the one that you sent'
    return problem(c, 403, 'calendar_only', detail)
  }
}
