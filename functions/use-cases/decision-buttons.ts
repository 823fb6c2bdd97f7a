// Buttons in a message that decide: whether an event has them in a channel, and what they carry. A
// button's value proves no more than a link. Only the signed press proves a person.

import { type Notification, tellsOfEvent } from '../core/delivery/delivery.ts'
import { makeStamp } from '../core/event/approval.ts'
import { knownVms } from '../core/event/drill.ts'
import type { EventRecord } from '../core/event/event.ts'
import { type Askers, listAskers } from '../core/message/askers.ts'
import { decidesInMessage, listDeciders } from '../core/rules/permission.ts'
import { createToken } from '../links/link.ts'
import type { ButtonSupport, Buttons, Part } from '../notify/notifier.ts'
import { type ChannelParts, channelNamed, findNotifier, type Relay } from './relay.ts'

/** Tokens (base64url and dots) and stamps do not contain it. */
const separator = ':'

/** Undefined if messages in this channel cannot have such buttons. */
export function readButtonSupport(relay: ChannelParts, channel: string): ButtonSupport | undefined {
  const configured = channelNamed(relay, channel)
  return configured && findNotifier(relay, configured).buttons
}

/** Whether the current configuration lets people decide this event in this channel. */
export function decidesHere(relay: ChannelParts, record: EventRecord, channel: string): boolean {
  const support = readButtonSupport(relay, channel)
  if (support === undefined) return false
  const { routes } = relay.config
  const { approveIn } = support
  return decidesInMessage(routes, record, knownVms(record), { channel, approveIn })
}

/** How people can answer a message that asks: its buttons, its link, or people elsewhere. */
interface Ways {
  buttons?: Buttons
  askers: Askers
}

/** `shown` is the event as the message shows it: an approval covers this state. */
export async function waysToDecide(
  relay: Relay,
  record: EventRecord,
  shown: Notification['event'],
  channel: string,
): Promise<Ways> {
  const { routes } = relay.config
  const support = readButtonSupport(relay, channel)
  const buttons =
    support !== undefined && decidesHere(relay, record, channel)
      ? await buttonsFor(relay, record, shown, channel, support)
      : undefined
  if (buttons !== undefined) return { buttons, askers: 'pressers' }
  const deciders = listDeciders(routes, record, knownVms(record))
  return {
    askers:
      deciders === 'anybody'
        ? 'readers'
        : listAskers(deciders, listServices(relay, record), relay.config.signIn !== undefined),
  }
}

/** The channels whose messages about this event have such buttons. */
export function listPlaces(relay: ChannelParts, record: EventRecord): string[] {
  return Object.keys(relay.config.channels).filter((name) => decidesHere(relay, record, name))
}

/** The services of these channels, by the identity that a press proves. */
function listServices(relay: ChannelParts, record: EventRecord): Record<string, string> {
  const supports = listPlaces(relay, record).flatMap((name) => readButtonSupport(relay, name) ?? [])
  return Object.fromEntries(supports.map(({ how, service }) => [how, service]))
}

async function buttonsFor(
  relay: Relay,
  record: EventRecord,
  shown: Notification['event'],
  channel: string,
  { maxValueLength }: ButtonSupport,
): Promise<Buttons | undefined> {
  const { fleet, eventId } = record
  const content = { fleet, eventId, channel, issuedAt: relay.now() }
  const token = await createToken(relay.credentials.linkKeys, content)
  const value = `${token}${separator}${makeStamp(shown)}`
  // with a longer value the service would reject the whole message
  if (value.length > maxValueLength) return undefined
  // after "not now" only an approval is left
  return { value, notNow: shown.decided?.decision !== 'declined' }
}

/** A list has no buttons that decide, and an alert must not hide in a list of maintenance. */
export function goesAlone({ buttons, delivery }: Part): boolean {
  return buttons !== undefined || !tellsOfEvent(delivery.notification)
}

/** The parts that go into the next request, of all that are due together. */
export function partsTogether(parts: Part[]): Part[] {
  const [first] = parts
  return first !== undefined && goesAlone(first)
    ? [first]
    : parts.filter((part) => !goesAlone(part))
}

/** The token and the stamp, both unchecked. Undefined if the value has another form. */
export function readValue(value: string): { token: string; stamp: string } | undefined {
  const [token = '', stamp = '', ...rest] = value.split(separator)
  if (rest.length > 0 || !/^[\w.-]+$/.test(token) || !/^\d{1,9}-[0-9a-f]{16,64}$/.test(stamp)) {
    return undefined
  }
  return { token, stamp }
}
