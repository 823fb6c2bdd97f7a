// The log of moments, in one partition. A commit writes an entry into the partition of its event,
// with an index entry, and nothing orders the commits of several workers. So readers append what
// waits to the log first: a head row counts positions, and one transaction changes it with the rows.
import { FoghornError } from '../../../shared/errors.ts'
import type { LoggedMoment } from '../../core/delivery/moment-log.ts'
import { digestOf, endOf, keyOf, timeKey } from './keys.ts'
import type { Parts } from './parts.ts'
import { type Change, insertOrReplace, maxChanges, type Row } from './rows.ts'
import { stepsOf } from './steps.ts'
import { eventPartition, isEntryOf, momentRow, toEntry } from './stored.ts'
import { type Found, partitions } from './time-index.ts'

const log = keyOf('log')
const headRow = 'head'
/** Sorted by position. */
const atRows = 'at'
/** Named by the id of a moment, so that no moment is appended twice. */
const knownRows = 'known'
/** Each moment takes two rows, and the head one. */
const maxAppended = Math.floor((maxChanges - 1) / 2)
/**
 * Entries that are put in order together. The storage answers a request with at most 1,000 rows,
 * and a second request could show a later moment of an event whose earlier one the first did not.
 */
const maxListed = 1_000
/** Of one read. The next read appends the rest. */
const maxLists = 5
/** Of one append, while other workers append. */
const maxAttempts = 20

interface Waiting {
  found: Found
  row: Row
  entry: ReturnType<typeof toEntry>
}

export class Moments {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async after(position: number, limit: number, now: number): Promise<LoggedMoment[]> {
    await this.#appendWaiting(now)
    const range = { from: keyOf(atRows, timeKey(position + 1)), to: endOf(atRows), limit }
    const rows = await this.#parts.rows.list(log, range)
    return rows.map(({ row, body }) => ({ position: positionOf(row), ...toEntry(body) }))
  }

  async lastPosition(now: number): Promise<number> {
    await this.#appendWaiting(now)
    return lastIn(await this.#parts.rows.read(log, headRow))
  }

  /** Returns how many it removed. Positions follow the time closely, so the first ones are oldest. */
  async forget(before: number, limit: number): Promise<number> {
    const { rows, index } = this.#parts
    const oldest = await rows.list(log, { from: keyOf(atRows, ''), to: endOf(atRows), limit })
    const old = oldest
      .map(({ row, body }) => ({ row, ...toEntry(body) }))
      .filter(({ telling }) => telling.at < before)
    for (const { row, id } of old) {
      const removal = [row, knownRow(id)].map((one) => ({ kind: 'remove' as const, row: one }))
      await rows.change(log, removal)
    }
    const unread = await index.list(partitions.unlogged, { from: '', to: timeKey(before), limit })
    await index.tidy(unread, before)
    return old.length
  }

  async #appendWaiting(now: number): Promise<void> {
    const { index } = this.#parts
    for (let list = 0; list < maxLists; list++) {
      const range = { from: '', to: '~', limit: maxListed }
      const found = await index.list(partitions.unlogged, range)
      const waiting = await this.#waitingOf(found)
      const stale = found.filter((one) => !waiting.some((own) => own.found === one))
      await index.tidy(stale, now)
      for (const step of stepsOf(inOrder(waiting), ({ row }) => row.body.length, maxAppended)) {
        await this.#append(step)
      }
      if (found.length < maxListed || waiting.length === 0) return
    }
  }

  /**
   * Those whose rows exist. The others belong to a commit under way, or to none. A row counts only
   * with the entry that it names: the event's earlier moments got their entries before that one, so
   * they are in the same list. The entry of a commit that died may be older than theirs.
   */
  async #waitingOf(found: Found[]): Promise<Waiting[]> {
    const { rows, together } = this.#parts
    const works = found.map((one) => async () => {
      const row = await rows.read(eventPartition(one.target), momentRow(one.target.id ?? ''))
      const isOwn = row !== undefined && isEntryOf(row.body, one.row)
      return isOwn ? [{ found: one, row, entry: toEntry(row.body) }] : []
    })
    const own = (await together(works)).flat()
    // a commit may replace a row between two of these reads, so one moment may be found twice
    return [...new Map(own.map((one) => [one.entry.id, one])).values()]
  }

  /** Durable before the entries that it came from are removed. */
  async #append(waiting: Waiting[]): Promise<void> {
    const { rows, index, together, stepAside } = this.#parts
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const head = await rows.read(log, headRow)
      const known = await together(
        waiting.map(
          ({ entry }) =>
            () =>
              rows.read(log, knownRow(entry.id)),
        ),
      )
      const fresh = waiting.filter((_, i) => known[i] === undefined)
      if (fresh.length === 0 || (await this.#write(head, fresh))) {
        await together(
          waiting.map(
            ({ found, row }) =>
              () =>
                this.#remove(found, row),
          ),
        )
        await index.drop(waiting.map(({ found }) => found))
        return
      }
      await stepAside()
    }
    throw new FoghornError('storage_busy', 'too many workers append moments at once; try again')
  }

  async #write(head: Row | undefined, fresh: Waiting[]): Promise<boolean> {
    const last = lastIn(head)
    const body = JSON.stringify({ last: last + fresh.length })
    const inserts = fresh.flatMap(({ row, entry }, i): Change[] => [
      { kind: 'insert', row: keyOf(atRows, timeKey(last + 1 + i)), body: row.body },
      { kind: 'insert', row: knownRow(entry.id), body: '{}' },
    ])
    const changes = [insertOrReplace(head, headRow, body), ...inserts]
    return (await this.#parts.rows.change(log, changes)) !== 'conflict'
  }

  async #remove({ target }: Found, { row }: Row): Promise<void> {
    await this.#parts.rows.change(eventPartition(target), [{ kind: 'remove', row }])
  }
}

/** The moments of one event take their places in the order of its commits. */
function inOrder(waiting: Waiting[]): Waiting[] {
  const sequenceOf = ({ entry }: Waiting) => entry.telling.event.sequence
  const events = Map.groupBy(waiting, ({ found }) => eventPartition(found.target))
  const queues = new Map(
    [...events].map(([key, own]) => [key, own.sort((a, b) => sequenceOf(a) - sequenceOf(b))]),
  )
  return waiting.map(({ found }) => queues.get(eventPartition(found.target))!.shift()!)
}

function knownRow(id: string): string {
  return keyOf(knownRows, digestOf(id))
}

function positionOf(row: string): number {
  return Number(row.split('|').at(-1))
}

function lastIn(head: Row | undefined): number {
  return head === undefined ? 0 : (JSON.parse(head.body) as { last: number }).last
}
