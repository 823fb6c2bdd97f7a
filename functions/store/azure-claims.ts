// Which deliveries are due, channel by channel, and taking them. The index says where to look; what counts
// is the delivery's own row, and whoever changes that first has it.
import { FoghornError } from '../../shared/errors.ts'
import type { Claimed } from '../core/delivery.ts'
import { afterTurns, freeAt, turnsAt } from '../core/rate.ts'
import type { Found, Index } from './azure-index.ts'
import { keyOf } from './azure-keys.ts'
import {
  channelsPartition,
  type Owed,
  OwedDeliveries,
  type Spent,
  toSpent,
  type Waiting,
} from './azure-owed.ts'
import type { Rows } from './azure-rows.ts'
import { type Held, toDelivery, toView } from './azure-stored.ts'
import type { ClaimRequest, Pacing } from './store.ts'
import type { Together } from './together.ts'

/** Claims of others that were faster. */
const maxPasses = 12
const maxSpendAttempts = 20

/** What of one channel is to be taken: `turns` requests, each a list. */
interface Wish {
  waiting: Waiting
  groups: Owed[][]
  turns: number
}

export class Claims {
  readonly #rows: Rows
  readonly #index: Index
  readonly #random: () => string
  readonly #together: Together
  readonly #owed: OwedDeliveries

  constructor(rows: Rows, index: Index, random: () => string, together: Together) {
    this.#rows = rows
    this.#index = index
    this.#random = random
    this.#together = together
    this.#owed = new OwedDeliveries(rows, together)
  }

  async claim(request: ClaimRequest): Promise<Claimed[][]> {
    const lease = this.#random()
    const claimed: Claimed[][] = []
    const taken = new Map<string, number>()
    const room = (channel: string) => {
      const own = taken.get(channel) ?? 0
      const { together } = request.rateOf(channel)
      return together > 1 && own > 0 ? 0 : request.roomOf(channel) - own
    }
    for (let pass = 0; pass < maxPasses && claimed.length < request.limit; pass++) {
      const left = request.limit - claimed.length
      const channels = await this.#owedChannels({ ...request, roomOf: room }, left)
      let free = left
      const works = channels.flatMap((one) => {
        const limit = Math.min(room(one.waiting.channel), free)
        if (limit <= 0) return []
        const wish = this.#choose(one, { ...request, limit })
        free -= wish.turns
        return wish.turns === 0 ? [] : [() => this.#take(wish, request, lease)]
      })
      const outcomes = await this.#together(works)
      for (const { requests } of outcomes) {
        claimed.push(...requests)
        for (const [one] of requests) taken.set(one!.channel, (taken.get(one!.channel) ?? 0) + 1)
      }
      if (outcomes.every(({ contested }) => !contested)) break
    }
    return claimed
  }

  /** Infinity where nothing waits. */
  async nextDueAt(pacing: Pacing): Promise<number> {
    const { waiting, events } = await this.#owed.look(pacing)
    const works = waiting.map((one) => async () => {
      const stale: Found[] = []
      let next = Number.POSITIVE_INFINITY
      for await (const { nextAt, entry } of this.#owed.owedTo(one, events, stale)) {
        if (entry >= next) break
        next = Math.min(next, nextAt)
      }
      await this.#index.tidy(stale, pacing.now)
      return Math.max(next, freeAt(pacing.rateOf(one.channel), one.spentUntil, pacing.now))
    })
    return Math.min(...(await this.#together(works)))
  }

  /** Lets a channel rest, unless it rests longer already. */
  async pause(channel: string, spentUntil: number): Promise<void> {
    for (let attempt = 0; attempt < maxSpendAttempts; attempt++) {
      const row = await this.#rows.read(channelsPartition, keyOf(channel))
      const spent = row && toSpent(row)
      if (spent !== undefined && spent.stored.spentUntil >= spentUntil) return
      if (await this.#spend(channel, spent, spentUntil)) return
    }
    const what = `channel "${channel}" has too many writers at once`
    throw new FoghornError('storage_busy', `${what}; the delivery is tried again`)
  }

  /** The longest due first. */
  async #owedChannels(request: ClaimRequest, limit: number) {
    const { waiting, events } = await this.#owed.look(request)
    const works = waiting.map((one) => async () => {
      const { together } = request.rateOf(one.channel)
      const most = together > 1 ? together : Math.min(limit, request.roomOf(one.channel))
      const stale: Found[] = []
      const owed: Owed[] = []
      for await (const each of this.#owed.owedTo(one, events, stale)) {
        if (each.entry > request.now || owed.length >= most) break
        if (each.nextAt <= request.now) owed.push(each)
      }
      await this.#index.tidy(stale, request.now)
      owed.sort((a, b) => a.nextAt - b.nextAt || seqOf(a) - seqOf(b))
      return { waiting: one, owed }
    })
    const channels = await this.#together(works)
    return channels
      .filter(({ owed }) => owed.length > 0)
      .sort(
        (a, b) => a.owed[0]!.nextAt - b.owed[0]!.nextAt || seqOf(a.owed[0]!) - seqOf(b.owed[0]!),
      )
  }

  /** What of a channel's deliveries is to go into how many requests. */
  #choose({ waiting, owed }: { waiting: Waiting; owed: Owed[] }, request: ClaimRequest): Wish {
    const rate = request.rateOf(waiting.channel)
    const turns = Math.min(request.limit, turnsAt(rate, waiting.spentUntil, request.now))
    if (rate.together === 1) {
      const groups = owed.slice(0, turns).map((one) => [one])
      return { waiting, groups, turns: groups.length }
    }
    const first = owed.slice(0, 1)
    const others = owed.filter(({ held }) => !held.stored.alone)
    const group = first.some(({ held }) => held.stored.alone) ? first : others
    return {
      waiting,
      groups: turns > 0 ? [group.slice(0, rate.together)] : [],
      turns: turns > 0 ? 1 : 0,
    }
  }

  /** The turns first: nobody else has them then. `contested`: somebody was faster, and it is worth another look. */
  async #take(
    { waiting, groups, turns }: Wish,
    request: ClaimRequest,
    lease: string,
  ): Promise<{ requests: Claimed[][]; contested: boolean }> {
    const { channel, spentUntil, spent } = waiting
    const rate = request.rateOf(channel)
    if (rate.everyMs > 0) {
      const after = afterTurns(rate, spentUntil, request.now, turns)
      if (!(await this.#spend(channel, spent, after))) return { requests: [], contested: true }
    }
    const leaseUntil = request.now + request.leaseMs
    const works = groups.flat().map((owed) => () => this.#lease(owed, lease, leaseUntil))
    const leased = await this.#together(works)
    const byId = new Map(leased.flatMap((one) => (one === undefined ? [] : [[one.id, one]])))
    const requests = groups.map((group) =>
      group.flatMap(({ held }) => byId.get(held.stored.delivery.id) ?? []),
    )
    const contested = leased.includes(undefined)
    return { requests: requests.filter((group) => group.length > 0), contested }
  }

  async #lease(owed: Owed, lease: string, leaseUntil: number): Promise<Claimed | undefined> {
    const { partition, held } = owed
    const { stored, row, etag } = held
    const { attempts } = stored.delivery
    const delivery = { ...stored.delivery, attempts: attempts + 1, nextAt: leaseUntil }
    const body = JSON.stringify({ ...stored, delivery, lease })
    const view = await this.#rows.read(partition, stored.view)
    const changes = [{ kind: 'replace' as const, row, body, etag }]
    if ((await this.#rows.change(partition, changes)) === 'conflict') {
      // an answer that never came may have been a success
      const now = await this.#rows.read(partition, row)
      if (now?.body !== body) return undefined
    }
    const event = view && toView(view)
    return { ...toDelivery({ ...stored, delivery }, event), lease, leaseUntil }
  }

  async #spend(channel: string, spent: Held<Spent> | undefined, spentUntil: number) {
    const row = keyOf(channel)
    const body = JSON.stringify({ channel, spentUntil } satisfies Spent)
    const change =
      spent === undefined
        ? { kind: 'insert' as const, row, body }
        : { kind: 'replace' as const, row, body, etag: spent.etag }
    return (await this.#rows.change(channelsPartition, [change])) === 'changed'
  }
}

function seqOf({ held }: Owed): number {
  return held.stored.delivery.seq
}
