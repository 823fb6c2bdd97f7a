// What must hold once nothing is owed and nothing is open: every message has its end, every event is
// closed, no incident is left, and the record agrees with what happened where that can be known.
import { type Delivery, endsAlert, isAlertAbout } from '../../functions/core/delivery/delivery.ts'
import type { EventRecord } from '../../functions/core/event/event.ts'
import type { Store } from '../../functions/store/store.ts'
import { isAdvice } from '../../shared/document.ts'
import type { Judge } from './judge.ts'
import { isMachine } from './machine.ts'

const ends = ['completed', 'cancelled', 'lost']
const finished = ['delivered', 'refused', 'superseded', 'given_up']
const maxEvents = 1_000

export async function checkEnd(judge: Judge, store: Store): Promise<void> {
  for (const record of await store.listEvents({ limit: maxEvents })) {
    checkRecord(judge, record)
    const rows = await store.readDeliveries(record)
    checkElsewhere(judge, rows)
    checkHearers(judge, rows)
    for (const book of judge.books.values()) book.checkEnd?.(record, rows)
    judge.shipping.checkEnd(record, rows)
    for (const row of rows) {
      judge.stats.deliveries += 1
      if (!finished.includes(row.state)) judge.broke('ending', `${row.id} is ${row.state} for ever`)
      const leaked = judge.parts.secrets.find((secret) => row.note.includes(secret))
      if (leaked !== undefined) judge.broke('secrets', `the note of ${row.id} holds one`)
    }
    await checkIncidents(judge, store, record)
  }
  await checkAlerts(judge, store)
  await judge.moments.checkEnd(store)
  await judge.subscriptions.checkEnd(store)
  const records = [...judge.events.records.values()]
  for (const book of judge.books.values()) book.checkAll?.(records)
  judge.marks.checkEnd((channel) => fallbackOf(judge, channel) !== undefined)
}

/** What a channel was not told, or not for long, its fallback is: the message itself, or that it is missed. */
function checkElsewhere(judge: Judge, rows: Delivery[]): void {
  const { faults } = judge.parts
  const isCalm =
    faults.relay_crashes + faults.relay_away + faults.relay_stalls + faults.store_slow === 0
  for (const row of rows) {
    const { notification, state } = row
    const fallback = fallbackOf(judge, row.channel)
    const waited = isCalm && judge.messages.waitedLong.has(row.id)
    const failed = state === 'refused' || state === 'given_up' || waited
    if (waited && fallback !== undefined) judge.met.add('a channel that is away is stood in for')
    if (!failed || fallback === undefined || notification.moment === 'alert') continue
    // advice calls nobody
    if (fallback === 'pager' && isAdvice(notification.event.facts)) continue
    const told = rows.some(
      ({ id, channel, notification: other }) =>
        channel === fallback &&
        (id.startsWith(`${row.id}/notice/`) ||
          (other.moment === notification.moment && other.event.epoch === notification.event.epoch)),
    )
    if (!told) judge.broke('trouble', `${row.id} is ${state}, and "${fallback}" is not told`)
  }
}

/** If a route brought the beginning of an event to a channel, it also brings the end. */
function checkHearers(judge: Judge, rows: Delivery[]): void {
  const isEnd = ({ notification }: Delivery) => ends.includes(notification.moment)
  const asked = rows.filter(
    ({ channel, notification }) =>
      ['scheduled', 'started'].includes(notification.moment) &&
      !('insteadOf' in notification) &&
      judge.parts.plan.config.channels[channel] !== undefined &&
      // for people, it ends silently
      (isMachine(channel) || !isAdvice(notification.event.facts)),
  )
  for (const one of asked) {
    const end = rows.filter((row) => row.notification.event.epoch === one.notification.event.epoch)
    const isDue = end.some(isEnd)
    const isNotified = end.some((row) => row.channel === one.channel && isEnd(row))
    if (isDue && !isNotified) judge.broke('ending', `no end was planned after ${one.id}`)
  }
}

function fallbackOf({ parts }: Judge, channel: string): string | undefined {
  return parts.plan.config.channels[channel]?.fallback
}

/** Beacons poll this often. */
const pollMs = 1_000
const leastMoveMs = 60_000

function checkRecord(judge: Judge, record: EventRecord): void {
  const key = `${record.fleet}/${record.eventId}`
  const { ended } = record
  if (record.drill) {
    checkDrill(judge, record)
    return
  }
  const truth = judge.parts.platform().truths.get(key)
  if (ended === undefined) judge.broke('ending', `${key} is open for ever`)
  if (judge.invented.has(key) || judge.mistaken.has(record.fleet)) return
  if (truth === undefined) judge.broke('life', `${key} never was`)
  // a lie about how it ended, less than a minute before
  if (ended === undefined || truth === undefined || judge.outsideLies.has(key)) return
  if (isAdvice(record.facts)) {
    checkAdvice(judge, record)
    return
  }
  const happened = (step: string) => truth.steps.some((one) => one.step === step)
  if (happened('cancelled') && ended.outcome === 'completed' && ended.inferred === undefined) {
    judge.broke('outcome', `${key} was cancelled, and is told as seen to complete`)
  }
  if (ended.outcome === 'cancelled' && judge.events.seenStarted.has(`${key} ${record.epoch}`)) {
    judge.broke('outcome', `${key} was seen started, and is told as cancelled`)
  }
  const isSeen = kindlyAsked(judge) && truth.planned.approvedElsewhereAfterMs === undefined
  // all beacons may have been down for another event, as their VMs were
  const overAt = truth.steps.find((one) => one.step === 'ended')?.at ?? 0
  const isBlind = judge.parts
    .beacons()
    .filter(({ vm, process }) => vm.fleet === record.fleet && process.alive)
    .every(({ process }) => process.bornAt > overAt)
  // by law 3, a NotBefore that came earlier by less than a minute has not moved
  const startedAt = truth.steps.find((one) => one.step === 'started')?.at ?? 0
  const earlierMs = (record.facts.notBeforeAt ?? startedAt) - startedAt
  const isEarlier = earlierMs > 0 && earlierMs < leastMoveMs
  // no poll fell into it, and the VM that asked Azure went down before it could say so
  const isTooShort = overAt - startedAt < pollMs && record.azure.accepted === undefined
  const knowable = isSeen && !isBlind && !isTooShort
  if (knowable && !isEarlier && happened('ended') && ended.outcome === 'cancelled') {
    judge.broke('outcome', `${key} took place, and is told as cancelled`)
  }
  if (
    knowable &&
    happened('cancelled') &&
    ended.outcome !== 'cancelled' &&
    !mayHavePassed(record)
  ) {
    judge.broke('outcome', `${key} was cancelled, and is told as ${ended.outcome}`)
  }
}

/** It does not take place. Its VM may be gone before it ends, and Azure may say that it is completed. */
function checkAdvice(judge: Judge, { fleet, eventId, ended, decided, azure }: EventRecord): void {
  const key = `${fleet}/${eventId}`
  const isTold = judge.parts.faults.azure_publishes > 0
  if (ended?.outcome === 'completed' && !isTold)
    judge.broke('advice', `${key} ended as ${ended?.outcome}`)
  if (decided !== undefined) judge.broke('advice', `${key} was decided`)
  if (azure.directive !== undefined) judge.broke('advice', `${key} was given to a beacon`)
}

/** Time alone moves it, so that no fault of this world keeps it from its end, or tells another. */
function checkDrill(judge: Judge, record: EventRecord): void {
  const key = `${record.fleet}/${record.eventId}`
  const { ended, azure } = record
  if (ended?.outcome !== 'completed' || ended.inferred !== undefined) {
    judge.broke('drills', `${key} ended as ${ended?.outcome} (${ended?.inferred})`)
  }
  if (Object.keys(azure).length > 0) {
    judge.broke('drills', `${key} was given to a beacon`)
  }
  const plan = judge.parts.plan.drills.find(({ id }) => record.eventId.endsWith(id))
  if (plan === undefined) judge.broke('drills', `${key} was asked for by nobody`)
}

/** Without these faults, the end of an event can be told from what beacons see. */
function kindlyAsked(judge: Judge): boolean {
  const { faults } = judge.parts
  const blinding = [
    'beacon_dies',
    'vm_reboots',
    'beacon_updates',
    'event_blinks',
    'vm_lies',
    'vm_moves',
    'imds_empty',
    'imds_glitch',
    'imds_fails',
    'imds_lags',
    'imds_refuses',
  ] as const
  const late = [
    'report_lost',
    'report_delayed',
    'answer_lost',
    'relay_crashes',
    'relay_away',
  ] as const
  // in a wave, one event takes down the VMs that would have seen another
  const isWave = judge.parts.plan.events.length > 4
  return (
    !isWave &&
    faults.imds_throttles === 0 &&
    [...blinding, ...late].every((kind) => faults[kind] === 0)
  )
}

/** An end at or after NotBefore, or after we asked for the start, may well have been a short one. */
function mayHavePassed({ facts, ended, azure }: EventRecord): boolean {
  const asked = azure.directive !== undefined || azure.accepted !== undefined
  return (
    asked ||
    ended!.inferred === 'start_not_seen_vm_rebooted' ||
    ended!.inferred === 'start_not_seen_approved' ||
    (facts.notBeforeAt ?? 0) <= ended!.at
  )
}

async function checkIncidents(judge: Judge, store: Store, record: EventRecord): Promise<void> {
  const rows = await store.readDeliveries(record)
  for (const [key, incident] of judge.messages.incidents) {
    const { row, open } = incident
    const own = row.fleet === record.fleet && row.eventId === record.eventId
    if (!own || !open || row.notification.moment === 'alert') continue
    const given = rows.some(
      (one) =>
        one.channel === row.channel &&
        one.notification.event.epoch === row.notification.event.epoch &&
        ends.includes(one.notification.moment) &&
        ['refused', 'given_up'].includes(one.state),
    )
    if (!given) judge.broke('incidents', `${key} stays open`)
  }
}

/** Owners are notified of an alert and of its end, and the end leaves no incident. */
async function checkAlerts(judge: Judge, store: Store): Promise<void> {
  const alerts = [...judge.messages.rows.values()].filter(({ notification }) =>
    isAlertAbout(notification),
  )
  const keys = new Map(
    alerts.map(({ fleet, eventId }) => [`${fleet}/${eventId}`, { fleet, eventId }]),
  )
  for (const { fleet, eventId } of keys.values()) {
    const rows = await store.readDeliveries({ fleet, eventId })
    for (const { id, state } of rows) {
      judge.stats.deliveries += 1
      if (!finished.includes(state)) judge.broke('ending', `${id} is ${state} for ever`)
    }
    for (const [key, { row, open }] of judge.messages.incidents) {
      const isOwn = row.fleet === fleet && row.eventId === eventId && isAlertAbout(row.notification)
      const over = rows.find((one) => isOver(one, row))
      if (isOwn && open && over !== undefined)
        judge.broke('incidents', `${key} stays open after ${over.id}`)
    }
  }
}

/** Whether one message was to say on the channel of the other that its alert is over. */
function isOver({ channel, state, notification }: Delivery, other: Delivery): boolean {
  const isSame =
    channel === other.channel && notification.event.epoch === other.notification.event.epoch
  const isFailed = state === 'refused' || state === 'given_up'
  return isSame && !isFailed && endsAlert(notification)
}
