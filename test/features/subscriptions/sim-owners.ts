// The owners of subscriptions: each makes one, and may pause it, test it, give it a new secret or
// delete it. Once the endpoint works again, its owner replays all that failed until nothing is left.
import type { Access } from '../../../functions/core/rules/access.ts'
import {
  createSubscription,
  deleteSubscription,
  deliveriesTo,
  pauseSubscription,
  replaySubscription,
  resumeSubscription,
  rotateSecret,
  subscriptionFor,
  testSubscription,
} from '../../../functions/features/subscriptions/use.ts'
import type { Relay } from '../../../functions/use-cases/relay.ts'
import type { Own, OwnerParts } from '../../sim/owner.ts'
import type { PlannedSubscription } from '../../sim/subscriptions.ts'

const askAgainMs = 3_000
const minute = 60_000
const day = 24 * 60 * minute
/** Between two looks at whether all is delivered. */
const lookMs = 5 * minute
/** An attempt comes at least once an hour, for a day. */
const maxLooks = 26 * 12
const maxListed = 1_000

/** What an owner asks. The answer is in an object, as nothing means that the connection broke. */
type Wish<T> = (relay: Relay, access: Access, id: string) => Promise<T>

export const ownSubscription: Own = (planned, parts) => {
  new Subscriber(planned, parts)
}

class Subscriber {
  readonly #planned: PlannedSubscription
  readonly #parts: OwnerParts
  readonly #access: Access
  #id = ''

  constructor(planned: PlannedSubscription, parts: OwnerParts) {
    this.#planned = planned
    this.#parts = parts
    const { name, fleets, joinsAfterMs } = planned
    this.#access =
      fleets === undefined
        ? { by: 'admin' }
        : { by: 'token', id: `id-of-${name}`, name, scopes: ['manage'], fleets }
    parts.book.owned(planned)
    parts.kernel.after(joinsAfterMs, () => this.#join())
  }

  /** Asks until an answer comes: each of these wishes may be repeated. */
  #ask<T>(what: string, wish: Wish<T>, then: (result: T) => void = () => {}): void {
    const { kernel, cluster, book } = this.#parts
    book.note(`the owner of ${this.#planned.name} wants to ${what}`)
    const work = async (relay: Relay) => ({ result: await wish(relay, this.#access, this.#id) })
    cluster.serve(
      (worker) => worker.use(work),
      (answer) => {
        if (answer !== undefined) return then(answer.result)
        kernel.after(askAgainMs, () => this.#ask(what, wish, then))
      },
    )
  }

  #join(): void {
    const { name, url, filter, consent } = this.#planned
    const wish: Wish<Awaited<ReturnType<typeof createSubscription>>> = (relay, access) =>
      createSubscription(relay, access, { url, filter, consent, description: name }, name)
    this.#ask('subscribe', wish, (created) => {
      if (created.outcome !== 'created') {
        return this.#parts.book.broke('subscribing', `${name} is answered ${created.outcome}`)
      }
      this.#id = created.subscription.id
      if (created.secret !== undefined)
        this.#parts.book.endpoints.learned(this.#planned, created.secret)
      this.#plan()
    })
  }

  /** Times count from the beginning of the world, and what is past comes at once. */
  #at(afterMs: number | undefined, what: () => void): void {
    const { kernel, book } = this.#parts
    if (afterMs !== undefined) kernel.after(book.beganAt + afterMs - kernel.now, what)
  }

  #plan(): void {
    const { pause: paused, trouble, ...own } = this.#planned
    const resumes = () => this.#at(paused?.untilMs, () => this.#ask('resume', resumeSubscription))
    this.#at(paused?.fromMs, () => this.#ask('pause', pauseSubscription, resumes))
    const tests: Wish<unknown> = (relay, access, id) =>
      testSubscription(relay, access, id, own.testMoment)
    this.#at(own.testsAfterMs, () => this.#ask('test', tests))
    this.#at(own.rotatesAfterMs, () => this.#rotate())
    this.#at(own.leavesAfterMs, () => this.#ask('leave', deleteSubscription))
    this.#at(own.replaysAfterMs, () => this.#replayAll(maxLooks))
    const { fromMs, untilMs } = trouble ?? { fromMs: 0, untilMs: 0 }
    if (!Number.isFinite(untilMs)) return
    for (let ms = fromMs + day; ms < untilMs; ms += day) {
      this.#at(ms, () => this.#ask('replay what failed', replayFailed))
    }
  }

  #rotate(): void {
    this.#ask('rotate the secret', rotateSecret, (rotated) => {
      if (rotated !== undefined) this.#parts.book.endpoints.learned(this.#planned, rotated.secret)
    })
  }

  #replayAll(looks: number): void {
    const { kernel, book } = this.#parts
    this.#ask('have all', haveAll, (outcome) => {
      book.note(`the owner of ${this.#planned.name}: ${outcome}`)
      if (outcome === 'all is delivered') book.satisfied(this.#planned)
      else if (looks > 0) kernel.after(lookMs, () => this.#replayAll(looks - 1))
      else book.broke('replay', `${this.#planned.name} never gets what it missed: ${outcome}`)
    })
  }
}

const replayFailed: Wish<unknown> = async (relay, access, id) => {
  const found = await subscriptionFor(relay, access, id)
  if (found?.state === 'active') await replaySubscription(relay, access, found, { since: 0 })
}

/** One step towards the state in which everything is delivered. */
const haveAll: Wish<string> = async (relay, access, id) => {
  const found = await subscriptionFor(relay, access, id)
  if (found === undefined) return 'the subscription is unknown'
  if (found.state === 'paused' || found.state === 'disabled') {
    await resumeSubscription(relay, access, id)
    return `resumed, as it was ${found.state}`
  }
  if (found.state === 'pending') {
    await testSubscription(relay, access, id, 'scheduled')
    return 'tested, as it was pending'
  }
  const { deliveries } = await deliveriesTo(relay, found, { limit: maxListed })
  const count = (...states: string[]) =>
    deliveries.filter(({ state }) => states.includes(state)).length
  if (count('refused', 'given_up') > 0) {
    const replayed = await replaySubscription(relay, access, found, { since: 0 })
    return `${replayed} are sent again`
  }
  return count('pending') > 0 ? `${count('pending')} are pending` : 'all is delivered'
}
