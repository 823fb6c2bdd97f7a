// VMs of one tenant with their beacons, as far as they reach the relay: each reports when the relay asks for it,
// and what it sees anew, at once where it is hit and else within two seconds (beacon/poll.ts).
import { idlePaceMs } from '../../../functions/core/pace.ts'
import type { ScheduledEvent } from '../../../shared/document.ts'
import type { Change, Start } from '../../../shared/report.ts'
import { createRandom, type Random } from '../../sim/random.ts'
import { FakeBeacon, prodKey } from '../../support/world.ts'
import type { Hosted } from './hosted.ts'

const pollMs = 1_000
const spreadMs = 2_000
/** From the POST to IMDS until the event shows as Started. */
const startingMs = 3_000

export class Fleet {
  readonly #hosted: Hosted
  readonly #random: Random = createRandom(1)
  readonly #vms: Vm[]
  #documents: ScheduledEvent[] = []
  /** What VMs were told to start. */
  readonly started = new Set<string>()
  onStart: (eventId: string) => void = () => {}

  constructor(hosted: Hosted, count: number) {
    this.#hosted = hosted
    this.#vms = Array.from({ length: count }, (_, i) => new Vm(this, hosted, `web_${i}`))
    // beacons were not installed at the same moment
    for (const vm of this.#vms) vm.reportIn(this.chance() * idlePaceMs)
  }

  chance(): number {
    return this.#random.next()
  }

  get events(): ScheduledEvent[] {
    return this.#documents
  }

  /** Azure's document is another one from now on: each beacon sees it with its next poll. */
  show(events: ScheduledEvent[]): void {
    this.#documents = events
    const { agenda, clock } = this.#hosted
    for (const vm of this.#vms) agenda.at(clock.now + this.chance() * pollMs, () => vm.poll())
  }

  /** A beacon carries out a directive, once. */
  start(eventId: string): boolean {
    const known = this.#documents.find((one) => one.eventId === eventId)
    if (known?.status !== 'Scheduled' || this.started.has(eventId)) return false
    this.started.add(eventId)
    this.#hosted.agenda.at(this.#hosted.clock.now + startingMs, () => this.onStart(eventId))
    return true
  }
}

class Vm {
  readonly name: string
  readonly #fleet: Fleet
  readonly #hosted: Hosted
  readonly #beacon: FakeBeacon
  #events: ScheduledEvent[] = []
  #changes: Change[] = []
  #starts: Start[] = []
  #dueAt = Number.POSITIVE_INFINITY
  #takeOff = () => {}

  constructor(fleet: Fleet, hosted: Hosted, name: string) {
    this.name = name
    this.#fleet = fleet
    this.#hosted = hosted
    const vm = { resourceGroup: 'rg-web', scaleSet: 'web', tags: { role: 'web', stage: 'prod' } }
    this.#beacon = new FakeBeacon(hosted, name, { key: prodKey, vm })
  }

  poll(): void {
    const changes = changesOf(this.#events, this.#fleet.events)
    if (changes.length === 0) return
    const hit = changes.some(({ event: { resources } }) => resources.includes(this.name))
    this.#events = this.#fleet.events
    this.#changes.push(...changes)
    this.reportIn(hit ? 0 : this.#fleet.chance() * spreadMs)
  }

  /** Unless it is to report earlier already. */
  reportIn(ms: number): void {
    const at = this.#hosted.clock.now + ms
    if (at >= this.#dueAt) return
    this.#takeOff()
    this.#dueAt = at
    this.#takeOff = this.#hosted.agenda.at(at, () => this.#report())
  }

  async #report(): Promise<void> {
    this.#dueAt = Number.POSITIVE_INFINITY
    const said = { changes: this.#changes, starts: this.#starts }
    this.#changes = []
    this.#starts = []
    const { paceMs, directives } = await this.#beacon.sees(this.#events, said)
    this.reportIn(paceMs)
    for (const { eventId } of directives) {
      if (!this.#fleet.start(eventId)) continue
      this.#starts.push({ eventId, ageMs: 0, outcome: 'accepted', status: 200 })
      this.reportIn(0)
    }
  }
}

function changesOf(before: ScheduledEvent[], after: ScheduledEvent[]): Change[] {
  const known = (list: ScheduledEvent[], id: string) => list.find((one) => one.eventId === id)
  const others = after.filter((one) => known(before, one.eventId) !== one)
  const gone = before.filter((one) => known(after, one.eventId) === undefined)
  const say = (kind: Change['kind']) => (one: ScheduledEvent) =>
    ({ kind, ageMs: 0, firstPoll: false, event: one }) as Change
  return [
    ...others.map((one) => say(known(before, one.eventId) ? 'changed' : 'appeared')(one)),
    ...gone.map(say('gone')),
  ]
}
