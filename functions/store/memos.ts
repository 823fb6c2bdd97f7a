// Gives the store's memos types: messages that channels edit, the health of channels, and the
// holders of turns. Reading checks nothing: the relay trusts what it wrote.
import type { ChannelHealth, HealthRow } from '../core/delivery/channel-health.ts'
import type { Post, PostKey, PostState } from '../core/delivery/post.ts'
import type { Holder } from '../core/event/turn.ts'
import type { Memo, MemoKey, MemoStore } from './store.ts'

export async function readPost(store: MemoStore, key: PostKey): Promise<Post | undefined> {
  return (await store.readMemo(postMemo(key))) as Post | undefined
}

/** As `writeMemo`. */
export function writePost(store: MemoStore, key: PostKey, state: PostState, basedOn: number) {
  return store.writeMemo(postMemo(key), { state }, basedOn)
}

/** The health of all channels that have or had trouble. */
export async function readHealthRows(store: MemoStore): Promise<HealthRow[]> {
  return (await store.listMemos('health')) as HealthRow[]
}

/** As `writeMemo`. */
export function writeHealth(
  store: MemoStore,
  channel: string,
  health: ChannelHealth,
  basedOn: number,
) {
  return store.writeMemo({ kind: 'health', name: [channel] }, { channel, health }, basedOn)
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

function turnsMemo(fleet: string): MemoKey {
  return { kind: 'turns', name: [fleet] }
}

function postMemo({ fleet, eventId, epoch, channel }: PostKey): MemoKey {
  return { kind: 'post', event: { fleet, eventId }, name: [epoch, channel] }
}
