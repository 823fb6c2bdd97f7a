// The input of notifiers in these tests, and the requests that they make.
import type { Channel } from '../../functions/config/config.ts'
import type { SendOutcome } from '../../functions/core/delivery/attempt.ts'
import type { ChatMessage, ChatMessageState } from '../../functions/core/delivery/chat-message.ts'
import type { Notification } from '../../functions/core/delivery/delivery.ts'
import type { Facts } from '../../functions/core/event/facts.ts'
import { toView } from '../../functions/core/event/view.ts'
import { compose } from '../../functions/core/message/message.ts'
import type {
  AzureTokens,
  ChatMessageAccess,
  Outgoing,
  Send,
} from '../../functions/notify/notifier.ts'
import { webHmac } from '../../shared/signature.ts'
import { tokenFor } from '../simulator/sinks/ship.ts'
import { at, claimed, facts, notification, record } from '../support/records.ts'
import { eventId } from '../support/world.ts'
import { channels, type Json, type Kind, kindTable, notifierOf } from './kinds.ts'

/** Of the usual event, as the relay gives them to notifiers. */
export const links = {
  page: `https://foghorn.example/console/events/prod/${eventId}`,
  api: `https://foghorn.example/v1/events/prod/${eventId}`,
}

/** As the relay gives them to notifiers. */
export const azureTokens: AzureTokens = {
  read: async (resource) => tokenFor(resource),
  drop: () => {},
}

export function outgoing(
  changes: Partial<Outgoing> = {},
  told: Partial<Notification> = {},
): Outgoing {
  const now = changes.now ?? at
  const what = notification(told)
  return {
    delivery: claimed('prod/an-event/1/scheduled/chat', { notification: what }),
    message: compose(what, now),
    pageUrl: 'https://foghorn.example/approve/token',
    links,
    mayHaveHeard: [notification()],
    also: [],
    chatMessage: memoryChatMessage(),
    publicUrl: 'https://foghorn.example',
    now,
    hmac: webHmac,
    wait: async () => {},
    azureTokens,
    signal: new AbortController().signal,
    ...changes,
  }
}

/** Keeps the chat message of one epoch and channel, like a store. */
export function memoryChatMessage(): ChatMessageAccess & { kept: ChatMessage | undefined } {
  const chatMessage: ChatMessageAccess & { kept: ChatMessage | undefined } = {
    kept: undefined,
    read: async () => chatMessage.kept,
    write: async (state, basedOn) => {
      if ((chatMessage.kept?.version ?? 0) !== basedOn) return 'conflict'
      chatMessage.kept = { version: basedOn + 1, state }
      return 'written'
    },
  }
  return chatMessage
}

/** Always returns this state, so that the same step can be sent again. */
export function lastingChatMessage(state?: ChatMessageState): ChatMessageAccess {
  return {
    read: async () => (state === undefined ? undefined : { version: 1, state }),
    write: async () => 'written',
  }
}

/** A message about an event with these facts. */
export function about(changes: Partial<Facts>, told: Partial<Notification> = {}): Outgoing {
  const event = toView(record({ facts: facts(changes) }))
  return outgoing({}, { event, ...told })
}

export function notify(
  kind: Kind,
  send: Send,
  what = outgoing(),
  channel: Channel = channels[kind],
): Promise<SendOutcome> {
  return notifierOf(kind).notify(what, channel as never, send)
}

/** The usual answer of a channel that accepted the message. */
export function usualAnswer(kind: Kind): Response {
  const [status, text] = kindTable[kind].answers.delivered[0]!
  return new Response(text ?? null, { status })
}

export interface Captured {
  method: string
  url: string
  headers: Record<string, string>
  body: string
  json: Json
}

/** The requests of one message, none if the kind has nothing to send. `request` is the first. */
export async function capture(
  kind: Kind,
  what = outgoing(),
  channel?: Channel,
): Promise<{ result: SendOutcome; requests: Captured[]; request: Captured | undefined }> {
  const sent: Captured[] = []
  const send: Send = async (url, init) => {
    const body = String(init.body)
    const headers = Object.fromEntries(new Headers(init.headers))
    sent.push({ method: String(init.method), url, headers, body, json: JSON.parse(body) })
    return usualAnswer(kind)
  }
  const result = await notify(kind, send, what, channel)
  return { result, requests: sent, request: sent[0] }
}
