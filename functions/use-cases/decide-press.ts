// A person pressed a button in a message: decides the event if that is allowed, and answers.

import { knownVms } from '../core/event/drill.ts'
import type { EventRecord } from '../core/event/event.ts'
import { viewOf } from '../core/event/view.ts'
import { compose } from '../core/message/message.ts'
import { asksFor } from '../core/message/step.ts'
import { isListed } from '../core/rules/permission.ts'
import { pageLink } from '../links/link.ts'
import type { DeadPress, Press, PressOutcome, Reply } from '../notify/desk.ts'
import { decideEvent, open } from './decide-event.ts'
import { buttonSupportOf, decidesHere, readValue, waysToDecide } from './decision-buttons.ts'
import type { Relay } from './relay.ts'

interface Pressed extends Pick<Press, 'by' | 'decision' | 'value'> {
  /** The person belongs to the owner's own workspace. */
  isHome: boolean
}

export interface Answer {
  /** Undefined if a delivery will edit the message anyway. */
  reply: Reply | undefined
  /** The channel that the button was sent to. */
  channel: string | undefined
}

export async function decidePress(relay: Relay, pressed: Pressed): Promise<Answer> {
  const { by, decision, value } = pressed
  const carried = readValue(value)
  if (carried === undefined) return deadPress(relay, 'forged')
  const opened = await open(relay, carried.token)
  if (opened.outcome !== 'open') return deadPress(relay, opened.outcome)
  const { token, record } = opened
  const { channel } = token
  const refused = (why: PressOutcome, about: EventRecord): Answer => {
    return { reply: { refused: why, record: about, by }, channel }
  }
  const barred = barredFrom(relay, pressed, record, channel)
  if (barred !== undefined) {
    const { fleet, eventId } = record
    relay.log.warn('press_refused', { reason: barred, fleet, eventId, channel, ...by })
    return refused(barred, record)
  }
  const decided = await decideEvent(relay, record, { decision, by, seen: carried.stamp })
  if (decided.outcome !== 'decided') return refused(decided.outcome, decided.record)
  return { reply: await replacementFor(relay, decided.record, decision, channel), channel }
}

function deadPress(relay: Relay, reason: DeadPress | 'list'): Answer {
  relay.log.warn('press_refused', { reason })
  // buttons of the relay never carry a list
  return { reply: { dead: reason === 'list' ? 'forged' : reason }, channel: undefined }
}

/** Checks the person's workspace and the channel. `decideEvent` checks the approvers. */
function barredFrom(
  relay: Relay,
  { by, isHome }: Pressed,
  record: EventRecord,
  channel: string,
): 'outsider' | 'not_here' | undefined {
  // a shared channel has members of other companies: they decide only if a route lists them
  const named = () => isListed(relay.config.routes, record, knownVms(record), by)
  if (!isHome && !named()) return 'outsider'
  return decidesHere(relay, record, channel) ? undefined : 'not_here'
}

/**
 * The text that replaces the message and names the decider. If a route notifies this channel of the
 * decision, some kinds edit the message with that delivery. Other kinds send a new message, and the
 * pressed one becomes one line.
 */
async function replacementFor(
  relay: Relay,
  record: EventRecord,
  decision: Press['decision'],
  channel: string,
): Promise<Reply | undefined> {
  const planned = await relay.store.readDeliveries(record)
  const hasOwn = planned.some(
    ({ channel: name, telling }) =>
      name === channel &&
      telling.moment === decision &&
      telling.event.epoch === record.epoch &&
      telling.event.verdict?.at === record.verdict?.at,
  )
  if (hasOwn && buttonSupportOf(relay, channel)?.isEdited) return undefined
  const now = relay.now()
  const pageUrl = await pageLink(relay, { ...record, channel }, now)
  if (hasOwn) return { decided: record, pageUrl }
  const event = viewOf(record)
  const telling = { moment: decision, at: now, event }
  if (!asksFor(event, now)) return { shown: { message: compose(telling, now), telling } }
  // after "not now" a person can still approve the event
  const { buttons, askers } = await waysToDecide(relay, record, event, channel)
  const message = compose(telling, now, [], askers)
  return { shown: { message, telling, pageUrl, ...(buttons && { buttons }) } }
}
