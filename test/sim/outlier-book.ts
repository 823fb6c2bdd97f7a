// The book of outliers: a VM that no longer shows an event, while the VMs that it hits do. The event
// does not end because of it, and people are reminded as usual.
import { type EventRecord, isHit } from '../../functions/core/event/event.ts'
import type { Docket } from './docket.ts'

const second = 1_000
const minute = 60 * second
/** What every affected VM has shown for so long, the relay knows. */
const knownMs = minute
/** If all fall silent, the last reports may have been a minute before. */
const suddenMs = 2 * minute + 10 * second
/** After all beacons were silent, the outlier may be the first that is heard. */
const afterCutMs = minute
/** After this time, a relay that was busy has come to a reminder. */
const remindedMs = 20 * second
/** If people were asked later than this before NotBefore, they need no reminder. */
const leastNoticeMs = 2 * minute

/** With these, the relay may hear for minutes what no VM shows, or hear nothing. */
const blinding = [
  'imds_empty',
  'imds_glitch',
  'imds_fails',
  'imds_lags',
  'imds_refuses',
  'report_lost',
  'report_delayed',
  'store_slow',
  'relay_away',
] as const

export class OutlierBook {
  readonly #docket: Docket

  constructor(docket: Docket) {
    this.#docket = docket
  }

  committed(key: string, before: EventRecord | undefined, record: EventRecord): void {
    const { met, lies, mistaken, parts } = this.#docket
    const truth = parts.platform().truths.get(key)
    if (truth?.planned.moves === undefined || lies.has(key) || mistaken.has(record.fleet)) return
    const goesOn = truth.steps.every(({ step }) => step === 'scheduled' || step === 'changed')
    if (goesOn && record.gone !== undefined) met.add('a VM no longer shows an event that goes on')
    if (before === undefined || before.ended !== undefined) return
    if (record.ended !== undefined && goesOn) this.#checkEnd(key, record)
    if (record.phase === 'started' && before.phase === 'scheduled') this.#checkReminder(key, record)
  }

  #checkEnd(key: string, record: EventRecord): void {
    const { now, beganAt, parts } = this.#docket
    const { untilMs = 0 } = parts.plan.away ?? {}
    const isJustBack = now >= beganAt + untilMs && now < beganAt + untilMs + afterCutMs
    const isBlind = blinding.some((kind) => parts.faults[kind] > 0)
    if (isBlind || isJustBack || this.#isSudden(record)) return
    const hit = parts
      .beacons()
      .filter(({ vm }) => vm.fleet === record.fleet && isHit(record.facts, vm.name))
    const isShown = hit.every((beacon) => beacon.showsSince(record.eventId) < now - knownMs)
    if (hit.length === 0 || !isShown) return
    const text = `${hit.map(({ vm }) => vm.name)} show it`
    this.#docket.broke('outlier', `${key} is told as ${record.ended!.outcome}, and ${text}`)
  }

  #checkReminder(key: string, record: EventRecord): void {
    const { parts } = this.#docket
    const { plan, faults } = parts
    const { policy, verdict, facts, startedAt = 0, firstSeenAt, changedAt, reopenedAt = 0 } = record
    const { notBeforeAt = 0 } = facts
    const distances = plan.config.routes.flatMap((route) => route.remindBeforeSeconds ?? [])
    const isAsked =
      policy.decide === 'ask' && verdict === undefined && record.disputed === undefined
    const askedAt = Math.max(firstSeenAt, changedAt?.notBeforeAt ?? 0, record.lapsedAt ?? 0)
    const isLong = notBeforeAt - Math.max(askedAt, reopenedAt) >= leastNoticeMs
    const isBusy =
      faults.relay_crashes + faults.relay_stalls + faults.store_slow + faults.wake_lost > 0 ||
      (plan.away !== undefined && plan.away.isCut === undefined)
    const isDue = startedAt >= notBeforeAt && Math.max(0, ...distances) * second >= remindedMs
    if (!isAsked || !isLong || isBusy || !isDue || facts.notBeforeAt === undefined) return
    // people wait until it is clear whether the event is over
    if (record.remindedBeforeSeconds?.length || this.#isSudden(record)) return
    this.#docket.broke('outlier', `${key} has started, and nobody was reminded`)
  }

  /** A VM that missed it just before all fell silent cannot be told from one that saw its end. */
  #isSudden({ gone }: EventRecord): boolean {
    const { beganAt, parts } = this.#docket
    const { fromMs = 0, untilMs = 0 } = parts.plan.away ?? {}
    return untilMs > 0 && (gone?.firstAt ?? 0) > beganAt + fromMs - suddenMs
  }
}
