// A VM with its beacon: the real loops that poll, report and start, on the world's clock. What they reach
// is simulated: the metadata service, the spool's disk (memory that outlives the process), the network.
import type { Clock } from '../../beacon/clock.ts'
import type { Poll } from '../../beacon/imds.ts'
import { createRateLimit } from '../../beacon/imds-request.ts'
import { pollLoop } from '../../beacon/poll.ts'
import type { Relay } from '../../beacon/relay-client.ts'
import { reportLoop } from '../../beacon/reporter.ts'
import type { Item, Pending, Spool } from '../../beacon/spool.ts'
import { createStarter } from '../../beacon/starter.ts'
import type { Parts, State } from '../../beacon/state.ts'
import { createWakeTimer } from '../../beacon/wake-timer.ts'
import { nearPaceMs, openPaceMs } from '../../functions/core/event/pace.ts'
import type { KnownVm } from '../../functions/core/event/sight.ts'
import type { ScheduledEvent } from '../../shared/document.ts'
import { type Answer, type Report, vmSchema } from '../../shared/report.ts'
import { quiet } from './around.ts'
import type { Hooks } from './hooks.ts'
import type { VmImds } from './imds.ts'
import { type Kernel, Process } from './kernel.ts'
import type { PlannedVm } from './plan.ts'
import type { Random } from './random.ts'

/** What the relay has acknowledged to this VM last. */
interface Acked {
  /** Poll time of the document, as the relay counts. */
  at: number
  /** The relay's time in the answer. */
  takenAt: number
  /** When the relay had taken it in. */
  ackedAt: number
  /** By which silence is judged. One wait for a heartbeat may be shorter. */
  paceMs: number
  values: Map<string, ScheduledEvent>
}

export class Beacon {
  readonly vm: PlannedVm
  readonly process: Process
  state: State | undefined
  /** What this VM's clock is off by. */
  offsetMs = 0
  bootedAt: number
  acked: Acked | undefined
  /** Whether its documents are late. */
  isLate = false
  /** Undefined if its VM has no runner of hooks. */
  hooks: Hooks | undefined
  /** Whether an event took the whole VM. */
  wentDown = false
  /** The beacon has checked a directive against its document, and is about to send it to Azure. */
  onAsked: (eventId: string) => void = () => {}
  readonly #shownSince = new Map<string, number>()
  /** Source and duration of events, as this process last saw them. */
  readonly #lastSaid = new Map<string, Pick<ScheduledEvent, 'source' | 'durationSeconds'>>()
  /** A poll shows an event for the first time. */
  onAppeared: (eventId: string) => void = () => {}
  readonly #kernel: Kernel
  readonly #random: Random
  readonly #idlePaceMs: number
  readonly #spool: MemorySpool
  #boots = 0

  constructor(kernel: Kernel, vm: PlannedVm, random: Random, idlePaceMs: number) {
    this.vm = vm
    this.#idlePaceMs = idlePaceMs
    this.#kernel = kernel
    this.#random = random
    this.process = new Process(vm.name)
    this.process.alive = false
    this.#spool = new MemorySpool(() => kernel.now)
    this.bootedAt = kernel.now - random.int(60_000, 86_400_000)
  }

  get key(): string {
    return `id-${this.vm.fleet}-${this.vm.name}`
  }

  start(imds: VmImds, relay: (beacon: Beacon) => Relay): void {
    const { process } = this
    process.revive(this.#kernel.now)
    this.#spool.bornAt(this.#kernel.now)
    // nobody stops a beacon here: it is killed, and takes what listens to this with it
    const never = new AbortController().signal
    const clock = this.#clock(never)
    const gate = createRateLimit(clock)
    const { name, tags } = this.vm
    const vm = vmSchema.parse({ name, vmId: this.key, resourceGroup: 'rg', tags })
    const state: State = { vm, document: undefined, reportTimer: createWakeTimer(clock) }
    this.state = state
    imds.restarted()
    const parts: Parts = {
      clock,
      spool: this.#spool,
      log: quiet,
      pollMs: 1_000,
      version: 'sim',
      about: {},
      imds: {
        poll: () => this.#poll(imds, state),
        identify: () => imds.identify(),
        start: async (choose) => {
          await gate.pass('other', never)
          const eventIds = choose()
          if (eventIds.length === 0) return undefined
          for (const eventId of eventIds) this.onAsked(eventId)
          return imds.start(eventIds)
        },
      },
      relay: relay(this),
      random: () => this.#random.next(),
      newId: () => `boot-${name}-${String(++this.#boots).padStart(4, '0')}`,
      uptimeMs: () => this.#kernel.now - this.bootedAt,
      whyStopping: async () => 'stopped',
      takeOver: () => {},
    }
    const starter = createStarter(parts, state)
    const run = (loop: () => Promise<void>) => this.#kernel.spawn(process, loop)
    run(() => pollLoop(parts, state, never))
    run(() => reportLoop(parts, state, starter.direct, never))
    run(() => starter.loop(never))
    state.reportTimer.bring(0)
  }

  kill(): void {
    this.process.kill()
    this.state = undefined
    this.#shownSince.clear()
    this.#lastSaid.clear()
  }

  /** The VM restarts. */
  reboot(): void {
    this.bootedAt = this.#kernel.now
  }

  /** What it sees. Values that its api-version no longer shows are as it saw them before. */
  asItKnows(eventId: string): ScheduledEvent | undefined {
    const event = this.state?.document?.events.find((one) => one.eventId === eventId)
    return event && { ...event, ...this.#lastSaid.get(eventId) }
  }

  /** What it saw and no relay has taken yet, as of the process before, too. */
  remembers(eventId: string): ScheduledEvent[] {
    return this.#spool.read().flatMap(({ item }) => {
      return item.kind !== 'start' && item.event.eventId === eventId ? [item.event] : []
    })
  }

  /** Since when it has seen the event without a break; never, where it does not. */
  showsSince(eventId: string): number {
    return this.#shownSince.get(eventId) ?? Number.POSITIVE_INFINITY
  }

  acknowledged(report: Report, { time, paceMs: wait }: Answer): void {
    const paceMs = [nearPaceMs, openPaceMs].includes(wait) ? wait : this.#idlePaceMs
    const at = time - (report.document?.ageMs ?? 0)
    const { waitMs } = report
    const shown = (report.document?.events ?? []).map((event) => [event.eventId, event] as const)
    const values = new Map([...(this.acked?.values ?? []), ...shown])
    this.acked = {
      at,
      takenAt: time,
      ackedAt: waitMs === undefined ? this.#kernel.now : time,
      paceMs: paceMs + (waitMs ?? 0),
      values,
    }
  }

  /** As the relay knows this VM once it has reported an event. */
  get known(): KnownVm {
    const { name, tags } = this.vm
    return { vm: name, resourceGroup: 'rg', scaleSet: '', tags }
  }

  /** The document stands as of the last poll that showed it, though only news were handed over. */
  refresh(imds: VmImds): void {
    const document = this.state?.document
    if (document === undefined) return
    document.seenAt = Math.max(document.seenAt, imds.goodAt() - this.process.bornAt)
  }

  async #poll(imds: VmImds, state: State): Promise<Poll> {
    const poll = await imds.poll()
    if (poll.kind === 'document' && state.document !== undefined) {
      const before = imds.previousGoodAt - this.process.bornAt
      state.document.seenAt = Math.max(state.document.seenAt, before)
    }
    if (poll.kind === 'document') this.#noteShown(poll.document.events, state)
    return poll
  }

  #noteShown(events: ScheduledEvent[], state: State): void {
    for (const { eventId } of state.document?.events ?? []) {
      if (events.some((event) => event.eventId === eventId)) continue
      this.#shownSince.delete(eventId)
    }
    for (const { eventId, source, durationSeconds } of events) {
      const said = {
        ...(source === undefined ? {} : { source }),
        ...(durationSeconds === undefined ? {} : { durationSeconds }),
      }
      this.#lastSaid.set(eventId, { ...this.#lastSaid.get(eventId), ...said })
      if (this.#shownSince.has(eventId)) continue
      this.#shownSince.set(eventId, this.#kernel.now)
      this.onAppeared(eventId)
    }
  }

  #clock(never: AbortSignal): Clock {
    const { process } = this
    const kernel = this.#kernel
    return {
      now: () => kernel.now + this.offsetMs,
      monotonic: () => kernel.now - process.bornAt,
      sleep: (ms, signal) =>
        kernel.park<void>(process, (resume) => {
          kernel.after(ms, () => resume(), process)
          if (signal === never) return
          if (signal.aborted) resume()
          else signal.addEventListener('abort', () => resume(), { once: true })
        }),
    }
  }
}

class MemorySpool implements Spool {
  readonly #now: () => number
  #entries: { sequence: number; body: Pending['item']; at: number; lastAt: number | undefined }[] =
    []
  #sequence = 0
  #base = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** The instants of items are the process's own; this says when it was born. */
  bornAt(at: number): void {
    this.#base = at
  }

  append(items: readonly Item[]): void {
    for (const { seenAt, ...rest } of items) {
      const { lastSeenAt, ...body } = { lastSeenAt: undefined, ...rest }
      const lastAt = lastSeenAt === undefined ? undefined : this.#base + lastSeenAt
      const entry = { sequence: ++this.#sequence, at: this.#base + seenAt, lastAt }
      this.#entries.push({ ...entry, body: body as Pending['item'] })
    }
  }

  read(): readonly Pending[] {
    return this.#entries.map(({ sequence, body, at, lastAt }) => ({
      sequence,
      item: body,
      ageMs: () => this.#now() - at,
      lastSeenAgeMs: () => (lastAt === undefined ? undefined : this.#now() - lastAt),
    }))
  }

  dropThrough(sequence: number): void {
    this.#entries = this.#entries.filter((entry) => entry.sequence > sequence)
  }

  forget(): void {}

  close(): void {}
}
