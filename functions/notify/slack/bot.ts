// Slack with the token of a bot: a message that is edited, with a reply in its thread for each step.

import { type Attempt, type Created, type Edited, notifyByEditing } from '../edited.ts'
import type { Notifier, Outgoing, Undelivered } from '../notifier.ts'
import { type Answer, callSlack, type Method } from './api.ts'
import { slackBlocks, slackReply } from './blocks.ts'
import { buttons } from './buttons.ts'
import type { Bot } from './schema.ts'

/** The message was deleted or is too old to edit. */
const cannotBeEdited = [
  'message_not_found',
  'cant_update_message',
  'edit_window_closed',
  'block_mismatch',
]

/** Nobody can reply to the message. */
const cannotBeRepliedTo = [
  'cannot_reply_to_message',
  'thread_not_found',
  'message_not_found',
  'restricted_action_thread_locked',
  'restricted_action_non_threadable_channel',
]

export const slackBot: Notifier<Bot> = {
  // The message shows the newest state, so an edit that waited must not show an older one.
  takes: 'newest',
  // Slack accepts one chat.postMessage a second and channel, and fifty chat.update a minute. No
  // lists: a message about several events could not be edited for one of them.
  rate: { everyMs: 1_200, burst: 2, together: 1, atOnce: 4 },
  buttons: { ...buttons, isEdited: true },
  notify: notifyByEditing({
    placeOf: ({ channel }) => channel,
    create: async (attempt) => {
      const { channel } = attempt.channel
      const body = { ...composeBody(attempt.outgoing), channel }
      return createdIn(await call(attempt, 'chat.postMessage', body))
    },
    edit: async (attempt, { place: channel, message: ts }) => {
      const { text, blocks } = composeBody(attempt.outgoing)
      // Without `blocks`, Slack would keep or remove the old ones.
      const body = { channel, ts, text, blocks, parse: 'none' }
      return editedIn(await call(attempt, 'chat.update', body), cannotBeEdited)
    },
    reply: async (attempt, { place: channel, message: thread_ts }, isLoud) => {
      const body = {
        ...slackReply(attempt.outgoing, isLoud),
        channel,
        thread_ts,
        reply_broadcast: isLoud,
      }
      return editedIn(await call(attempt, 'chat.postMessage', body), cannotBeRepliedTo)
    },
    remove: (attempt, { place: channel, message: ts }) => {
      return call(attempt, 'chat.delete', { channel, ts })
    },
  }),
}

/** A button would still seem to ask after the decision. A link does not. */
function composeBody(outgoing: Outgoing) {
  return slackBlocks(outgoing, 'button_to_decide')
}

function call({ channel, send, outgoing }: Attempt<Bot>, method: Method, body: object) {
  return callSlack(send, channel, method, body, outgoing)
}

function createdIn(answer: Answer): Created {
  if (answer.outcome !== 'done') return failureIn(answer)
  return { outcome: 'done', place: answer.channel, message: answer.ts }
}

/** `gone`: codes that mean that the message cannot be changed. */
function editedIn(answer: Answer, gone: string[]): Edited {
  if (answer.outcome === 'done') return { outcome: 'done' }
  if (answer.outcome === 'refused' && gone.includes(answer.code)) {
    return { outcome: 'gone', note: answer.note }
  }
  return failureIn(answer)
}

function failureIn(answer: Exclude<Answer, { outcome: 'done' }>): Undelivered {
  if (answer.outcome !== 'refused') return answer
  const { note, broken } = answer
  return { outcome: 'refused', note, ...(broken && { broken }) }
}
