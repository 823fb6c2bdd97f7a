// Gives the store's memos types: messages that channels edit, and the health of channels. Reading
// checks nothing: the relay trusts what it wrote.
import type { ChannelHealth, HealthRow } from '../core/delivery/channel-health.ts'
import type { Post, PostKey, PostState } from '../core/delivery/post.ts'
import type { MemoKey, MemoStore } from './store.ts'

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

function postMemo({ fleet, eventId, epoch, channel }: PostKey): MemoKey {
  return { kind: 'post', event: { fleet, eventId }, name: [epoch, channel] }
}
