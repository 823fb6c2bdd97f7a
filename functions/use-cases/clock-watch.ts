// Whether the relay's own clock is wrong. A beacon says in each report what its VM's clock shows. If the
// clocks of most VMs of a fleet differ from the relay's by the same, the relay's is the wrong one. Kept in
// the process only: an owner looks while it lasts.
import type { Log } from '../../shared/log.ts'
import { span } from '../core/event/time.ts'

/** The beacons of a fleet that were heard last. */
const maxBeacons = 100
/** Fewer clocks prove nothing. */
const leastBeacons = 3
const leastDifferenceMs = 60_000
/** Reports take different times to arrive. */
const alikeMs = 30_000
/** What a clock showed longer ago says nothing about now. */
const recentMs = 15 * 60_000

interface Difference {
  /** When the relay received the report, by its own clock. */
  at: number
  /** The relay's clock minus the VM's. */
  aheadMs: number
}

export class ClockWatch {
  readonly #log: Log
  readonly #now: () => number
  readonly #fleets = new Map<string, Map<string, Difference>>()
  /** Fleets by which the relay's clock was found wrong. */
  readonly #wrongBy = new Set<string>()

  constructor(log: Log, now: () => number) {
    this.#log = log
    this.#now = now
  }

  /** `clock`: what the VM's clock shows. */
  note(fleet: string, beacon: string, clock: number): void {
    const at = this.#now()
    const aheadMs = at - clock
    const noted = this.#fleets.get(fleet) ?? new Map<string, Difference>()
    this.#fleets.set(fleet, noted)
    noted.delete(beacon)
    noted.set(beacon, { at, aheadMs })
    if (noted.size > maxBeacons) noted.delete(noted.keys().next().value!)
    const wasWrong = this.#wrongBy.has(fleet)
    // usually right, and then nothing has to be compared
    if (Math.abs(aheadMs) < leastDifferenceMs && !wasWrong) return
    const wrongMs = this.wrongMs(fleet)
    if (wrongMs !== undefined && !wasWrong) {
      this.#wrongBy.add(fleet)
      this.#log.warn('relay_clock_wrong', { fleet, aheadSeconds: Math.round(wrongMs / 1_000) })
    }
    if (wrongMs === undefined && wasWrong) {
      this.#wrongBy.delete(fleet)
      this.#log.info('relay_clock_right', { fleet })
    }
  }

  /** How far the relay's clock is ahead of most clocks of the fleet, if that is much. */
  wrongMs(fleet: string): number | undefined {
    const aheadMs = this.#agreedMs(fleet)
    const isMuch = aheadMs !== undefined && Math.abs(aheadMs) >= leastDifferenceMs
    return isMuch ? aheadMs : undefined
  }

  /** Whether the clocks of each fleet that has enough of them say that the relay's is right. */
  isRight(): boolean {
    const agreed = [...this.#fleets.keys()].flatMap((fleet) => this.#agreedMs(fleet) ?? [])
    return agreed.length > 0 && agreed.every((aheadMs) => Math.abs(aheadMs) < leastDifferenceMs)
  }

  /** The troubles for `/healthz`. */
  troubles(): string[] {
    return [...this.#fleets.keys()].flatMap((fleet) => {
      const wrongMs = this.wrongMs(fleet)
      if (wrongMs === undefined) return []
      const where = `${span(Math.abs(wrongMs))} ${wrongMs > 0 ? 'ahead of' : 'behind'}`
      return [
        `the relay's clock is ${where} the clocks of most VMs of fleet "${fleet}"; switch on the ` +
          "time synchronization of the relay's machine",
      ]
    })
  }

  /** The difference that most clocks agree on. */
  #agreedMs(fleet: string): number | undefined {
    const now = this.#now()
    const recent = [...(this.#fleets.get(fleet)?.values() ?? [])].filter(
      ({ at }) => Math.abs(now - at) <= recentMs,
    )
    const all = recent.map(({ aheadMs }) => aheadMs).sort((a, b) => a - b)
    const middle = all[Math.floor(all.length / 2)]
    if (all.length < leastBeacons || middle === undefined) return undefined
    const alike = all.filter((one) => Math.abs(one - middle) <= alikeMs)
    return alike.length * 2 > all.length ? middle : undefined
  }
}
