// How often one asker may make the relay send something at once: pings and tests to an address of the
// asker's choice, and drills, which wake people. Each process counts for itself.
import type { Context, MiddlewareHandler } from 'hono'
import { nameOwner } from '../core/rules/access.ts'
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
  /** When each request was taken, the oldest first, by rate and asker. */
  const taken = { endpoints: new Map<string, number[]>(), drills: new Map<string, number[]>() }
  return (name) => async (c, next) => {
    const { most, ms } = rates[name]
    const asker = nameOwner(readAccess(c))
    const at = now()
    const isRecent = (one: number) => one <= at && at - one < ms
    for (const [other, times] of taken[name]) if (!times.some(isRecent)) taken[name].delete(other)
    const recent = (taken[name].get(asker) ?? []).filter(isRecent)
    if (recent.length >= most) return refuse(c, name, recent[0]! + ms - at)
    taken[name].set(asker, [...recent, at])
    await next()
    // a refused one has sent nothing
    if (!c.res.ok) forget(taken[name].get(asker), at)
    return undefined
  }
}

function forget(times: number[] | undefined, at: number): void {
  const place = times?.indexOf(at) ?? -1
  if (place !== -1) times!.splice(place, 1)
}

function refuse(c: Context, name: RateName, waitMs: number): Response {
  const { most, ms, what } = rates[name]
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000))
  c.header('retry-after', String(seconds))
  const detail = `at most ${most} ${what} in ${ms / minuteMs} min; ask again in ${seconds} s`
  return problem(c, 429, 'too_many_requests', detail)
}
