// Alerts: messages about Foghorn itself, for the owners of a fleet or of the whole configuration.
// Each fleet and kind has one row, stored like an event. Its epoch counts the episodes. To add a
// kind, add an entry to `alertKinds` in alert-row.ts and one to message/alert.ts.
import { alertPrefix } from '../../../shared/report.ts'
import type { Alert } from '../event/alert-row.ts'
import { type EventRecord, type OpenRecord, withEnd } from '../event/event.ts'
import { type EventView, viewOf } from '../event/view.ts'
import {
  alertDeliveryId,
  type Delivery,
  type FleetAlert,
  isAlertOf,
  noFleet,
  urgentMs,
} from './delivery.ts'
import { mayHaveArrived } from './overtake.ts'
import { maxSubscriptions } from './subscription.ts'

/** Occurrences within this time go into one message. */
export const collectMs = 60_000
/**
 * An episode ends when its cause did not occur for this long. Each sends one message, and kinds in
 * `saysOver` another one at its end. Alerts that last end otherwise (lasting-alert.ts), and send no
 * more than one in this time.
 */
export const quietMs = 15 * 60_000
/** How often the row is written while the cause lasts. */
const noteEveryMs = 60_000
/** Each subscription is disabled once, so none is left out. */
const maxNames = { over_limits: 10, subscription_disabled: maxSubscriptions }
const maxReasons = 5
const seqPerEpisode = 64

export interface Occurrence {
  kind: keyof typeof maxNames
  vm: string
  reason: string
}

export function alertId(kind: Alert['kind']): string {
  return `${alertPrefix}${kind}`
}

/** The row with this occurrence, or undefined if nothing needs to be written. */
export function withOccurrence(
  before: EventRecord | undefined,
  fleet: string,
  { kind, vm, reason }: Occurrence,
  now: number,
): EventRecord | undefined {
  const known = before?.alert
  const isOver =
    before === undefined ||
    known === undefined ||
    (before.ended !== undefined && now - known.lastAt >= quietMs)
  if (isOver || isMissed(before, kind, vm)) {
    const alert = { kind, since: now, lastAt: now, vms: [vm], reasons: [reason] }
    const dueAt = Math.max(now + collectMs, isOver ? 0 : (before.ended?.at ?? 0) + quietMs)
    return { ...alertRow(fleet, alert, before, now), dueAt }
  }
  const collects = before.ended === undefined && known.sentAt === undefined
  const vms = collects ? joined(known.vms, vm, maxNames[kind]) : known.vms
  const reasons = collects ? joined(known.reasons, reason, maxReasons) : known.reasons
  const isNews = vms !== known.vms || reasons !== known.reasons
  if (!isNews && now - known.lastAt < noteEveryMs) return undefined
  return { ...before, alert: { ...known, vms, reasons, lastAt: now } }
}

/** The message of this episode was sent without it, and it is news of its own. */
function isMissed({ ended, alert }: EventRecord, kind: Alert['kind'], vm: string): boolean {
  return kind === 'subscription_disabled' && ended !== undefined && !alert?.vms.includes(vm)
}

function joined(known: string[], one: string, most: number): string[] {
  return known.includes(one) || known.length >= most ? known : [...known, one]
}

/** A new row, or one for the next episode. */
export function alertRow(
  fleet: string,
  alert: Alert,
  before: EventRecord | undefined,
  now: number,
): OpenRecord {
  return {
    fleet,
    eventId: alertId(alert.kind),
    epoch: (before?.epoch ?? 0) + 1,
    phase: 'scheduled',
    facts: { eventType: 'Alert', resources: [] },
    firstSeenAt: before?.firstSeenAt ?? now,
    policy: { decide: 'notify', rule: 'alert' },
    sights: [],
    azure: {},
    wait: {},
    reminders: { passed: [] },
    history: [],
    sequence: before?.sequence ?? 0,
    alert,
  }
}

interface PlannedAlert {
  record: EventRecord
  deliveries: Delivery[]
}

/** The channels that an alert goes to. */
export interface AlertAudience {
  owners: string[]
  /** Channels that an earlier message of this episode may have reached, such as a fallback. */
  heard: string[]
}

/** `existing`: all deliveries of the row. */
export function alertAudience(
  owners: string[],
  { epoch }: Pick<EventRecord, 'epoch'>,
  existing: Delivery[],
): AlertAudience {
  const heard = existing.filter(
    (one) =>
      isAlertOf(one.telling) &&
      one.telling.event.epoch === epoch &&
      (one.state === 'pending' || mayHaveArrived(one)),
  )
  return { owners, heard: heard.map(({ channel }) => channel) }
}

/** The channels of a message that something is over. */
export function audienceOfOver({ owners, heard }: AlertAudience): string[] {
  return [...new Set([...owners, ...heard])]
}

type AlertRecord = EventRecord & { alert: Alert }

/** Kinds whose owners also learn when the cause did not occur for `quietMs`. */
const saysOver: Alert['kind'][] = ['over_limits']

/** Plans one message for each owner. Ends the row, unless the end of the trouble is news, too. */
export function planAlert(before: AlertRecord, audience: AlertAudience, now: number): PlannedAlert {
  const { alert, epoch } = before
  if (alert.sentAt !== undefined) return planOver(before, alert.sentAt, audience, now)
  const sequence = before.sequence + 1
  const about = { alert: alert.kind, episode: epoch }
  const record = saysOver.includes(alert.kind)
    ? waitingFor({ ...before, sequence, alert: { ...alert, sentAt: now } }, now + quietMs)
    : { ...withEnd(before, { at: now, outcome: 'completed' }), sequence }
  return { record, deliveries: alertsTo(audience.owners, viewOf(record), about, now) }
}

function waitingFor(record: AlertRecord, dueAt: number): EventRecord {
  return { ...record, dueAt } as EventRecord
}

function planOver(
  before: AlertRecord,
  since: number,
  audience: AlertAudience,
  now: number,
): PlannedAlert {
  const { alert, epoch } = before
  // a time in the future is from before the clock was set back
  const quietAt = Math.min(alert.lastAt, now) + quietMs
  if (quietAt > now) return { record: waitingFor(before, quietAt), deliveries: [] }
  const ended = withEnd(before, { at: now, outcome: 'completed' })
  const record = { ...ended, sequence: before.sequence + 1 }
  const news = { form: 'over' as const, count: alert.vms.length, since, remaining: 0, left: [] }
  const view = { ...viewOf(record), alert: { ...alert, news } }
  const about = { alert: alert.kind, episode: epoch, message: 2 }
  return { record, deliveries: alertsTo(audienceOfOver(audience), view, about, now) }
}

/** A channel gets no more than one test in this time. */
export const testEveryMs = 10_000

/** The row of a channel's tests of one day. The relay forgets it as it forgets events. */
export function testRowId(channel: string, now: number): string {
  const day = new Date(now).toISOString().slice(0, 10)
  return `${alertId('channel_test')}-${day}-${channel}`
}

/** A message that an owner sends to try a channel. Undefined: another one was sent a moment ago. */
export function planChannelTest(
  before: EventRecord | undefined,
  channel: string,
  by: string,
  now: number,
): { record: EventRecord; deliveries: Delivery[] } | undefined {
  const sinceLastMs = now - (before?.alert?.since ?? Number.NEGATIVE_INFINITY)
  // a time in the future is from before the clock was set back
  if (sinceLastMs >= 0 && sinceLastMs < testEveryMs) return undefined
  const alert: Alert = {
    kind: 'channel_test',
    since: now,
    lastAt: now,
    vms: [channel],
    reasons: [by],
  }
  const row = { ...alertRow(noFleet, alert, before, now), alert }
  const audience = { owners: [channel], heard: [] }
  return planAlert({ ...row, eventId: testRowId(channel, now) }, audience, now)
}

/** Of one commit, so that it stays small. It is more than a commit usually adds. */
const maxForgotten = 20

/**
 * Messages of earlier episodes that were planned before a time. If the cause recurs, the row itself
 * never grows old, so the commit of a new message removes the old ones.
 */
export function pastMessages(
  { epoch }: Pick<EventRecord, 'epoch'>,
  existing: Delivery[],
  before: number,
): string[] {
  const past = existing.filter(
    (one) => one.telling.event.epoch < epoch && one.state !== 'pending' && one.plannedAt < before,
  )
  return past.slice(0, maxForgotten).map(({ id }) => id)
}

/** One message for each owner. */
export function alertsTo(
  owners: string[],
  event: EventView,
  about: FleetAlert,
  now: number,
): Delivery[] {
  const { fleet, eventId, sequence } = event
  return owners.map((channel, i) => ({
    id: alertDeliveryId(event, about, channel),
    fleet,
    eventId,
    channel,
    seq: sequence * seqPerEpisode + i,
    plannedAt: now,
    urgentUntil: now + urgentMs,
    nextAt: now,
    telling: { moment: 'alert', at: now, event, about },
    state: 'pending',
    attempts: 0,
    note: '',
  }))
}
