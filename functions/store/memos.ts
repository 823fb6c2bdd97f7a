// Gives the store's memos types: messages that channels edit, problems, the holders of turns, and
// tokens. Reading checks nothing: the relay trusts what it wrote.
import type { ProblemKind } from '../core/delivery/delivery.ts'
import type { Post, PostKey, PostState } from '../core/delivery/post.ts'
import type { ProblemRow } from '../core/delivery/problem.ts'
import type { Subscription } from '../core/delivery/subscription.ts'
import type { Holder } from '../core/event/turn.ts'
import type { Token } from '../core/rules/token.ts'
import type { Memo, MemoKey, MemoStore } from './store.ts'

/** Since when the relay has listened without a gap, and when it noted that last. Epoch ms. */
interface Listening extends Memo {
  since: number
  at: number
}

const listeningMemo: MemoKey = { kind: 'listening', name: [] }

/**
 * Notes that the relay is listening, and returns since when it has been without a gap of more than
 * `gapMs`: before that time it may have missed reports. A timer must call this more often.
 */
export async function noteListening(store: MemoStore, now: number, gapMs: number): Promise<number> {
  const known = (await store.readMemo(listeningMemo)) as Listening | undefined
  const since = known !== undefined && now - known.at <= gapMs ? known.since : now
  // in a conflict, another worker has just noted the same
  await store.writeMemo(listeningMemo, { at: now, since }, known?.version ?? 0)
  return since
}

export async function readPost(store: MemoStore, key: PostKey): Promise<Post | undefined> {
  return (await store.readMemo(postMemo(key))) as Post | undefined
}

/** As `writeMemo`. */
export function writePost(store: MemoStore, key: PostKey, state: PostState, basedOn: number) {
  return store.writeMemo(postMemo(key), { state }, basedOn)
}

interface StoredProblems extends Memo {
  row: ProblemRow
}

/** Of all fleets. */
export async function listProblems(store: MemoStore): Promise<ProblemRow[]> {
  return ((await store.listMemos('problem')) as StoredProblems[]).map(({ row }) => row)
}

export async function readProblems(
  store: MemoStore,
  fleet: string,
  kind: ProblemKind,
): Promise<StoredProblems | undefined> {
  return (await store.readMemo(problemMemo(fleet, kind))) as StoredProblems | undefined
}

/** As `writeMemo`. */
export function writeProblems(store: MemoStore, row: ProblemRow, basedOn: number) {
  return store.writeMemo(problemMemo(row.fleet, row.kind), { row }, basedOn)
}

/** The events of one fleet that have their turn. */
interface Turns extends Memo {
  holders: Holder[]
}

export async function readTurns(store: MemoStore, fleet: string): Promise<Turns> {
  const found = await store.readMemo(turnsMemo(fleet))
  return (found as Turns | undefined) ?? { version: 0, holders: [] }
}

/** As `writeMemo`. */
export function writeTurns(store: MemoStore, fleet: string, holders: Holder[], basedOn: number) {
  return store.writeMemo(turnsMemo(fleet), { holders }, basedOn)
}

/** A token, and the version that the next write is based on. */
type StoredToken = Token & Memo

export async function readToken(store: MemoStore, id: string): Promise<StoredToken | undefined> {
  return (await store.readMemo(tokenMemo(id))) as StoredToken | undefined
}

export async function listTokens(store: MemoStore): Promise<StoredToken[]> {
  return (await store.listMemos('token')) as StoredToken[]
}

/** As `writeMemo`. */
export function writeToken(store: MemoStore, token: Token, basedOn: number) {
  const { version: _, ...fields } = token as StoredToken
  return store.writeMemo(tokenMemo(token.id), fields, basedOn)
}

/** As `removeMemo`. */
export function removeToken(store: MemoStore, id: string): Promise<void> {
  return store.removeMemo(tokenMemo(id))
}

/** A subscription, and the version that the next write is based on. */
type StoredSubscription = Subscription & Memo

export async function readSubscription(
  store: MemoStore,
  id: string,
): Promise<StoredSubscription | undefined> {
  return (await store.readMemo(subscriptionMemo(id))) as StoredSubscription | undefined
}

export async function listSubscriptions(store: MemoStore): Promise<StoredSubscription[]> {
  return (await store.listMemos('subscription')) as StoredSubscription[]
}

/** As `writeMemo`. */
export function writeSubscription(store: MemoStore, one: Subscription, basedOn: number) {
  const { version: _, ...fields } = one as StoredSubscription
  return store.writeMemo(subscriptionMemo(one.id), fields, basedOn)
}

/** As `removeMemo`. */
export function removeSubscription(store: MemoStore, id: string): Promise<void> {
  return store.removeMemo(subscriptionMemo(id))
}

function subscriptionMemo(id: string): MemoKey {
  return { kind: 'subscription', name: [id] }
}

function problemMemo(fleet: string, kind: ProblemKind): MemoKey {
  return { kind: 'problem', name: [fleet, kind] }
}

function tokenMemo(id: string): MemoKey {
  return { kind: 'token', name: [id] }
}

function turnsMemo(fleet: string): MemoKey {
  return { kind: 'turns', name: [fleet] }
}

function postMemo({ fleet, eventId, epoch, channel }: PostKey): MemoKey {
  return { kind: 'post', event: { fleet, eventId }, name: [epoch, channel] }
}
