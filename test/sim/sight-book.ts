// The book of sights: which beacons see an event, as far as the relay was told. Time must not
// conclude anything against a beacon that is heard.
import type { EventRecord } from '../../functions/core/event/event.ts'
import { isHit } from '../../functions/core/event/facts.ts'
import { apiVersions } from '../../shared/document.ts'
import type { Answer, Report } from '../../shared/report.ts'
import type { Beacon } from './beacons.ts'
import type { Docket } from './docket.ts'
import type { FaultKind } from './faults.ts'
import type { VmImds } from './imds.ts'
import type { Process } from './kernel.ts'
import type { PlannedVm } from './plan.ts'
import type { Truth } from './platform.ts'

const second = 1_000
const minute = 60 * second
const graceMs = 5 * second
/**
 * The relay writes once per pace that a beacon was heard. The pace is at most this while an event
 * is open.
 */
const longestPaceMs = minute
const lostMs = 10 * minute
const vmGoneMs = 2 * minute
/** A VM that comes back within this time can report whether it restarted. */
const comesBackMs = 150 * second
const unseenMs = 40 * second
const newestAgainMs = 70 * second
/** Shorter bursts of 400 must not lead to another api-version. */
const shortBurstMs = 4 * second
/** Requests of one VM to IMDS in any second, including its poll. */
const maxStarts = 3

interface Arrival {
  key: string
  beacon: Beacon
  process: Process
  life: number
  sight: Sight
}

/** When a beacon that saw an event was heard, and when its document was polled. */
interface Sight {
  heardAt: number
  polledAt: number
}

export class SightBook {
  readonly #docket: Docket
  /** Reports that a relay is working on. */
  #arrivals: Arrival[] = []
  readonly #sights = new Map<string, Map<Beacon, Sight>>()
  /** By event and beacon: the first acknowledged report that lacks the event after it was shown. */
  readonly #missing = new Map<string, Map<Beacon, Sight>>()
  readonly #scheduled = new Set<string>()
  /** By VM and event: the first poll that showed it. */
  readonly #firstAt = new Map<string, number>()
  /** By event: when a hit VM was first heard after Azure had cancelled it. */
  readonly #backAt = new Map<string, Map<Beacon, number>>()
  #records: ReadonlyMap<string, EventRecord> = new Map()
  #relayDiedAt = Number.NEGATIVE_INFINITY

  constructor(docket: Docket) {
    this.#docket = docket
  }

  read(records: ReadonlyMap<string, EventRecord>): void {
    this.#records = records
  }

  crashed(process: Process): void {
    this.#relayDiedAt = this.#docket.now
    this.#arrivals = this.#arrivals.filter((one) => one.process !== process)
  }

  /** A relay begins to work on a report with these events. */
  arrived(beacon: Beacon, eventIds: string[], polledAt: number, process: Process): void {
    const sight = { heardAt: this.#docket.now, polledAt }
    for (const eventId of eventIds) {
      const key = `${beacon.vm.fleet}/${eventId}`
      this.#arrivals.push({ key, beacon, process, life: process.life, sight })
    }
    const recent = this.#docket.now - minute
    if (this.#arrivals.length > 200) {
      this.#arrivals = this.#arrivals.filter((one) => one.sight.heardAt > recent)
    }
  }

  acknowledged(beacon: Beacon, report: Report, answer: Answer): void {
    if (answer.outcome !== 'accepted') return
    const { fleet } = beacon.vm
    const polledAt = answer.time - (report.document?.ageMs ?? 0)
    const shown = report.document?.events ?? []
    for (const { eventId } of shown) {
      this.#heard(`${fleet}/${eventId}`, beacon, { heardAt: answer.time, polledAt })
      this.#missing.get(`${fleet}/${eventId}`)?.delete(beacon)
    }
    const scheduled = [...shown, ...report.changes.map(({ event }) => event)].filter(
      ({ status }) => status === 'Scheduled',
    )
    for (const { eventId } of scheduled) this.#scheduled.add(`${fleet}/${eventId}`)
    for (const [key, backAt] of this.#backAt) {
      // an old report may be answered late, when its VM is down
      const overAt = endOf(this.#docket.parts.platform().truths.get(key)) ?? 0
      if (!backAt.has(beacon) && polledAt >= overAt) backAt.set(beacon, this.#docket.now)
      if (!this.#isHit(key, beacon)) backAt.delete(beacon)
    }
    if (report.document !== null) this.#noteMissing(beacon, report.document, polledAt)
  }

  #noteMissing(beacon: Beacon, document: NonNullable<Report['document']>, polledAt: number): void {
    const { bornAt } = beacon.process
    const { events: shown } = document
    // an event that an earlier process saw may be in an unreadable entry
    const hides = 'unreadable' in document && document.unreadable !== 0
    for (const [key, sights] of this.#sights) {
      const sight = sights.get(beacon)
      if (sight === undefined || (hides && sight.polledAt < bornAt)) continue
      if (shown.some(({ eventId }) => key.endsWith(`/${eventId}`))) continue
      const missing = this.#missing.get(key) ?? new Map<Beacon, Sight>()
      this.#missing.set(key, missing)
      if (!missing.has(beacon)) missing.set(beacon, { heardAt: this.#docket.now, polledAt })
    }
  }

  committed(process: string, key: string, before: EventRecord | undefined, record: EventRecord) {
    const { fleet, phase, drill } = record
    if (drill || this.#docket.mistaken.has(fleet)) return
    const own = this.#arrivals.filter(
      (one) => one.key === key && one.process.name === process && one.life === one.process.life,
    )
    if (record.ended === undefined) {
      for (const { beacon, sight } of own) this.#heard(key, beacon, sight)
    } else if (before?.ended === undefined) this.#checkSilence(key, record)
    this.#meet(key, before, record)
    const isNew = before?.started?.kind === undefined
    if (isNew && record.started?.kind === 'none' && this.#scheduled.has(key)) {
      this.#docket.broke('alert', `${key} is told as without notice, and was announced`)
    }
    if (phase === 'scheduled') this.#scheduled.add(key)
  }

  #meet(key: string, before: EventRecord | undefined, { phase, epoch, sights }: EventRecord): void {
    const { met, parts } = this.#docket
    const truth = parts.platform().truths.get(key)
    const { overdueMs, hiddenMs, moves } = truth?.planned ?? {}
    const goesOn = truth?.steps.every(({ step }) => step === 'scheduled' || step === 'changed')
    const isMissed = sights.some((one) => one.missing !== undefined)
    if (moves && goesOn && isMissed) met.add('a VM no longer shows an event that goes on')
    if (overdueMs !== undefined && before === undefined)
      met.add('an event is first seen long after its NotBefore')
    if (hiddenMs !== undefined && epoch > 1 && phase === 'started')
      met.add('an event that seemed cancelled is back as Started')
    const shows = [...(this.#sights.get(key)?.keys() ?? [])].filter((beacon) => beacon.isLate)
    const missing = this.#missing.get(key)
    if (missing?.size && shows.some((beacon) => !missing.has(beacon)))
      met.add('a VM still shows what the others miss')
  }

  #heard(key: string, beacon: Beacon, sight: Sight): void {
    const sights = this.#sights.get(key) ?? new Map<Beacon, Sight>()
    const known = sights.get(beacon)
    const name = `${beacon.vm.name} ${key}`
    if (!this.#firstAt.has(name)) this.#firstAt.set(name, sight.polledAt)
    if (known === undefined || known.polledAt <= sight.polledAt) sights.set(beacon, sight)
    this.#sights.set(key, sights)
  }

  /** An end by silence needs long silence of every observer that sees the event. */
  #checkSilence(key: string, record: EventRecord): void {
    const { now } = this.#docket
    const { inferred } = record.ended!
    const broke = (beacon: Beacon, at: number) => {
      const text = `${inferred}, and ${beacon.vm.name}, which sees it, was heard ${now - at} ms ago`
      this.#docket.broke('silence', `${key} is told as ${record.ended!.outcome}: ${text}`)
    }
    for (const [beacon, { heardAt, polledAt }] of this.#sights.get(key) ?? []) {
      const isLost = inferred === 'nobody_left_to_see'
      if (isLost && now - polledAt < lostMs - longestPaceMs - graceMs) broke(beacon, polledAt)
      const isGone = inferred === 'vm_gone' && isHit(record.facts, beacon.vm.name)
      if (isGone && now - heardAt < vmGoneMs - longestPaceMs - graceMs) broke(beacon, heardAt)
    }
  }

  /** Azure has taken a step. */
  stepped(truth: Truth, step: string): void {
    const key = `${truth.fleet}/${truth.eventId}`
    const { met, beganAt, now, parts } = this.#docket
    const { fromMs = Number.POSITIVE_INFINITY, untilMs = 0 } = parts.plan.away ?? {}
    const isAway = now >= beganAt + fromMs && now < beganAt + untilMs
    if (step === 'started' && isAway) met.add('an event starts while no relay answers')
    if (step !== 'cancelled') return
    this.#backAt.set(key, new Map())
    if (truth.planned.updatesBeacon) met.add('a beacon is updated while Azure cancels')
  }

  /** Documents show a new event. If nothing prevents it, it is on record soon. */
  begun(truth: Truth): void {
    const { kernel, plan, beacons, platform } = this.#docket.parts
    const blind = ['imds_empty', 'imds_glitch', 'imds_fails', 'imds_lags', 'imds_refuses'] as const
    const slow = [
      'report_lost',
      'report_delayed',
      'answer_lost',
      'store_slow',
      'clock_off',
    ] as const
    if (this.#has(...blind, ...slow) || truth.planned.hiddenMs !== undefined) return
    const { now } = kernel
    const died = this.#relayDiedAt
    kernel.after(unseenMs, () => {
      const key = `${truth.fleet}/${truth.eventId}`
      const isThere = platform().find(truth.fleet, truth.eventId) !== undefined
      const away = plan.away !== undefined || this.#relayDiedAt > Math.max(died, now - minute)
      if (!isThere || away || this.#records.has(key)) return
      const vms = platform().tenantVms({
        fleet: truth.fleet,
        name: truth.planned.request.Resources![0]!,
      })
      const able = beacons().find(
        ({ vm, process }) =>
          vm.fleet === truth.fleet &&
          vms.includes(vm.name) &&
          !platform().hasMoved(vm) &&
          process.alive &&
          process.bornAt <= now,
      )
      if (able !== undefined) {
        this.#docket.broke('noticed', `${key} is shown to ${able.vm.name}, and nobody knows of it`)
      }
    })
  }

  /** A VM's IMDS answers 400 for some time. */
  refuses(imds: VmImds, process: Process, { from, until }: { from: number; until: number }): void {
    const { kernel } = this.#docket.parts
    if (this.#has('imds_fails')) return
    const expectNewest = (text: string) => {
      if (process.alive && process.bornAt < from && imds.apiVersion !== apiVersions[0])
        this.#docket.broke('api-version', `${process.name} asks for ${imds.apiVersion} ${text}`)
    }
    const after = (at: number, text: string) =>
      kernel.after(at - kernel.now, () => expectNewest(text))
    after(until + newestAgainMs, `long after ${until - from} ms of 400`)
    if (until - from < shortBurstMs) after(until + 2 * second, `after ${until - from} ms of 400`)
  }

  /** The number of start requests in the last second, including this one. */
  asksImds({ name }: PlannedVm, starts: number): void {
    if (starts > maxStarts)
      this.#docket.broke('budget', `${name} sends IMDS ${starts} starts in a second, and polls it`)
  }

  /** A cancelled event must not be completed if its hit VMs came back without a restart. */
  checkCancelled(key: string, record: EventRecord): void {
    const { ended, verdict, azure, facts, fleet } = record
    const { parts } = this.#docket
    const overAt = endOf(parts.platform().truths.get(key))
    if (ended?.outcome !== 'completed' || ended.inferred === undefined) return
    if (!this.#backAt.has(key) || overAt === undefined) return
    if (azure.accepted !== undefined || this.#docket.mistaken.has(fleet)) return
    if (verdict !== undefined && mayHaveArrived(record)) return
    const hit = parts.beacons().filter((beacon) => this.#isHit(key, beacon))
    const times = hit.map(
      (beacon) => this.#backAt.get(key)!.get(beacon) ?? Number.POSITIVE_INFINITY,
    )
    const last = Math.max(...times)
    const restarted = hit.some(({ restartedAt }) => restartedAt > overAt - 10 * minute)
    const known = last < overAt + comesBackMs && (facts.notBeforeAt ?? 0) > last + minute
    if (
      !known ||
      restarted ||
      this.#has('report_delayed', 'imds_lags', 'imds_fails', 'imds_unreadable')
    )
      return
    const text = `every hit VM was back by ${last - overAt} ms, without a restart`
    this.#docket.broke('outcome', `${key} was cancelled, and is told as completed: ${text}`)
  }

  #isHit(key: string, { vm }: Beacon): boolean {
    const record = this.#records.get(key)
    return record?.fleet === vm.fleet && isHit(record.facts, vm.name)
  }

  #has(...kinds: FaultKind[]): boolean {
    return kinds.some((kind) => this.#docket.parts.faults[kind] > 0)
  }
}

/** Whether a beacon may have told Azure, by how its directives were answered. */
function mayHaveArrived({ history }: EventRecord): boolean {
  const isRefused = (note = '') => !/unreachable|HTTP 5/.test(note)
  const directed = history.filter(({ what }) => what === 'directed')
  const refused = history.filter(({ what, note }) => what === 'start_failed' && isRefused(note))
  return directed.length !== refused.length
}

/** When it was over in Azure. */
function endOf(truth: Truth | undefined): number | undefined {
  return truth?.steps.find(({ step }) => step === 'ended' || step === 'cancelled')?.at
}
