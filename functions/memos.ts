// The types of the store's memos: messages that channels edit, and the health of channels. The relay
// trusts what it wrote itself, so nothing is checked again when a memo is read.
import type { Mark, Outage } from './core/outage.ts'
import type { Post, PostKey, PostState } from './core/post.ts'
import type { MemoKey, MemoStore } from './store/store.ts'

export async function readPost(store: MemoStore, key: PostKey): Promise<Post | undefined> {
  return (await store.readMemo(postMemo(key))) as Post | undefined
}

/** As `writeMemo`. */
export function writePost(store: MemoStore, key: PostKey, state: PostState, basedOn: number) {
  return store.writeMemo(postMemo(key), { state }, basedOn)
}

/** The marks of all channels that have or had trouble. */
export async function readMarks(store: MemoStore): Promise<Mark[]> {
  return (await store.listMemos('marks')) as Mark[]
}

/** As `writeMemo`. */
export function writeMark(store: MemoStore, channel: string, outage: Outage, basedOn: number) {
  return store.writeMemo({ kind: 'marks', name: [channel] }, { channel, outage }, basedOn)
}

function postMemo({ fleet, eventId, epoch, channel }: PostKey): MemoKey {
  return { kind: 'post', event: { fleet, eventId }, name: [epoch, channel] }
}
