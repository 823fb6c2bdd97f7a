// Buttons that decide in a message of Slack: whether an event has them in a channel now, and what they carry. The
// surprise: holding a value is worth no more than a link; it is Slack's signature that says who pressed.
import { knownOf } from './approve.ts'
import { stampOf } from './core/approval.ts'
import type { Telling } from './core/delivery.ts'
import type { EventRecord, Observer } from './core/event.ts'
import { confirmOf } from './core/message.ts'
import { decidesInSlack } from './core/permission.ts'
import { createToken } from './link.ts'
import type { Buttons } from './notify/notifier.ts'
import { channelNamed, type Relay } from './relay.ts'

/** What Slack takes; a longer one would lose the whole message. */
const maxValueLength = 2_000
/** In neither a token, which is base64url and dots, nor a stamp. */
const separator = ':'

/** Whether any message in this channel may have such buttons, so that there is something to look up. */
function mayDecideIn(relay: Pick<Relay, 'config'>, channel: string): boolean {
  const { config } = relay
  const kind = channelNamed(relay, channel)?.kind
  return (
    config.slackApp !== undefined &&
    (kind === 'slack' || kind === 'slack_bot') &&
    config.routes.some((route) => route.approveIn === 'slack' && route.channels.includes(channel))
  )
}

/** Whether this event is decided in this channel, as the configuration says now. */
export function decidesHere(
  relay: Pick<Relay, 'config'>,
  record: EventRecord,
  observers: Observer[],
  channel: string,
): boolean {
  const { routes } = relay.config
  return (
    mayDecideIn(relay, channel) &&
    decidesInSlack(routes, record, knownOf(record, observers), channel)
  )
}

/** For a message that shows the event as it was in `shown`: that is what somebody agrees to. */
export async function buttonsFor(
  relay: Relay,
  record: EventRecord,
  shown: Telling['event'],
  channel: string,
): Promise<Buttons | undefined> {
  if (!mayDecideIn(relay, channel)) return undefined
  const observers = await relay.store.readObservers(record)
  if (!decidesHere(relay, record, observers, channel)) return undefined
  const { fleet, eventId } = record
  const token = await createToken(relay.linkKeys, {
    ...{ fleet, eventId, channel },
    issuedAt: relay.now(),
  })
  const value = `${token}${separator}${stampOf(shown)}`
  if (value.length > maxValueLength) return undefined
  return {
    value,
    confirm: confirmOf(shown),
    // whoever said so before can still approve
    notNow: shown.verdict?.decision !== 'declined',
  }
}

/** A token and a stamp, neither of them checked; undefined where it is not even that. */
export function readValue(value: string): { token: string; stamp: string } | undefined {
  const [token = '', stamp = '', ...rest] = value.split(separator)
  if (rest.length > 0 || !/^[\w.-]+$/.test(token) || !/^\d{1,9}-[0-9a-f]{16}$/.test(stamp)) {
    return undefined
  }
  return { token, stamp }
}
