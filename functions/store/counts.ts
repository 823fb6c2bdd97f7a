// Counts for metrics: one row that follows the changes of counts, which rows write with what they
// count. What is pending, open, or a beacon is counted by its entries each time.
import { alertPrefix } from '../../shared/document.ts'
import { FoghornError } from '../../shared/errors.ts'
import { type Count, type Counts, type Oldest, total } from '../core/counts.ts'
import type { Beacons } from './beacons.ts'
import {
  countsIndex,
  isPending,
  type PendingSummary,
  pendingIndex,
  subscribers,
} from './delivery-rows.ts'
import type { Events } from './events.ts'
import { buildKey, justAfter, timeKey } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Change, insertOrReplace, summaryIn } from './rows.ts'
import { having } from './shapes.ts'
import type { CountsRequest } from './store.ts'
import { countsMs } from './store.ts'

const partition = buildKey('counts')
const row = 'counts'
const pageSize = 1_000
/** Pages that one call follows. If there are more, several calls catch up. */
const maxPages = 20
const maxPendingPages = 50
/** Commits of one millisecond get positions of later ones. */
const aheadMs = 60_000

interface Stored extends Counts {
  /** The last change that is in the counts. */
  after: string
  /** The part of `counts` that follows the changes. */
  followed: Count[]
  /** The part that is about beacons, and when they were counted: there may be 100,000. */
  beacons: Count[]
  beaconsAt: number
}

export class StoredCounts {
  readonly #parts: Parts
  readonly #events: Events
  readonly #beacons: Beacons

  constructor(parts: Parts, events: Events, beacons: Beacons) {
    this.#parts = parts
    this.#events = events
    this.#beacons = beacons
  }

  async read({ now, fleets, maxAgeMs }: CountsRequest): Promise<Counts> {
    // where a read costs nothing, counts are as young as can be
    const mostMs = maxAgeMs ?? (this.#parts.rows.lagMs === 0 ? 0 : countsMs)
    const found = await this.#parts.rows.read(partition, row)
    const known = found && (JSON.parse(found.body) as Stored)
    if (known !== undefined && isYoung(known.at, now, mostMs)) return shown(known)
    const stored = await this.#count(known, now, fleets, maxAgeMs ?? countsMs)
    // after a conflict, the row has the counts of another worker
    const change = insertOrReplace(found, row, JSON.stringify(stored))
    await this.#keep(change)
    return shown(stored)
  }

  /** Counts that have no room are counted anew each time: who reads them gets them. */
  async #keep(change: Change): Promise<void> {
    try {
      await this.#parts.rows.change(partition, [change])
    } catch (error) {
      if (!(error instanceof FoghornError && error.code === 'row_too_large')) throw error
    }
  }

  async #count(
    known: Stored | undefined,
    now: number,
    fleets: readonly string[],
    beaconsMs: number,
  ): Promise<Stored> {
    const { after, counts } = await this.#follow(known?.after ?? '', now)
    const followed = total([...(known?.followed ?? []), ...counts])
    const pending = await this.#pending()
    const fresh =
      known !== undefined && isYoung(known.beaconsAt, now, beaconsMs) ? known : undefined
    const beacons = fresh?.beacons ?? (await this.#beacons.counts(fleets))
    return {
      at: now,
      counts: total([...followed, ...pending.counts, ...beacons]),
      undecided: await this.#undecided(fleets),
      oldest: pending.oldest,
      after,
      followed,
      beacons,
      beaconsAt: fresh?.beaconsAt ?? now,
    }
  }

  async #follow(from: string, now: number): Promise<{ after: string; counts: Count[] }> {
    const { rows } = this.#parts
    // a clock that was ahead for a while has left positions to come
    const until = rows.lagMs === 0 ? now + aheadMs : now - rows.lagMs
    const to = timeKey(until * 1_000)
    const counts: Count[] = []
    // a clock that was ahead has been set back: what it wrote is counted already
    let after = from < to ? from : to
    for (let page = 0; page < maxPages; page++) {
      const start = after === '' ? '' : justAfter(after)
      const found = await rows.find(countsIndex, start, to, pageSize)
      for (const entry of found)
        counts.push(...(summaryIn<Count[]>(entry, this.#parts.rows, areCounts) ?? []))
      after = found.at(-1)?.key ?? after
      if (found.length < pageSize) break
    }
    return { after, counts: total(counts) }
  }

  /** How many deliveries are pending, and the oldest of each channel and fleet. */
  async #pending(): Promise<{ counts: Count[]; oldest: Oldest[] }> {
    const counts = new Map<string, Count>()
    const oldest = new Map<string, Oldest>()
    let from = ''
    for (let page = 0; page < maxPendingPages; page++) {
      const found = await this.#parts.rows.find(pendingIndex, from, '~', pageSize)
      for (const entry of found) {
        const summary = summaryIn<PendingSummary>(entry, this.#parts.rows, isPending)
        if (summary === undefined) continue
        const [channel, fleet, plannedAt, eventId] = summary
        if (channel === subscribers || eventId.startsWith(alertPrefix)) continue
        const name = JSON.stringify([channel, fleet])
        const n = (counts.get(name)?.n ?? 0) + 1
        counts.set(name, { what: 'delivery', fleet, name: channel, state: 'pending', n })
        const first = Math.min(plannedAt, oldest.get(name)?.plannedAt ?? plannedAt)
        oldest.set(name, { fleet, channel, plannedAt: first })
      }
      if (found.length < pageSize) break
      from = justAfter(found.at(-1)!.key)
    }
    return { counts: [...counts.values()], oldest: [...oldest.values()] }
  }

  async #undecided(fleets: readonly string[]): Promise<Counts['undecided']> {
    const works = fleets.map((fleet) => async (): Promise<Counts['undecided']> => {
      const open = await this.#events.openEntries([fleet])
      const asked = open.map(({ need }) => need).filter(([, , isUndecided]) => isUndecided === 1)
      if (asked.length === 0) return []
      const times = asked.map(([, notBeforeAt]) => notBeforeAt).filter((at) => at > 0)
      const deadline = times.length === 0 ? {} : { deadlineAt: Math.min(...times) }
      return [{ fleet, count: asked.length, ...deadline }]
    })
    return (await this.#parts.together(works)).flat()
  }
}

const areCounts = having({ '*.n': 'number', '*.what': 'string', '*.fleet': 'string' })

/** If the clock was set back, nothing is young. */
function isYoung(at: number, now: number, mostMs: number): boolean {
  return now >= at && now - at < mostMs
}

function shown({ at, counts, undecided, oldest }: Stored): Counts {
  return { at, counts, undecided, oldest }
}
