// A message that is edited as its event moves: one for each epoch of an event. Each step edits the message and
// adds a reply below it, as an edit notifies nobody. Where it was posted is stored by compare-and-set.
import type { SendOutcome } from '../core/delivery/attempt.ts'
import { nextStep, type Posted } from '../core/delivery/chat-message.ts'
import { type Delivery, tellsOfEvent } from '../core/delivery/delivery.ts'
import type { Notifier, Outgoing, Send, Undelivered } from './notifier.ts'

/** How a kind posts and edits. No method throws. */
interface Editor<Channel> {
  /** The id of the place in the configuration. */
  placeOf(channel: Channel): string
  create(attempt: Attempt<Channel>): Promise<Created>
  edit(attempt: Attempt<Channel>, posted: Posted): Promise<Edited>
  /** `isLoud`: people are asked to act, so the reply must be seen. */
  reply(attempt: Attempt<Channel>, posted: Posted, isLoud: boolean): Promise<Edited>
  remove(attempt: Attempt<Channel>, posted: Where): Promise<unknown>
}

export interface Attempt<Channel> {
  outgoing: Outgoing
  channel: Channel
  send: Send
}

type Where = Pick<Posted, 'place' | 'message'>

export type Created = ({ outcome: 'done' } & Where) | Undelivered

/** `gone`: the message was deleted or cannot be changed any more, so a new one is posted. */
export type Edited = { outcome: 'done' } | { outcome: 'gone'; note: string } | Undelivered

/** Time to remove a message after the lease has ended. */
const removeMs = 5_000

const loud: Delivery['notification']['moment'][] = [
  'changed',
  'not_ready',
  'reminder',
  'stuck',
  'lost',
]

export function notifyByEditing<Channel>(editor: Editor<Channel>): Notifier<Channel>['notify'] {
  return async (outgoing, channel, send) => {
    const attempt = { outgoing, channel, send }
    if (!tellsOfEvent(outgoing.delivery.notification)) {
      return toOutcome(await editor.create(attempt))
    }
    const known = await outgoing.chatMessage.read()
    const next = nextStep(known, outgoing.delivery, editor.placeOf(channel), outgoing.now)
    const version = known?.version ?? 0
    switch (next.step) {
      case 'wait':
        return { outcome: 'retry', note: next.note, unsent: true }
      case 'posted':
        return { outcome: 'delivered', note: next.note }
      case 'overtaken':
        return { outcome: 'superseded', note: next.note }
      case 'edit':
        return edit(editor, attempt, next.posted, version)
      case 'post':
        return post(editor, attempt, version)
    }
  }
}

/** Stores that it is about to post, posts, and stores where. */
async function post<Channel>(
  editor: Editor<Channel>,
  attempt: Attempt<Channel>,
  version: number,
): Promise<SendOutcome> {
  const { outgoing, channel } = attempt
  const { chatMessage, delivery } = outgoing
  const { lease: by, leaseUntil: until, seq } = delivery
  if ((await chatMessage.write({ is: 'posting', by, until }, version)) === 'conflict') {
    return { outcome: 'retry', note: 'another worker is posting this message', unsent: true }
  }
  const created = await editor.create(attempt)
  if (created.outcome !== 'done') {
    await chatMessage.write({ is: 'absent', by }, version + 1)
    return created
  }
  const { place, message } = created
  const posted = { is: 'posted' as const, to: editor.placeOf(channel), place, message, seq }
  if ((await chatMessage.write(posted, version + 1)) === 'written') return toOutcome(created)
  // the lease has ended, and another worker has posted the message or will
  const own = { ...outgoing, signal: AbortSignal.timeout(removeMs) }
  await editor.remove({ ...attempt, outgoing: own }, created)
  return { outcome: 'retry', note: 'another worker took over; the message was removed' }
}

async function edit<Channel>(
  editor: Editor<Channel>,
  attempt: Attempt<Channel>,
  posted: Posted,
  version: number,
): Promise<SendOutcome> {
  const { delivery, chatMessage } = attempt.outgoing
  const edited = await editor.edit(attempt, posted)
  if (edited.outcome === 'gone') return post(editor, attempt, version)
  if (edited.outcome !== 'done') return edited
  const replied = await editor.reply(attempt, posted, loud.includes(delivery.notification.moment))
  if (replied.outcome === 'gone') return post(editor, attempt, version)
  if (replied.outcome !== 'done') return replied
  // ignore a conflict: the message is edited and the reply sent
  await chatMessage.write({ ...posted, seq: delivery.seq }, version)
  return { outcome: 'delivered', note: 'edited' }
}

function toOutcome(created: Created): SendOutcome {
  return created.outcome === 'done' ? { outcome: 'delivered', note: 'posted' } : created
}
