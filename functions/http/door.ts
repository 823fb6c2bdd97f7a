// The way in for requests that read or change much: those of owners, other systems, visitors of the
// console, and pages of many events behind one link. Few are answered at a time, the askers take turns, and before each one the relay takes what
// came in meanwhile. So reports and decisions wait for a few of them, however many there are.
import type { Context, MiddlewareHandler } from 'hono'
import { cutSlices } from '../../shared/slices.ts'
import { type Access, describeAccess } from '../core/rules/access.ts'
import type { Relay } from '../use-cases/relay.ts'
import { readAccess } from './api/access.ts'
import { problem } from './problem.ts'

/** Waiting requests of one asker, or of one link: fifty people may have the console open with one key. */
const maxWaiting = 100

/**
 * Strangers are one asker, and so are all holders of the links that one channel got about a fleet. These take turns by
 * link among themselves.
 */
type Asker = Access | 'stranger' | { holder: string; link: string }

export interface Door {
  /** Calls `answer` when it is this asker's turn. `full`: too many of the asker's requests wait. */
  pass<Answer>(asker: Asker, answer: () => Promise<Answer>): Promise<Answer | 'full'>
}

export function createDoor({
  pause,
  readPlaces,
}: Pick<Relay['host'], 'pause' | 'readPlaces'>): Door {
  /** Requests that wait, by asker and link. The first is next. */
  const waiting = new Map<string, Map<string, (() => void)[]>>()
  let taken = 0

  const leave = () => {
    if (waiting.size === 0) {
      taken -= 1
      return
    }
    const [who, links] = takeFirst(waiting)
    const [link, queue] = takeFirst(links)
    const enter = queue.shift()!
    // behind the others
    if (queue.length > 0) links.set(link, queue)
    if (links.size > 0) waiting.set(who, links)
    enter()
  }
  return {
    async pass(asker, answer) {
      const { who, link } = nameAsker(asker)
      if (taken < readPlaces) taken += 1
      else {
        const links = waiting.get(who) ?? new Map<string, (() => void)[]>()
        const queue = links.get(link) ?? []
        if (queue.length >= maxWaiting) return 'full'
        waiting.set(who, links.set(link, queue))
        await new Promise<void>((resolve) => queue.push(resolve))
      }
      try {
        await pause()
        return await answer()
      } finally {
        leave()
      }
    },
  }
}

function takeFirst<Value>(map: Map<string, Value>): [string, Value] {
  const [first] = map
  map.delete(first![0])
  return first!
}

function nameAsker(asker: Asker): { who: string; link: string } {
  if (asker === 'stranger') return { who: asker, link: '' }
  if ('holder' in asker) return { who: `holder ${asker.holder}`, link: asker.link }
  return { who: describeAccess(asker), link: '' }
}

/** Middleware behind `admit`. */
export function throughDoor(door: Door): MiddlewareHandler {
  return (c, next) => inTurn(door, c, next)
}

/** Middleware in front of what everybody may read. */
export function inTurnOfStrangers(door: Door): MiddlewareHandler {
  return async (c, next) => {
    const passed = await door.pass('stranger', next)
    return passed === 'full' ? refuseBusy(c, 'of others') : passed
  }
}

/** One piece of work for this asker. */
export async function inTurn<Result>(
  door: Door,
  c: Context,
  work: () => Promise<Result>,
): Promise<Result | Response> {
  const done = await door.pass(readAccess(c), work)
  return done === 'full' ? refuseBusy(c) : done
}

/** Long work, with a turn for each part of it. `full`: there was none for the next part. */
export async function inTurns<Item, Result>(
  door: Door,
  access: Access,
  items: readonly Item[],
  work: (slice: Item[]) => Result[] | Promise<Result[]>,
): Promise<Result[] | 'full'> {
  const results: Result[] = []
  for (const slice of cutSlices(items)) {
    const some = await door.pass(access, async () => work(slice))
    if (some === 'full') return 'full'
    results.push(...some)
  }
  return results
}

/** The answer to a request for which there is no room. */
export function refuseBusy(c: Context, whose = 'with this credential'): Response {
  c.header('retry-after', '1')
  const detail = `${maxWaiting} requests ${whose} wait already; send fewer at a time`
  return problem(c, 429, 'too_many_requests', detail)
}
