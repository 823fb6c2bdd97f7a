// Reads the log of moments for other systems: page by page, and only what a filter lets through.
import { inSlices } from '../../../shared/slices.ts'
import { type LoggedMoment, type MomentFilter, passes } from '../../core/delivery/moment-log.ts'
import type { Relay } from '../../use-cases/relay.ts'

const pageSize = 100
/** Pages that one call reads. The next call reads the rest. */
const maxPages = 20
/** A pattern with `?` takes 10 ms for the 190 names of an event. */
const filteredAtOnce = 3

interface MomentsRead {
  moments: LoggedMoment[]
  /** The position to go on from. It is past moments that the filter left out. */
  next: number
  /** There may be more to read at once. */
  more: boolean
}

/** Reads at most `limit` moments after a position, at least one if the filter lets one through. */
export async function readWanted(
  relay: Pick<Relay, 'store' | 'now' | 'host'>,
  filter: MomentFilter,
  after: number,
  limit: number,
): Promise<MomentsRead> {
  let next = after
  for (let page = 0; page < maxPages; page++) {
    if (page > 0) await relay.host.pause()
    const read = await relay.store.readMoments(next, pageSize, relay.now())
    const filtered = (some: LoggedMoment[]) =>
      some.filter(({ notification }) => passes(filter, notification))
    const wanted = await inSlices(read, relay.host.pause, filtered, filteredAtOnce)
    const moments = wanted.slice(0, limit)
    const isCut = wanted.length > limit
    next = (isCut ? moments : read).at(-1)?.position ?? next
    const more = isCut || read.length === pageSize
    if (moments.length > 0 || !more) return { moments, next, more }
  }
  return { moments: [], next, more: true }
}

export function positionNow({ store, now }: Pick<Relay, 'store' | 'now'>): number {
  return store.lastPosition(now())
}
