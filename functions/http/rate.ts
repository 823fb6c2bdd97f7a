// How often one asker may make the relay send something at once: pings and tests to an address of the
// asker's choice, and drills, which wake people. Each process counts for itself.
import type { Context, MiddlewareHandler } from 'hono'
import { describeAccess } from '../core/rules/access.ts'
import { minuteMs } from '../core/units.ts'
import { readAccess } from './api/access.ts'
import { problem } from './problem.ts'

const rates = {
  endpoints: { most: 60, ms: minuteMs, what: 'messages to endpoints' },
  drills: { most: 6, ms: 10 * minuteMs, what: 'drills' },
}
export type RateName = keyof typeof rates

/** Middleware behind `admit`, for all routes of one rate. */
export function limitRates(now: () => number): (name: RateName) => MiddlewareHandler {
  /** When each request was taken, by rate and asker, the oldest first. A relay has few askers. */
  const taken = new Map<string, { at: number }[]>()
  return (name) => async (c, next) => {
    const { most, ms } = rates[name]
    const key = `${name} ${describeAccess(readAccess(c))}`
    const at = now()
    const recent = (taken.get(key) ?? []).filter((one) => one.at <= at && at - one.at < ms)
    if (recent.length >= most) return refuse(c, name, recent[0]!.at + ms - at)
    const own = { at }
    taken.set(key, [...recent, own])
    await next()
    // a refused one has sent nothing
    if (!c.res.ok)
      taken.set(
        key,
        taken.get(key)!.filter((one) => one !== own),
      )
    return undefined
  }
}

function refuse(c: Context, name: RateName, waitMs: number): Response {
  const { most, ms, what } = rates[name]
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000))
  c.header('retry-after', String(seconds))
  const detail = `at most ${most} ${what} in ${ms / minuteMs} min; ask again in ${seconds} s`
  return problem(c, 429, 'too_many_requests', detail)
}
