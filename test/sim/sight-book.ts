// The book of sights: what beacons see is soon on record, and what they ask of IMDS keeps within bounds.
import type { EventRecord } from '../../functions/core/event/event.ts'
import { adviceType } from '../../shared/document.ts'
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
const unseenMs = 40 * second
const newestAgainMs = 70 * second
/** Shorter bursts of 400 must not lead to another api-version. */
const shortBurstMs = 4 * second
/** Requests of one VM to IMDS in any second, including its poll. */
const maxStarts = 3

export class SightBook {
  readonly #docket: Docket
  /** Events that an acknowledged report, or the record, showed as Scheduled. */
  readonly #scheduled = new Set<string>()
  #records: ReadonlyMap<string, EventRecord> = new Map()
  #relayDiedAt = Number.NEGATIVE_INFINITY

  constructor(docket: Docket) {
    this.#docket = docket
  }

  read(records: ReadonlyMap<string, EventRecord>): void {
    this.#records = records
  }

  crashed(): void {
    this.#relayDiedAt = this.#docket.now
  }

  acknowledged(beacon: Beacon, report: Report, answer: Answer): void {
    if (answer.outcome !== 'accepted') return
    const shown = [...(report.document?.events ?? []), ...report.changes.map(({ event }) => event)]
    for (const { eventId, status } of shown) {
      if (status === 'Scheduled') this.#scheduled.add(`${beacon.vm.fleet}/${eventId}`)
    }
  }

  committed(key: string, before: EventRecord | undefined, record: EventRecord): void {
    const { fleet, phase, drill } = record
    if (drill || this.#docket.mistaken.has(fleet)) return
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
    const late = parts.beacons().filter(({ isLate }) => isLate)
    const isLate = (id: string) => late.some(({ key }) => key === id)
    if (isMissed && sights.some(({ beacon, missing }) => missing === undefined && isLate(beacon)))
      met.add('a VM still shows what the others miss')
  }

  /** Azure has taken a step. */
  stepped(truth: Truth, step: string): void {
    const { met, beganAt, now, parts } = this.#docket
    const { fromMs = Number.POSITIVE_INFINITY, untilMs = 0 } = parts.plan.away ?? {}
    const isAway = now >= beganAt + fromMs && now < beganAt + untilMs
    if (step === 'started' && isAway) met.add('an event starts while no relay answers')
    if (step !== 'cancelled') return
    if (truth.planned.updatesBeacon) met.add('a beacon is updated while Azure cancels')
  }

  /** SmallRows show a new event. If nothing prevents it, it is on record soon. */
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
    // older versions do not show advice
    const isAdvised = truth.planned.request.EventType === adviceType
    if (isAdvised && this.#has('imds_old_version')) return
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
      if (process.alive && process.bornAt < from && imds.apiVersion !== imds.newest)
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

  #has(...kinds: FaultKind[]): boolean {
    return kinds.some((kind) => this.#docket.parts.faults[kind] > 0)
  }
}
