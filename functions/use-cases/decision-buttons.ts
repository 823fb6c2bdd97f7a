// Buttons that decide in a message: whether an event has them in a channel now, and what they carry.
// The surprise: a value is worth no more than a link. The proof of a press says who pressed.

import type { Telling } from '../core/delivery/delivery.ts'
import { stampOf } from '../core/event/approval.ts'
import { knownOf } from '../core/event/drill.ts'
import type { EventRecord, Observer } from '../core/event/event.ts'
import { type Askers, askersOf } from '../core/message/message.ts'
import { decidersOf, decidesInMessage } from '../core/rules/permission.ts'
import { createToken } from '../links/link.ts'
import type { ButtonSupport, Buttons, Part } from '../notify/notifier.ts'
import { channelNamed, notifierOf, type Relay } from './relay.ts'

/** In neither a token, which is base64url and dots, nor a stamp. */
const separator = ':'

type Knowing = Pick<Relay, 'config' | 'notifiers'>

/** Undefined where the messages of this channel cannot have such buttons. */
export function buttonSupportOf(relay: Knowing, channel: string): ButtonSupport | undefined {
  const configured = channelNamed(relay, channel)
  return configured && notifierOf(relay, configured).buttons
}

/** Whether any message in this channel may have such buttons, so that there is something to look up. */
function mayDecideIn(relay: Knowing, channel: string): boolean {
  const support = buttonSupportOf(relay, channel)
  return (
    support !== undefined &&
    relay.config.routes.some(
      ({ approveIn, channels }) => approveIn === support.how && channels.includes(channel),
    )
  )
}

/** Whether this event is decided in this channel, as the configuration says now. */
export function decidesHere(
  relay: Knowing,
  record: EventRecord,
  observers: Observer[],
  channel: string,
): boolean {
  const support = buttonSupportOf(relay, channel)
  if (support === undefined) return false
  const { routes } = relay.config
  const known = knownOf(record, observers)
  return decidesInMessage(routes, record, known, { channel, how: support.how })
}

/** How a message that asks is answered: by its own buttons, by its link, or by others elsewhere. */
interface Ways {
  buttons?: Buttons
  askers: Askers
}

/** For a message that shows the event as it was in `shown`: that is what somebody agrees to. */
export async function waysToDecide(
  relay: Relay,
  record: EventRecord,
  shown: Telling['event'],
  channel: string,
): Promise<Ways> {
  const { routes } = relay.config
  const isListed = routes.some(({ approvers }) => approvers !== undefined)
  if (!isListed && !mayDecideIn(relay, channel)) return { askers: 'readers' }
  const observers = await relay.store.readObservers(record)
  const buttons = decidesHere(relay, record, observers, channel)
    ? await buttonsFor(relay, record, shown, channel)
    : undefined
  if (buttons !== undefined) return { buttons, askers: 'pressers' }
  const deciders = decidersOf(routes, record, knownOf(record, observers))
  return { askers: deciders === 'anybody' ? 'readers' : askersOf(deciders, servicesOf(relay)) }
}

/** Services whose messages can have such buttons, by the proof of a press. */
function servicesOf({ notifiers }: Knowing): Record<string, string> {
  const supports = Object.values(notifiers).flatMap(({ buttons }) => buttons ?? [])
  return Object.fromEntries(supports.map(({ how, service }) => [how, service]))
}

async function buttonsFor(
  relay: Relay,
  record: EventRecord,
  shown: Telling['event'],
  channel: string,
): Promise<Buttons | undefined> {
  const { fleet, eventId } = record
  const token = await createToken(relay.linkKeys, {
    ...{ fleet, eventId, channel },
    issuedAt: relay.now(),
  })
  const value = `${token}${separator}${stampOf(shown)}`
  const maxLength = buttonSupportOf(relay, channel)?.maxValueLength ?? 0
  // a longer one would lose the whole message
  if (value.length > maxLength) return undefined
  // whoever said so before can still approve
  return { value, notNow: shown.verdict?.decision !== 'declined' }
}

/**
 * What one message tells of what came due together, and what has to wait for its own turn: a list has no
 * buttons that decide, so what has some goes by itself.
 */
export function partsForOne(parts: Part[]): { now: Part[]; apart: Part[] } {
  const [first, ...others] = parts
  if (first === undefined || first.buttons !== undefined) {
    return { now: parts.slice(0, 1), apart: others }
  }
  return {
    now: parts.filter(({ buttons }) => buttons === undefined),
    apart: parts.filter(({ buttons }) => buttons !== undefined),
  }
}

/** A token and a stamp, neither of them checked; undefined where it is not even that. */
export function readValue(value: string): { token: string; stamp: string } | undefined {
  const [token = '', stamp = '', ...rest] = value.split(separator)
  if (rest.length > 0 || !/^[\w.-]+$/.test(token) || !/^\d{1,9}-[0-9a-f]{16,64}$/.test(stamp)) {
    return undefined
  }
  return { token, stamp }
}
