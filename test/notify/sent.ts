// A message on its way to a channel.

import type { Posted } from '../../functions/core/delivery/chat-message.ts'
import {
  type AlertNotification,
  type Delivery,
  isAlertAbout,
  isForPeople,
  type Notification,
} from '../../functions/core/delivery/delivery.ts'
import type { Moment } from '../../functions/core/event/moment.ts'
import type { Askers } from '../../functions/core/message/askers.ts'
import { compose, noText } from '../../functions/core/message/message.ts'
import type { Outgoing } from '../../functions/notify/notifier.ts'
import { composeConsolePart } from '../../functions/use-cases/compose-part.ts'
import { webHmac } from '../../shared/signature.ts'
import { at, claimed } from '../support/records.ts'
import { channels } from './kinds.ts'
import { azureTokens, lastingChatMessage, links } from './outgoing.ts'

const second = 1_000

/** The message that a bot edits, if the channel was notified before. */
const posted: Posted = {
  is: 'posted',
  to: channels.slack_bot.channel,
  place: channels.slack_bot.channel,
  message: '1795262401.000100',
  seq: 1,
}

/** What the channel gets of the delivery. `heard`: moments that it was notified of before. */
export function sent(
  id: string,
  notification: Notification | AlertNotification,
  {
    lateMs = 0,
    skipped = [],
    heard = [],
    askers = 'readers',
  }: { lateMs?: number; skipped?: Moment[]; heard?: Moment[]; askers?: Askers } = {},
): Outgoing {
  // a message is on its way for a moment
  const now = notification.at + lateMs + (lateMs === 0 ? second : 0)
  const part = composeConsolePart(notification)
  return {
    delivery: claimed(id, { notification }),
    message: isForPeople(notification) ? compose(notification, now, skipped, askers) : noText,
    pageUrl: `https://foghorn.example${part === undefined ? '/approve/token' : `/console${part}`}`,
    ...(isAlertAbout(notification) ? {} : { links }),
    publicUrl: 'https://foghorn.example',
    mayHaveHeard: heard.map((moment) => ({ moment, at, event: notification.event })),
    also: [],
    now,
    hmac: webHmac,
    wait: async () => {},
    azureTokens,
    signal: new AbortController().signal,
    chatMessage: lastingChatMessage(heard.length === 0 ? undefined : posted),
  }
}

/** A message of an alert, after these earlier ones. */
export function after(earlier: Delivery[], [own]: Delivery[]): Outgoing {
  const mayHaveHeard = earlier.map(({ notification }) => notification)
  return { ...sent(own!.id, own!.notification), mayHaveHeard }
}
