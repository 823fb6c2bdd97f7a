// Slack with the token of a bot: one message for each epoch of an event. Each step edits the
// message and replies in its thread. The posted message is stored by compare-and-set. An edit
// notifies nobody, so a reply that asks people to act is also shown in the channel.
import type { SendOutcome } from '../../core/delivery/attempt.ts'
import type { Delivery } from '../../core/delivery/delivery.ts'
import { nextStep, type Posted } from '../../core/delivery/post.ts'
import type { Notifier, Outgoing, Send } from '../notifier.ts'
import { type Answer, callSlack, type Method } from './api.ts'
import { buttonSupport, slackBlocks, slackReply } from './blocks.ts'
import type { Bot } from './schema.ts'

/** The message was deleted or is too old to edit, so a new one is posted. */
const cannotBeEdited = [
  'message_not_found',
  'cant_update_message',
  'edit_window_closed',
  'block_mismatch',
]

/** Nobody can reply to the message, so a new one is posted. */
const cannotBeRepliedTo = [
  'cannot_reply_to_message',
  'thread_not_found',
  'message_not_found',
  'restricted_action_thread_locked',
  'restricted_action_non_threadable_channel',
]

/** For the removal of a message after the lease has ended. */
const removeMs = 5_000

/** An edit notifies nobody, so replies about these moments are also shown in the channel. */
const shownInChannel: Delivery['notification']['moment'][] = [
  'changed',
  'not_ready',
  'reminder',
  'stuck',
  'lost',
]

export const slackBot: Notifier<Bot> = {
  // The message shows the newest state, so an edit that waited must not show an older one.
  overtakes: () => true,
  // Slack accepts one chat.postMessage a second and channel, and fifty chat.update a minute. No
  // lists: a message about several events could not be edited for one of them.
  rate: { everyMs: 1_200, burst: 2, together: 1, atOnce: 4 },
  opensIncidents: false,
  buttons: { ...buttonSupport, isEdited: true },
  async notify(outgoing, channel, send) {
    const attempt = { outgoing, channel, send }
    if (outgoing.delivery.notification.moment === 'alert') return toOutcome(await create(attempt))
    const known = await outgoing.posts.read()
    const next = nextStep(known, outgoing.delivery, channel.channel, outgoing.now)
    const version = known?.version ?? 0
    switch (next.step) {
      case 'wait':
        return { outcome: 'retry', note: next.note, unsent: true }
      case 'posted':
        return { outcome: 'delivered', note: next.note }
      case 'overtaken':
        return { outcome: 'superseded', note: next.note }
      case 'edit':
        return edit(attempt, next.posted, version)
      case 'post':
        return post(attempt, version)
    }
  },
}

interface Attempt {
  outgoing: Outgoing
  channel: Bot
  send: Send
}

/** Stores that it is about to post, posts, and stores where. */
async function post(attempt: Attempt, version: number): Promise<SendOutcome> {
  const { outgoing, channel } = attempt
  const { posts, delivery } = outgoing
  const { lease: by, leaseUntil: until, seq } = delivery
  if ((await posts.write({ is: 'posting', by, until }, version)) === 'conflict') {
    return { outcome: 'retry', note: 'another worker is posting this message', unsent: true }
  }
  const answer = await create(attempt)
  if (answer.outcome !== 'done') {
    await posts.write({ is: 'absent', by }, version + 1)
    return toOutcome(answer)
  }
  const { ts, channel: place } = answer
  const posted = { is: 'posted' as const, to: channel.channel, place, message: ts, seq }
  if ((await posts.write(posted, version + 1)) === 'written') return toOutcome(answer)
  // The lease has ended, and another worker has posted the message or will.
  const own = { ...outgoing, signal: AbortSignal.timeout(removeMs) }
  await call({ ...attempt, outgoing: own }, 'chat.delete', { channel: place, ts })
  return { outcome: 'retry', note: 'another worker took over; the message was removed' }
}

async function edit(attempt: Attempt, posted: Posted, version: number): Promise<SendOutcome> {
  const { outgoing } = attempt
  const { delivery, posts } = outgoing
  const { place: channel, message: ts } = posted
  const { text, blocks } = bodyOf(outgoing)
  // Without `blocks`, Slack would keep or remove the old ones.
  const edited = await call(attempt, 'chat.update', { channel, ts, text, blocks, parse: 'none' })
  if (edited.outcome === 'refused' && cannotBeEdited.includes(edited.code)) {
    return post(attempt, version)
  }
  if (edited.outcome !== 'done') return toOutcome(edited)
  const isShown = shownInChannel.includes(delivery.notification.moment)
  const reply = { ...slackReply(outgoing), channel, thread_ts: ts, reply_broadcast: isShown }
  const replied = await call(attempt, 'chat.postMessage', reply)
  if (replied.outcome === 'refused' && cannotBeRepliedTo.includes(replied.code)) {
    return post(attempt, version)
  }
  if (replied.outcome !== 'done') return toOutcome(replied)
  // Ignore a conflict: the message is edited and the reply sent.
  await posts.write({ ...posted, seq: delivery.seq }, version)
  return { outcome: 'delivered', note: 'edited' }
}

function create(attempt: Attempt): Promise<Answer> {
  const { outgoing, channel } = attempt
  return call(attempt, 'chat.postMessage', { ...bodyOf(outgoing), channel: channel.channel })
}

/** A button would still seem to ask after the decision. A link does not. */
function bodyOf(outgoing: Outgoing) {
  return slackBlocks(outgoing, 'button_to_decide')
}

function call({ channel, send, outgoing }: Attempt, method: Method, body: object) {
  return callSlack(send, channel, method, body, outgoing)
}

function toOutcome(answer: Answer): SendOutcome {
  if (answer.outcome === 'done') return { outcome: 'delivered', note: 'posted' }
  if (answer.outcome !== 'refused') return answer
  const { note, broken } = answer
  return { outcome: 'refused', note, ...(broken && { broken }) }
}
