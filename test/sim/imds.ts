// One VM's metadata service, with its bad moments. It is asked once a second, and yet a poll that
// brings no news takes until there is some, or a world would consist of polls.
import type { Failed, Poll, Started } from '../../beacon/imds.ts'
import { createVersions, type Versions } from '../../beacon/versions.ts'
import {
  type ApiVersion,
  apiVersions,
  parseDocument,
  previewVersion,
} from '../../shared/document.ts'
import type { EventsDocument } from '../simulator/documents.ts'
import { quiet } from './around.ts'
import type { Faults } from './faults.ts'
import type { Kernel, Process } from './kernel.ts'
import { createLag, type Lag } from './lag.ts'
import type { PlannedVm } from './plan.ts'
import type { Platform } from './platform.ts'
import type { Random } from './random.ts'

const second = 1_000
/** Bad moments begin within this time of the world. */
const troubleMs = 180 * second

interface Window {
  from: number
  until: number
}

/** Windows of one kind of trouble; at most a few in a world. */
export function troubleOf(random: Random, rate: number, now: number): Window[] {
  const count = [0.05, 0.15].filter((step) => rate >= step).length + (random.chance(rate) ? 1 : 0)
  return Array.from({ length: count }, () => {
    const from = now + random.int(0, troubleMs)
    return { from, until: from + random.pick([700, 3_000, 8_000, 15_000, 40_000]) }
  })
}

/** Receives what a VM asks its metadata service, and the results. */
interface ImdsWatcher {
  met: Pick<Set<string>, 'add'>
  sights: {
    refuses(imds: VmImds, process: Process, window: Window): void
    asksImds(vm: PlannedVm, starts: number): void
  }
}

/** One VM's metadata service. A poll takes no time where something is new, else it lasts until then. */
export class VmImds {
  readonly #kernel: Kernel
  readonly #platform: Platform
  readonly #process: Process
  readonly #vm: PlannedVm
  readonly #faults: Faults
  readonly #random: Random
  readonly #empty: Window[]
  readonly #failing: Window[]
  /** Every request is answered 400. */
  readonly #refusing: Window[]
  readonly #lag: Lag | undefined
  readonly #judge: ImdsWatcher
  readonly #splits: boolean
  readonly #isPreview: boolean
  #versions: Versions | undefined
  apiVersion: ApiVersion
  /** What it answers at most. */
  readonly newest: ApiVersion
  /** The start requests, the newest last. */
  #startedAt: number[] = []
  /** When this process began to poll, so that polls stay a second apart. */
  #phase = 0
  #last: string | undefined
  #goodAt = 0
  /** No poll has worked since one failed. */
  #hasFailed = false
  /** The last poll before the news that came last. */
  previousGoodAt = 0

  constructor(parts: {
    kernel: Kernel
    platform: Platform
    process: Process
    vm: PlannedVm
    faults: Faults
    random: Random
    /** Of the whole tenant. */
    glitches: Window[]
    judge: ImdsWatcher
  }) {
    this.#judge = parts.judge
    this.#kernel = parts.kernel
    this.#platform = parts.platform
    this.#process = parts.process
    this.#vm = parts.vm
    this.#faults = parts.faults
    this.#random = parts.random
    const { now } = parts.kernel
    this.#empty = [...troubleOf(parts.random, parts.faults.imds_empty, now), ...parts.glitches]
    this.#failing = troubleOf(parts.random, parts.faults.imds_fails, now)
    for (const { from, until } of [...this.#empty, ...this.#failing]) {
      parts.kernel.after(from - now, () => parts.platform.changed())
      parts.kernel.after(until - now, () => parts.platform.changed())
    }
    const old = parts.random.chance(parts.faults.imds_old_version * 3)
    const luck = parts.random.fork('imds')
    const has = (kind: keyof Faults) => parts.faults[kind] > 0
    this.#isPreview = has('spot_advice') && !old
    this.newest = this.#isPreview ? previewVersion : apiVersions[old ? 1 : 0]
    this.apiVersion = this.newest
    this.#refusing = has('imds_refuses') && !old && luck.chance(0.5) ? [refusalOf(luck, now)] : []
    this.#splits = has('imds_unreadable')
    const lags = has('imds_lags') && this.#refusing.length === 0 && luck.chance(0.4)
    this.#lag = lags
      ? createLag(parts.kernel, parts.platform, luck, () => this.#fresh())
      : undefined
    for (const { until } of this.#refusing) {
      parts.kernel.after(until - now, () => parts.platform.wake())
      this.#judge.sights.refuses(this, this.#process, this.#refusing[0]!)
    }
  }

  /** Whether its documents are late. */
  get isLate(): boolean {
    return this.#lag !== undefined
  }

  /** The process is new: what an earlier one saw is not known to it. */
  restarted(): void {
    this.#last = undefined
    if (this.#refusing.length > 0) this.#versions = createVersions(quiet)
  }

  /** The last instant at which a poll would have got the document that the latest one got. */
  goodAt(): number {
    if (this.#hasFailed) return this.#goodAt
    const { now } = this.#kernel
    const at = this.#gridBefore(now - 1)
    return isWithin(this.#failing, at) ? this.#goodAt : Math.max(this.#goodAt, at)
  }

  async poll(): Promise<Poll> {
    this.#phase = this.#kernel.now
    for (;;) {
      const { now } = this.#kernel
      if (isWithin(this.#failing, now)) {
        this.#goodAt = this.goodAt()
        this.#hasFailed = true
        return failed
      }
      const monotonic = now - this.#process.bornAt
      const refuses = isWithin(this.#refusing, now)
      const probes = (this.#versions?.probes(monotonic) ?? []).filter(
        (one) => one !== previewVersion || this.#isPreview,
      )
      // newest first, and the first that answers is taken
      const [answered] = refuses ? [] : probes
      if (answered !== undefined) this.#versions?.restored(answered, monotonic)
      this.apiVersion = this.#versions?.current() ?? this.apiVersion
      if (refuses) return this.#refuse(monotonic)
      this.#versions?.worked(this.apiVersion, monotonic)
      const text = this.#text()
      if (text !== this.#last) {
        this.previousGoodAt = this.#last === undefined ? now : this.goodAt()
        this.#last = text
        this.#goodAt = now
        this.#hasFailed = false
        const document = parseDocument(text, this.apiVersion)
        if (typeof document === 'string') return { ...failed, status: 200, reason: document }
        return { kind: 'document', document, apiVersion: this.apiVersion }
      }
      if (this.#hasFailed) {
        this.#goodAt = now
        this.#hasFailed = false
      }
      // an older version asks for the newest again at its own times
      if (this.apiVersion === this.newest) await this.#change()
      else await this.#kernel.pause(this.#process, second)
      const next = this.#gridBefore(this.#kernel.now - 1) + second
      await this.#kernel.pause(this.#process, next - this.#kernel.now)
    }
  }

  async identify(): Promise<Failed> {
    return failed
  }

  async start(eventIds: readonly string[]): Promise<Started> {
    const { name, fleet } = this.#vm
    const throttles = this.#faults.imds_throttles > 0
    const before = this.#kernel.now - second
    this.#startedAt = [...this.#startedAt.filter((at) => at > before), this.#kernel.now]
    this.#judge.sights.asksImds(this.#vm, this.#startedAt.length)
    await this.#kernel.pause(this.#process, this.#random.int(20, throttles ? 60 : 600))
    // its polls count, too
    if (throttles) this.#judge.met.add('IMDS throttles')
    if (throttles && this.#startedAt.length > 4)
      return { outcome: 'rejected', status: 429, reason: 'too many requests' }
    const trouble = this.#random.chance(this.#faults.start_refused * 2)
    const way = this.#random.pick(['status', 'lost', 'answer'] as const)
    if (trouble && way === 'status') return { outcome: 'rejected', status: 500, reason: '' }
    if (trouble && way === 'lost') return { outcome: 'unreachable', reason: 'time-out' }
    for (const eventId of eventIds) this.#platform.onStart(fleet, name, eventId)
    const status = this.#platform.start(fleet, name, eventIds)
    await this.#kernel.pause(this.#process, this.#random.int(1, 100))
    if (trouble) return { outcome: 'unreachable', reason: 'time-out' }
    return status === 200
      ? { outcome: 'accepted', status }
      : { outcome: 'rejected', status, reason: '' }
  }

  #text(): string {
    if (!isWithin(this.#empty, this.#kernel.now)) return this.#lag?.text() ?? this.#fresh()
    return '{"DocumentIncarnation":1,"Events":[]}'
  }

  #fresh(): string {
    const document = this.#platform.shown(this.#vm, this.apiVersion)
    if (!this.#splits) return JSON.stringify(document)
    this.#judge.met.add('a document has entries that cannot be read')
    return JSON.stringify(withOddEntries(document))
  }

  #refuse(monotonic: number): Failed {
    const reason = 'IMDS answered 400'
    this.#judge.met.add('IMDS answers 400 for seconds')
    return {
      kind: 'failed',
      class: this.#versions!.refused(this.apiVersion, monotonic),
      reason,
      status: 400,
    }
  }

  async #change(): Promise<void> {
    let wake = () => {}
    await this.#kernel.park<void>(this.#process, (resume) => {
      wake = () => resume()
      this.#platform.watchers.add(wake)
    })
    this.#platform.watchers.delete(wake)
  }

  #gridBefore(at: number): number {
    return this.#phase + Math.floor((at - this.#phase) / second) * second
  }
}

const failed: Failed = {
  kind: 'failed',
  class: 'transient',
  reason: 'IMDS answered 503',
  status: 503,
}

function refusalOf(luck: Random, now: number): Window {
  const from = now + luck.int(5, 100) * second
  return { from, until: from + luck.int(3, 20) * second }
}

const oddEntries = [null, {}, { EventId: 7, EventType: 'Reboot' }, 'an event']

/** Adds unreadable entries, and shows an event that hits several VMs in two entries. */
function withOddEntries(document: EventsDocument): object {
  const events = document.Events.flatMap((event) => {
    const [first, ...others] = event.Resources
    if (others.length === 0) return [event]
    return [
      { ...event, Resources: [first] },
      { ...event, Resources: others },
    ]
  })
  return { ...document, Events: [...oddEntries, ...events] }
}

function isWithin(windows: Window[], at: number): boolean {
  return windows.some(({ from, until }) => from <= at && at < until)
}
