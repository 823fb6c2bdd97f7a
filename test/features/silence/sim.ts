// Silence in the simulation: a beacon that died for good is told, in time and once, and none is told that was
// heard. Only what no event can explain counts.

import type { EventRecord } from '../../../functions/core/event/event.ts'
import type { ProblemRow } from '../../../functions/features/problems/rule.ts'
import { hits } from '../../../shared/document.ts'

import type { Book, SeenBeacon, SimFeature, Watch } from '../../sim/feature.ts'

const minute = 60_000

const leastMs = 2 * minute
/** An alert names those that will be silent within this time, too. */
const leadMs = minute
/** Within a pace, the relay need not note that a beacon was heard again. */
const unnoted = 0.8
/** A report may be taken in while the alert goes out. */
const graceMs = minute
/** An event may explain a silence for so long after its end. */
const aftermathMs = 10 * minute
/** Relays sleep so long in this world, and one message has to keep its distance from the last. */
const lateMs = 6 * minute
const quietMs = 15 * minute

export const silenceSim: SimFeature = {
  name: 'silence',
  encounters: { 'a beacon that died is told silent': [] },
  spoilt: {
    'silence not noticed': {
      shownIn: 1,
      spoil: () => (store) => ({ ...store, dueBeacons: async () => [] }),
    },
  },
  openBook: (watch) => new SilenceBook(watch),
}

class SilenceBook implements Book {
  readonly #docket: Watch
  /** Silences that were told, by beacon and the time when it was last heard. */
  readonly #told = new Set<string>()
  readonly #toldAt = new Map<string, number>()
  #restartedAt: number

  constructor(docket: Watch) {
    this.#docket = docket
    this.#restartedAt = docket.now
  }

  /** Silence counts anew from the restart of a relay. */
  restarted(): void {
    this.#restartedAt = this.#docket.now
  }

  written(partition: string, body: string, bodyBefore: string | undefined): void {
    if (partition !== 'problem') return
    const { row } = JSON.parse(body) as { row: ProblemRow }
    const before = bodyBefore === undefined ? undefined : JSON.parse(bodyBefore).row
    if (row.kind !== 'beacons_silent') return
    for (const one of row.problems) {
      const was = (before as ProblemRow | undefined)?.problems.find(({ id }) => id === one.id)
      if (one.notified && !was?.notified) this.#check(row.fleet, one.id, one.since)
    }
  }

  #check(fleet: string, id: string, since: number): void {
    const { now } = this.#docket
    this.#toldAt.set(fleet, now)
    const key = `${fleet}/${id} ${since}`
    if (this.#told.has(key)) this.#docket.broke('silence', `${key} is told twice`)
    this.#told.add(key)
    const beacon = this.#beacons().find((one) => one.vm.fleet === fleet && one.key === id)
    const acked = beacon?.acked
    if (beacon === undefined || acked === undefined || this.#docket.mistaken.has(fleet)) return
    // a relay stored a later report, and its answer with the pace was lost; or a report that was
    // delayed was answered after a later one
    const { report_delayed } = this.#docket.parts.faults
    if (since > acked.ackedAt || (since < acked.takenAt && report_delayed > 0)) return
    const ageMs = now - acked.ackedAt
    const silentMs = Math.max(3 * acked.paceMs, leastMs) - leadMs - unnoted * acked.paceMs
    if (ageMs >= graceMs && ageMs < silentMs) {
      this.#docket.broke('silence', `${key} is told, and was heard ${ageMs / 1_000} s ago`)
    }
    if (!beacon.process.alive) this.#docket.met.add('a beacon that died is told silent')
  }

  checkAll(events: EventRecord[]): void {
    for (const beacon of this.#beacons()) this.#checkDead(beacon, events)
  }

  #checkDead(beacon: SeenBeacon, events: EventRecord[]): void {
    const { now } = this.#docket
    const { vm, acked, process } = beacon
    if (process.alive || acked === undefined || this.#docket.mistaken.has(vm.fleet)) return
    const from = Math.max(acked.ackedAt, this.#restartedAt)
    const dueAt = from + Math.max(3 * acked.paceMs, leastMs) + lateMs
    // an earlier message of the fleet delays the next one
    const toldAt = this.#toldAt.get(vm.fleet) ?? Number.NEGATIVE_INFINITY
    if (now < dueAt || now < toldAt + quietMs + lateMs) return
    const explains = ({ fleet, facts, ended }: EventRecord) =>
      fleet === vm.fleet && hits(facts, vm.name) && (ended?.at ?? now) + aftermathMs + lateMs > from
    if (events.some(explains)) return
    const isTold = [...this.#told].some((key) => key.startsWith(`${vm.fleet}/${beacon.key} `))
    if (!isTold) this.#docket.broke('silence', `${vm.name} died, and nobody was told`)
  }

  #beacons(): SeenBeacon[] {
    return this.#docket.parts.beacons()
  }
}
