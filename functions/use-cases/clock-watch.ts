// Whether the relay's own clock is wrong. A beacon says in each report what its VM's clock shows. If the
// clocks of most beacons differ from the relay's by the same, the relay's is the wrong one. Kept in the
// process only: an owner looks while it lasts.
import type { Log } from '../../shared/log.ts'
import { span } from '../core/event/time.ts'

/** The beacons that were heard last. */
const maxBeacons = 100
/** Fewer clocks prove nothing. */
const leastBeacons = 3
const leastDifferenceMs = 60_000
/** Reports take different times to arrive. */
const alikeMs = 30_000

export class ClockWatch {
  readonly #log: Log
  readonly #aheadMs = new Map<string, number>()
  #isWrong = false

  constructor(log: Log) {
    this.#log = log
  }

  /** `aheadMs`: the relay's clock minus the VM's. */
  note(beacon: string, aheadMs: number): void {
    this.#aheadMs.delete(beacon)
    this.#aheadMs.set(beacon, aheadMs)
    if (this.#aheadMs.size > maxBeacons) this.#aheadMs.delete(this.#aheadMs.keys().next().value!)
    // usually right, and then nothing has to be compared
    if (Math.abs(aheadMs) < leastDifferenceMs && !this.#isWrong) return
    const wrongMs = this.wrongMs()
    if (wrongMs !== undefined && !this.#isWrong) {
      this.#log.warn('relay_clock_wrong', { aheadSeconds: Math.round(wrongMs / 1_000) })
    }
    if (wrongMs === undefined && this.#isWrong) this.#log.info('relay_clock_right')
    this.#isWrong = wrongMs !== undefined
  }

  /** How far the relay's clock is ahead of most beacons' clocks. Undefined if they do not agree so. */
  wrongMs(): number | undefined {
    const all = [...this.#aheadMs.values()].sort((a, b) => a - b)
    const middle = all[Math.floor(all.length / 2)] ?? 0
    const alike = all.filter((one) => Math.abs(one - middle) <= alikeMs)
    const isAgreed = all.length >= leastBeacons && alike.length * 2 > all.length
    return isAgreed && Math.abs(middle) >= leastDifferenceMs ? middle : undefined
  }

  /** For `/healthz`. */
  troubles(): string[] {
    const wrongMs = this.wrongMs()
    if (wrongMs === undefined) return []
    const where = wrongMs > 0 ? 'ahead of' : 'behind'
    return [
      `the relay's clock is ${span(Math.abs(wrongMs))} ${where} the clocks of most VMs; switch on the ` +
        'time synchronization of its machine',
    ]
  }
}
