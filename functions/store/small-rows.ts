// Small objects that workers replace by compare-and-set, one row each: chat messages to edit, problems,
// holders of slots, tokens, subscriptions. That of an event is in the event's partition and is removed
// with it; the others of one kind share a partition. Reading checks nothing: the relay trusts what it
// wrote.
import type { ProblemKind } from '../core/delivery/delivery.ts'
import type { RemovedChannel } from '../core/delivery/health.ts'
import type { Post, PostKey, PostState } from '../core/delivery/post.ts'
import type { ProblemRow } from '../core/delivery/problem.ts'
import type { Subscription } from '../core/delivery/subscription.ts'
import type { Holder } from '../core/event/slots.ts'
import type { Mute } from '../core/rules/mute.ts'
import type { Token } from '../core/rules/token.ts'
import { eventPartition, keyOf } from './keys.ts'
import { insertOrReplace, type Row, type Rows } from './rows.ts'
import type { SmallRow, SmallRowKey, SmallRowKind, SmallRowStore } from './store.ts'

/** Since when the relay has listened without a gap, and when it noted that last. Epoch ms. */
interface Listening extends SmallRow {
  since: number
  at: number
}

const listeningKey: SmallRowKey = { kind: 'listening', name: [] }

/**
 * Notes that the relay is listening, and returns since when it has been without a gap of more than
 * `gapMs`: before that time it may have missed reports. A timer must call this more often.
 */
export async function noteListening(
  store: SmallRowStore,
  now: number,
  gapMs: number,
): Promise<number> {
  const known = (await store.readSmallRow(listeningKey)) as Listening | undefined
  const since = known !== undefined && now - known.at <= gapMs ? known.since : now
  // in a conflict, another worker has just noted the same
  await store.writeSmallRow(listeningKey, { at: now, since }, known?.version ?? 0)
  return since
}

/** The time as of which the relay has forgotten what was old. Epoch ms. */
interface Forgotten extends SmallRow {
  asOf: number
}

const forgottenKey: SmallRowKey = { kind: 'forgotten', name: [] }

export async function readForgotten(store: SmallRowStore): Promise<Forgotten | undefined> {
  return (await store.readSmallRow(forgottenKey)) as Forgotten | undefined
}

/** As `writeSmallRow`. */
export function writeForgotten(store: SmallRowStore, asOf: number, basedOn: number) {
  return store.writeSmallRow(forgottenKey, { asOf }, basedOn)
}

/** When the relay last read what Azure publishes outside the VMs. Epoch ms. */
interface OutsideRead extends SmallRow {
  at: number
}

const outsideKey: SmallRowKey = { kind: 'outside', name: [] }

export async function readOutside(store: SmallRowStore): Promise<OutsideRead | undefined> {
  return (await store.readSmallRow(outsideKey)) as OutsideRead | undefined
}

/** As `writeSmallRow`. */
export function writeOutside(store: SmallRowStore, at: number, basedOn: number) {
  return store.writeSmallRow(outsideKey, { at }, basedOn)
}

/** The configuration that the open events were last routed by. */
interface Routing extends SmallRow {
  /** A hash of its routes and channels. */
  of: string
  channels: string[]
  /** Channels that it lacks, and that open events had reached. */
  removed: RemovedChannel[]
}

const routingKey: SmallRowKey = { kind: 'routing', name: [] }

export async function readRouting(store: SmallRowStore): Promise<Routing | undefined> {
  return (await store.readSmallRow(routingKey)) as Routing | undefined
}

/** As `writeSmallRow`. */
export function writeRouting(
  store: SmallRowStore,
  routing: Omit<Routing, 'version'>,
  basedOn: number,
) {
  return store.writeSmallRow(routingKey, routing, basedOn)
}

/** In one row: few, and read with every step that people are told of. */
interface Mutes extends SmallRow {
  all: Mute[]
}

const mutesKey: SmallRowKey = { kind: 'mutes', name: [] }

export async function readMutes(store: SmallRowStore): Promise<Mutes> {
  return ((await store.readSmallRow(mutesKey)) as Mutes | undefined) ?? { version: 0, all: [] }
}

/** As `writeSmallRow`. */
export function writeMutes(store: SmallRowStore, all: Mute[], basedOn: number) {
  return store.writeSmallRow(mutesKey, { all }, basedOn)
}

export async function readPost(store: SmallRowStore, key: PostKey): Promise<Post | undefined> {
  return (await store.readSmallRow(postKey(key))) as Post | undefined
}

/** As `writeSmallRow`. */
export function writePost(store: SmallRowStore, key: PostKey, state: PostState, basedOn: number) {
  return store.writeSmallRow(postKey(key), { state }, basedOn)
}

interface StoredProblems extends SmallRow {
  row: ProblemRow
}

/** Of all fleets. */
export async function listProblems(store: SmallRowStore): Promise<ProblemRow[]> {
  return ((await store.listSmallRows('problem')) as StoredProblems[]).map(({ row }) => row)
}

export async function readProblems(
  store: SmallRowStore,
  fleet: string,
  kind: ProblemKind,
): Promise<StoredProblems | undefined> {
  return (await store.readSmallRow(problemKey(fleet, kind))) as StoredProblems | undefined
}

/** As `writeSmallRow`. */
export function writeProblems(store: SmallRowStore, row: ProblemRow, basedOn: number) {
  return store.writeSmallRow(problemKey(row.fleet, row.kind), { row }, basedOn)
}

/** The events of one fleet that have a slot. */
interface Slots extends SmallRow {
  holders: Holder[]
}

export async function readSlots(store: SmallRowStore, fleet: string): Promise<Slots> {
  const found = await store.readSmallRow(slotsKey(fleet))
  return (found as Slots | undefined) ?? { version: 0, holders: [] }
}

/** As `writeSmallRow`. */
export function writeSlots(
  store: SmallRowStore,
  fleet: string,
  holders: Holder[],
  basedOn: number,
) {
  return store.writeSmallRow(slotsKey(fleet), { holders }, basedOn)
}

/** A token, and the version that the next write is based on. */
type StoredToken = Token & SmallRow

export async function readToken(
  store: SmallRowStore,
  id: string,
): Promise<StoredToken | undefined> {
  return (await store.readSmallRow(tokenKey(id))) as StoredToken | undefined
}

export async function listTokens(store: SmallRowStore): Promise<StoredToken[]> {
  return (await store.listSmallRows('token')) as StoredToken[]
}

/** As `writeSmallRow`. */
export function writeToken(store: SmallRowStore, token: Token, basedOn: number) {
  const { version: _, ...fields } = token as StoredToken
  return store.writeSmallRow(tokenKey(token.id), fields, basedOn)
}

/** As `removeSmallRow`. */
export function removeToken(store: SmallRowStore, id: string): Promise<void> {
  return store.removeSmallRow(tokenKey(id))
}

/** A session that ended by a sign-out. */
interface SignOut extends SmallRow {
  id: string
  /** When it would have ended, epoch ms. */
  endsAt: number
}

function signOutKey(id: string): SmallRowKey {
  return { kind: 'session', name: [id] }
}

export async function readSignOut(store: SmallRowStore, id: string): Promise<SignOut | undefined> {
  return (await store.readSmallRow(signOutKey(id))) as SignOut | undefined
}

export async function listSignOuts(store: SmallRowStore): Promise<SignOut[]> {
  return (await store.listSmallRows('session')) as SignOut[]
}

/** As `writeSmallRow`. In a conflict, the same session has signed out already. */
export function writeSignOut(store: SmallRowStore, id: string, endsAt: number) {
  return store.writeSmallRow(signOutKey(id), { id, endsAt }, 0)
}

/** As `removeSmallRow`. */
export function removeSignOut(store: SmallRowStore, id: string): Promise<void> {
  return store.removeSmallRow(signOutKey(id))
}

/** A subscription, and the version that the next write is based on. */
type StoredSubscription = Subscription & SmallRow

export async function readSubscription(
  store: SmallRowStore,
  id: string,
): Promise<StoredSubscription | undefined> {
  return (await store.readSmallRow(subscriptionKey(id))) as StoredSubscription | undefined
}

export async function listSubscriptions(store: SmallRowStore): Promise<StoredSubscription[]> {
  return (await store.listSmallRows('subscription')) as StoredSubscription[]
}

/** As `writeSmallRow`. */
export function writeSubscription(store: SmallRowStore, one: Subscription, basedOn: number) {
  const { version: _, ...fields } = one as StoredSubscription
  return store.writeSmallRow(subscriptionKey(one.id), fields, basedOn)
}

/** As `removeSmallRow`. */
export function removeSubscription(store: SmallRowStore, id: string): Promise<void> {
  return store.removeSmallRow(subscriptionKey(id))
}

function subscriptionKey(id: string): SmallRowKey {
  return { kind: 'subscription', name: [id] }
}

function problemKey(fleet: string, kind: ProblemKind): SmallRowKey {
  return { kind: 'problem', name: [fleet, kind] }
}

function tokenKey(id: string): SmallRowKey {
  return { kind: 'token', name: [id] }
}

function slotsKey(fleet: string): SmallRowKey {
  return { kind: 'slots', name: [fleet] }
}

function postKey({ fleet, eventId, epoch, channel }: PostKey): SmallRowKey {
  return { kind: 'post', event: { fleet, eventId }, name: [epoch, channel] }
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

  async list(kind: SmallRowKind): Promise<SmallRow[]> {
    return (await this.#rows.list(keyOf(kind), '', '~')).map(toSmallRow)
  }

  async write(key: SmallRowKey, fields: object, basedOn: number): Promise<'written' | 'conflict'> {
    const row = await this.#row(key)
    if ((row === undefined ? 0 : toSmallRow(row).version) !== basedOn) return 'conflict'
    const { partition, name } = placeOf(key)
    const body = JSON.stringify({ version: basedOn + 1, ...fields })
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

  #row(key: SmallRowKey): Promise<Row | undefined> {
    const { partition, name } = placeOf(key)
    return this.#rows.read(partition, name)
  }
}

function placeOf({ kind, event, name }: SmallRowKey): { partition: string; name: string } {
  if (event === undefined) return { partition: keyOf(kind), name: keyOf(...name) }
  return { partition: eventPartition(event), name: keyOf('own', kind, ...name) }
}

function toSmallRow({ body }: Row): SmallRow {
  return JSON.parse(body) as SmallRow
}
