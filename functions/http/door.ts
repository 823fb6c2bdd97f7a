// The way in for requests that read or change much: those of owners, other systems, visitors of the console, and
// pages of many events behind one link. Few are answered at a time, the askers take turns, and before each one the
// relay takes what came in meanwhile. So a report waits for a few of them, however many there are. Decisions and the
// pages of one event have another door of the same kind, as people wait for them. Large reports and checks have a third.
import type { Context, MiddlewareHandler } from 'hono'
import { cutSlices } from '../../shared/slices.ts'
import { type Access, nameOwner } from '../core/rules/access.ts'
import type { Relay } from '../use-cases/relay.ts'
import { readAccess } from './api/access.ts'
import { problem } from './problem.ts'
import { createTurns, type Turns } from './turns.ts'

/** Waiting requests of one asker, or of one link: fifty people may have the console open with one key. */
const maxWaiting = 100

/**
 * Strangers are one asker, and so are all holders of the links that one channel got about a fleet, the tokens that one
 * token has made, and the beacons of a fleet. These take turns by link, by token or by size among themselves.
 */
type Asker =
  | Access
  | 'stranger'
  | { holder: string; link: string }
  | { fleet: string; size: 'large' | 'huge' }

export interface Door {
  /** Calls `answer` when it is this asker's turn. `full`: `most` of the asker's requests wait. */
  pass<Answer>(asker: Asker, answer: () => Promise<Answer>, most?: number): Promise<Answer | 'full'>
}

type Enter = () => void

export function createDoor({
  pause,
  readPlaces,
}: Pick<Relay['host'], 'pause' | 'readPlaces'>): Door {
  /** An item for each request that waits, by asker. */
  const askers = createTurns<Turns<Enter>>()
  /** The requests of each asker, by link. */
  const requests = new Map<string, Turns<Enter>>()
  let inside = 0

  const wait = (who: string, links: Turns<Enter>, link: string) =>
    new Promise<void>((enter) => {
      requests.set(who, links)
      links.add(link, enter)
      askers.add(who, links)
    })
  const leave = () => {
    const enter = askers.take()?.take()
    if (enter !== undefined) return enter()
    inside -= 1
    // the next request enters at once, so no turns are kept
    requests.clear()
  }
  return {
    async pass(asker, answer, most = maxWaiting) {
      const { who, link } = nameAsker(asker)
      if (inside < readPlaces) inside += 1
      else {
        const links = requests.get(who) ?? createTurns()
        if (links.countOf(link) >= most) return 'full'
        await wait(who, links, link)
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

function nameAsker(asker: Asker): { who: string; link: string } {
  if (asker === 'stranger') return { who: asker, link: '' }
  if ('holder' in asker) return { who: `holder ${asker.holder}`, link: asker.link }
  if ('fleet' in asker) return { who: `fleet ${asker.fleet}`, link: asker.size }
  return { who: nameOwner(asker), link: asker.by === 'token' ? asker.id : '' }
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
