// Makes, lists, changes and deletes subscriptions. Its secret leaves the relay only in answers to the
// requests that make it or rotate it.

import { toBase64 } from '../../../shared/signature.ts'
import { type Delivery, storedChannel } from '../../core/delivery/delivery.ts'
import type { ChannelHealth } from '../../core/delivery/health.ts'
import type { MomentFilter } from '../../core/delivery/moment-log.ts'
import type { Moment } from '../../core/event/moment.ts'
import { hash } from '../../core/hash.ts'
import { type Access, describeAccess, isBound, networksFor } from '../../core/rules/access.ts'
import { whyRefused } from '../../core/rules/address.ts'
import type { DeliveryPage } from '../../store/store.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { replay } from '../../use-cases/replay.ts'
import { randomHex } from '../../use-cases/tokens.ts'
import { subscriptionRows } from './load.ts'
import {
  type Consent,
  changedSubscription,
  idFor,
  newSubscription,
  pausedSubscription,
  resumedSubscription,
  roomReached,
  rotatedSecrets,
  type Subscription,
  secretShownMs,
  seesSubscription,
  subscriptionIdBytes,
  withNextPing,
} from './rule.ts'
import { planPing, planTest } from './rule-ping.ts'
import { changeSubscription, fleetFor } from './use-channel.ts'

const secretBytes = 32

interface SubscriptionWish {
  url: string
  description?: string | undefined
  filter: MomentFilter
  consent: Consent
}

type Created =
  /** `secret` is absent if a repeated request comes too late to see it. */
  | { outcome: 'created'; subscription: Subscription; secret?: string }
  | { outcome: 'no_room'; most: number }
  | { outcome: 'key_reused' }
  | { outcome: 'address_refused'; why: string }

/** `key`: the same key makes one subscription, however often the request is sent. */
export async function createSubscription(
  relay: Relay,
  access: Access,
  wish: SubscriptionWish,
  key?: string,
): Promise<Created> {
  const bound = isBound(access) ? access.fleets : undefined
  const why = whyRefused(wish.url, networksFor(bound, relay.config))
  if (why !== undefined) return { outcome: 'address_refused', why }
  const createdBy = describeAccess(access)
  const request = key === undefined ? undefined : hash(JSON.stringify(wish))
  const id = key === undefined ? randomHex(subscriptionIdBytes) : idFor(createdBy, key)
  const known = key === undefined ? undefined : await subscriptionRows.read(relay.store, id)
  if (known !== undefined) return repeated(relay, known, request)
  const most = roomReached(access, await subscriptionRows.list(relay.store))
  if (most !== undefined) return { outcome: 'no_room', most }
  const secret = newSecret()
  const subscription = newSubscription(
    { id, ...wish, bound, createdBy, request },
    secret,
    relay.now(),
  )
  if ((await subscriptionRows.write(relay.store, subscription, 0, id)) === 'conflict') {
    const winner = await subscriptionRows.read(relay.store, id)
    if (winner === undefined) throw new Error('a subscription was deleted while it was made')
    return repeated(relay, winner, request)
  }
  relay.log.info('subscription_created', { id, by: createdBy })
  await ping(relay, subscription)
  return { outcome: 'created', subscription, secret }
}

async function repeated(
  relay: Relay,
  known: Subscription,
  request: string | undefined,
): Promise<Created> {
  if (known.request !== request) return { outcome: 'key_reused' }
  // the first request may have died before this
  if (known.state === 'pending') await ping(relay, known)
  const [secret, ...older] = known.secrets
  const isShown = older.length === 0 && relay.now() - known.createdAt < secretShownMs
  return { outcome: 'created', subscription: known, ...(isShown && { secret: secret!.text }) }
}

/** Plans the last ping that was counted, if that is not planned yet. */
function ping(relay: Relay, subscription: Subscription, isOnce = false): Promise<Delivery> {
  const { host } = new URL(relay.config.publicUrl)
  return addPlanned(relay, planPing(subscription, host, relay.now(), isOnce))
}

async function addPlanned(relay: Relay, delivery: Delivery): Promise<Delivery> {
  await relay.store.addDeliveries([delivery])
  relay.work.wake(1)
  return delivery
}

/** The subscriptions of all makers. */
export function listSubscribed({ store }: Relay): Promise<Subscription[]> {
  return subscriptionRows.list(store)
}

/** The newest first. */
export async function subscriptionsFor(relay: Relay, access: Access): Promise<Subscription[]> {
  const all = await subscriptionRows.list(relay.store)
  return all.filter((one) => seesSubscription(access, one)).sort(byAge)
}

function byAge(one: Subscription, other: Subscription): number {
  return other.createdAt - one.createdAt || (one.id < other.id ? -1 : 1)
}

/** Undefined if there is no such subscription for this user. */
export async function subscriptionFor(
  { store }: Relay,
  access: Access,
  id: string,
): Promise<Subscription | undefined> {
  const found = await subscriptionRows.read(store, id)
  return found !== undefined && seesSubscription(access, found) ? found : undefined
}

type ChangeOf = Partial<Pick<SubscriptionWish, 'url' | 'description' | 'filter'>>

/** `filter` replaces only the conditions that it has. */
export async function changeWish(
  relay: Relay,
  access: Access,
  id: string,
  { filter, ...wish }: ChangeOf,
): Promise<Subscription | { outcome: 'address_refused'; why: string } | undefined> {
  const known = await subscriptionFor(relay, access, id)
  if (known === undefined) return undefined
  const networks = networksFor(known.bound, relay.config)
  const why = wish.url === undefined ? undefined : whyRefused(wish.url, networks)
  if (why !== undefined) return { outcome: 'address_refused', why }
  return change(relay, access, id, 'changed', (before) =>
    changedSubscription(before, { ...wish, filter: { ...before.filter, ...filter } }, relay.now()),
  )
}

export function pauseSubscription(relay: Relay, access: Access, id: string) {
  return change(relay, access, id, 'paused', (before) =>
    pausedSubscription(before, describeAccess(access), relay.now()),
  )
}

export function resumeSubscription(relay: Relay, access: Access, id: string) {
  return change(relay, access, id, 'resumed', (before) =>
    resumedSubscription(before, describeAccess(access), relay.now()),
  )
}

export async function rotateSecret(relay: Relay, access: Access, id: string) {
  const secret = newSecret()
  const subscription = await change(relay, access, id, 'secret_rotated', (before) =>
    rotatedSecrets(before, secret, relay.now()),
  )
  return subscription && { subscription, secret }
}

type Tested =
  | { outcome: 'planned'; delivery: Delivery; subscription: Subscription }
  | { outcome: 'disabled' }

/**
 * Sends a made-up event at this moment, once. An endpoint that has not consented gets what asks for consent, and
 * nothing else.
 */
export async function testSubscription(
  relay: Relay,
  access: Access,
  id: string,
  moment: Moment,
): Promise<Tested | undefined> {
  const found = await subscriptionFor(relay, access, id)
  if (found === undefined) return undefined
  if (found.state === 'disabled') return { outcome: 'disabled' }
  const done = await changeSubscription(relay, id, withNextPing)
  if (done.outcome === 'unknown') return undefined
  const { subscription } = done
  const delivery = !subscription.consented
    ? await ping(relay, subscription, true)
    : await addPlanned(
        relay,
        planTest(subscription, moment, fleetFor(relay, subscription), relay.now()),
      )
  return { outcome: 'planned', delivery, subscription }
}

/** Changes a subscription that this user sees. If the change needs a ping, it is sent. */
async function change(
  relay: Relay,
  access: Access,
  id: string,
  what: string,
  decide: (before: Subscription) => Subscription,
): Promise<Subscription | undefined> {
  if ((await subscriptionFor(relay, access, id)) === undefined) return undefined
  const done = await changeSubscription(relay, id, decide)
  if (done.outcome === 'unknown') return undefined
  const { subscription, before } = done
  if (done.outcome === 'changed') {
    relay.log.info('subscription_changed', { id, what, by: describeAccess(access) })
  }
  if (subscription.pings > before.pings) await ping(relay, subscription)
  return subscription
}

/** If a subscription is deleted, its deliveries that are not sent yet are refused. */
export async function deleteSubscription(
  relay: Relay,
  access: Access,
  id: string,
): Promise<'deleted' | 'unknown'> {
  if ((await subscriptionFor(relay, access, id)) === undefined) return 'unknown'
  await subscriptionRows.remove(relay.store, id)
  await relay.store.removeChannel(storedChannel(id))
  relay.log.info('subscription_deleted', { id, by: describeAccess(access) })
  return 'deleted'
}

/** The health of its endpoint. Undefined: it was never in trouble. */
export function readHealthOf(
  { store }: Relay,
  { id }: Subscription,
): Promise<ChannelHealth | undefined> {
  return store.readHealth(storedChannel(id))
}

/** Lists the deliveries to a subscription that this user sees. */
export function deliveriesTo({ store }: Relay, { id }: Subscription, page: DeliveryPage) {
  return store.listDeliveries(storedChannel(id), page)
}

/** Sends failed and kept messages of a subscription that can replay again. Returns how many. */
export async function replaySubscription(
  relay: Relay,
  access: Access,
  { id }: Subscription,
  which: { id: string } | { since: number },
): Promise<number> {
  const own = 'id' in which ? which : { ...which, channel: storedChannel(id) }
  return replay(relay, access, own)
}

function newSecret(): string {
  return `whsec_${toBase64(crypto.getRandomValues(new Uint8Array(secretBytes)))}`
}
