// Small objects that workers replace by compare-and-set, one row each. One of an event is in the event's
// partition and is removed with it; the others of one kind share a partition.
import { FoghornError } from '../../shared/errors.ts'
import type { ChatMessageKey, ChatMessageState } from '../core/delivery/chat-message.ts'
import type { RemovedChannel } from '../core/delivery/health.ts'
import type { Holder } from '../core/event/slots.ts'
import type { SignOuts } from '../core/rules/sign-outs.ts'
import type { Token } from '../core/rules/token.ts'
import { buildKey, eventPartition } from './keys.ts'
import { unlessDamaged } from './parts.ts'
import { insertOrReplace, type Row, type Rows } from './rows.ts'
import type { EventKey, SmallRow, SmallRowKey, SmallRowStore } from './store.ts'

/** An edit that loses to other workers this often gives up. */
const maxAttempts = 20

/** How rows of one kind are read and written. Without a `Key`, there is one. */
export function createRows<Fields extends object, Key = void>(
  kind: string,
  toName: (key: Key) => RowName = () => ({ name: [] }),
) {
  type Stored = Fields & SmallRow
  const keyFor = (key: Key): SmallRowKey => ({ kind, ...toName(key) })
  const read = async (store: SmallRowStore, key: Key): Promise<Stored | undefined> =>
    (await store.readSmallRow(keyFor(key))) as Stored | undefined
  return {
    read,
    /**
     * Replaces the fields by what `decide` makes of them. If another worker was faster, `decide` is called again.
     * Writes nothing if `decide` returns undefined, or the row as it is. Returns the row before, and what
     * `decide` returned last. Throws FoghornError `storage_busy` if others were faster each time.
     */
    async edit(
      store: SmallRowStore,
      key: Key,
      decide: (before: Stored | undefined) => Fields | undefined | Promise<Fields | undefined>,
    ): Promise<{ before: Stored | undefined; after: Fields | undefined }> {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const before = await read(store, key)
        const after = await decide(before)
        if (after === undefined || after === before) return { before, after }
        const written = await store.writeSmallRow(keyFor(key), after, before?.version ?? 0)
        if (written === 'written') return { before, after }
      }
      throw new FoghornError('storage_busy', `too many workers write rows "${kind}" at once`)
    },
    async list(store: SmallRowStore): Promise<Stored[]> {
      return (await store.listSmallRows(kind)) as Stored[]
    },
    /** See `SmallRowStore.writeSmallRow`. */
    write(store: SmallRowStore, fields: Fields, basedOn: number, key: Key) {
      return store.writeSmallRow(keyFor(key), fields, basedOn)
    },
    /** See `SmallRowStore.removeSmallRow`. */
    remove(store: SmallRowStore, key: Key): Promise<void> {
      return store.removeSmallRow(keyFor(key))
    },
  }
}

type RowName = Omit<SmallRowKey, 'kind'>

/** A row whose name is an id. */
export const byId = (id: string) => ({ name: [id] })

/** Since when the relay has listened without a gap, and when it noted that last. Epoch ms. */
const listeningRow = createRows<{ since: number; at: number }>('listening')

/** The time as of which the relay has forgotten what was old. Epoch ms. */
export const forgottenRow = createRows<{ asOf: number }>('forgotten')

/** When the relay last read Azure's list, and when Event Grid last said something. Epoch ms. */
export const outsideRow = createRows<{ at?: number; doubtAt?: number }>('outside')

interface Routing {
  /** A hash of its routes and channels. */
  of: string
  channels: string[]
  /** Channels that it lacks, and that open events had reached. */
  removed: RemovedChannel[]
}

/** The configuration that the open events were last routed by. */
export const routingRow = createRows<Routing>('routing')

/** The message of an event in a channel. */
export const chatMessageRows = createRows<{ state: ChatMessageState }, ChatMessageKey>(
  'post',
  ({ fleet, eventId, epoch, channel }) => ({ event: { fleet, eventId }, name: [epoch, channel] }),
)

/** When an event's page was opened last, epoch ms. */
export const openedRows = createRows<{ at: number }, EventKey>('opened', ({ fleet, eventId }) => ({
  event: { fleet, eventId },
  name: [],
}))

/** The events of a fleet that have a slot. */
export const slotRows = createRows<{ holders: Holder[] }, string>('slots', byId)

export const tokenRows = createRows<Token, string>('token', byId)

/** By credential: `admin`, or the id of a token. */
export const signOutRows = createRows<SignOuts, string>('sign_outs', byId)

/**
 * Notes that the relay is listening, and returns since when it has been without a gap of more than
 * `gapMs`: before that time it may have missed reports. A timer must call this more often.
 */
export async function noteListening(
  store: SmallRowStore,
  now: number,
  gapMs: number,
): Promise<number> {
  const known = await listeningRow.read(store)
  // a worker whose clock was ahead may have written it
  const isNear = known !== undefined && Math.abs(now - known.at) <= gapMs
  const since = isNear ? Math.min(known.since, now) : now
  // in a conflict, another worker has just noted the same
  await listeningRow.write(store, { at: now, since }, known?.version ?? 0)
  return since
}

export class SmallRows {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  async read(key: SmallRowKey): Promise<SmallRow | undefined> {
    const row = await this.#row(key)
    return row && toSmallRow(row)
  }

  async list(kind: string): Promise<SmallRow[]> {
    const found = await this.#rows.list(buildKey(kind), '', '~')
    return found.map(toSmallRow)
  }

  async write(key: SmallRowKey, fields: object, basedOn: number): Promise<'written' | 'conflict'> {
    const row = await this.#row(key)
    if (((row && toSmallRow(row).version) ?? 0) !== basedOn) return 'conflict'
    const { partition, name } = locate(key)
    const body = JSON.stringify({ ...fields, version: basedOn + 1 })
    const written = await this.#rows.change(partition, [insertOrReplace(row, name, body)])
    return written === 'conflict' ? 'conflict' : 'written'
  }

  async remove(key: SmallRowKey): Promise<void> {
    for (;;) {
      const was = await this.#row(key)
      if (was === undefined) return
      const removed = await this.#rows.change(was.partition, [{ kind: 'remove', was }])
      if (removed !== 'conflict') return
    }
  }

  /** What is damaged counts as missing, and is written anew. */
  #row(key: SmallRowKey): Promise<Row | undefined> {
    const { partition, name } = locate(key)
    return unlessDamaged(() => this.#rows.read(partition, name))
  }
}

function locate({ kind, event, name }: SmallRowKey): { partition: string; name: string } {
  if (event === undefined) return { partition: buildKey(kind), name: buildKey(...name) }
  return { partition: eventPartition(event), name: buildKey('own', kind, ...name) }
}

function toSmallRow({ body }: Row): SmallRow {
  return JSON.parse(body)
}
