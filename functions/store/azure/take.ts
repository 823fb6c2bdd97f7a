// Takes due deliveries that were found: chooses which go into which request, books slots of their
// channel, and leases them. A lease is a change of the delivery's own row: the first worker that
// changes it gets the delivery.
import type { Claimed } from '../../core/delivery/delivery.ts'
import { afterSlots, slotsAt } from '../../core/delivery/rate.ts'
import type { EventView } from '../../core/event/view.ts'
import type { ClaimRequest } from '../store.ts'
import { keyOf } from './keys.ts'
import type { Parts } from './parts.ts'
import { channelsPartition, type Pending, type Spent, type Waiting } from './pending.ts'
import { changeOwn, insertOrReplace } from './rows.ts'
import { type Held, type HeldEvent, type StoredDelivery, toDelivery, toView } from './stored.ts'

/** The deliveries of one channel to claim: one group for each request, and one slot of its rate. */
interface Choice {
  waiting: Waiting
  groups: Pending[][]
  slots: number
}

/** A channel, and its deliveries that can be sent now, with the fleets in turn. */
export interface Ready {
  waiting: Waiting
  pending: Pending[]
}

export class Taker {
  readonly #parts: Parts
  /** For each channel without a rate: the fleet that had this worker's last turn. */
  readonly served = new Map<string, string>()
  /** The rows that each claim was made from, so that its settlement need not read them again. */
  readonly #held = new WeakMap<Claimed, HeldEvent>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The event with its deliveries, as this worker claimed one of them. */
  heldBy(claimed: Claimed): HeldEvent | undefined {
    return this.#held.get(claimed)
  }

  /** Chooses which deliveries of a channel go into which request. */
  choose({ waiting, pending }: Ready, request: ClaimRequest): Choice {
    const rate = request.rateOf(waiting.channel)
    const slots = Math.min(request.limit, slotsAt(rate, waiting.spentUntil, request.now))
    if (rate.together === 1) {
      const groups = pending.slice(0, slots).map((one) => [one])
      return { waiting, groups, slots: groups.length }
    }
    const first = pending.slice(0, 1)
    const others = pending.filter(({ held }) => !held.stored.alone)
    const group = first.some(({ held }) => held.stored.alone) ? first : others
    return {
      waiting,
      groups: slots > 0 ? [group.slice(0, rate.together)] : [],
      slots: slots > 0 ? 1 : 0,
    }
  }

  /** Books the slots before the leases. `contested`: another worker was faster, so look again. */
  async take(
    { waiting, groups, slots }: Choice,
    request: ClaimRequest,
    lease: string,
  ): Promise<{ requests: Claimed[][]; contested: boolean }> {
    const { channel, spentUntil, spent } = waiting
    const rate = request.rateOf(channel)
    const fleet = groups.flat().at(-1)?.held.stored.delivery.fleet
    if (rate.everyMs > 0) {
      const after = afterSlots(rate, spentUntil, request.now, slots)
      const isOurs = await this.spend(channel, spent, after, fleet)
      if (!isOurs) return { requests: [], contested: true }
    } else if (fleet !== undefined) {
      this.served.set(channel, fleet)
    }
    const leaseUntil = request.now + request.leaseMs
    const works = groups.flat().map((pending) => () => this.#lease(pending, lease, leaseUntil))
    const leased = await this.#parts.together(works)
    const byId = new Map(leased.flatMap((one) => (one === undefined ? [] : [[one.id, one]])))
    const requests = groups.map((group) =>
      group.flatMap(({ held }) => byId.get(held.stored.delivery.id) ?? []),
    )
    const contested = leased.includes(undefined)
    return { requests: requests.filter((group) => group.length > 0), contested }
  }

  async #lease(pending: Pending, lease: string, leaseUntil: number): Promise<Claimed | undefined> {
    const { rows } = this.#parts
    const { partition, held } = pending
    const { stored, row } = held
    const { attempts } = stored.delivery
    const delivery = { ...stored.delivery, attempts: attempts + 1, nextAt: leaseUntil }
    const body = JSON.stringify({ ...stored, delivery, lease })
    const view = pending.event.views.get(stored.view) ?? (await this.#readView(pending))
    const etag = await changeOwn(rows, partition, { kind: 'replace', row, body, etag: held.etag })
    if (etag === undefined) return undefined
    const leased = { ...stored, delivery, lease }
    const claimed = { ...toDelivery(leased, view), lease, leaseUntil }
    if (etag !== '') this.#held.set(claimed, withRow(pending.event, { row, etag, stored: leased }))
    return claimed
  }

  async #readView({ partition, held }: Pending): Promise<EventView | undefined> {
    const view = await this.#parts.rows.read(partition, held.stored.view)
    return view && toView(view)
  }

  async spend(
    channel: string,
    spent: Held<Spent> | undefined,
    spentUntil: number,
    fleet: string | undefined,
  ) {
    const row = keyOf(channel)
    const body = JSON.stringify({ channel, spentUntil, fleet } satisfies Spent)
    const change = insertOrReplace(spent, row, body)
    return (await this.#parts.rows.change(channelsPartition, [change])) !== 'conflict'
  }
}

function withRow(event: HeldEvent, own: Held<StoredDelivery>): HeldEvent {
  const deliveries = event.deliveries.map((one) => (one.row === own.row ? own : one))
  return { ...event, deliveries }
}
