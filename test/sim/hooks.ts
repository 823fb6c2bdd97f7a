// The hooks of one VM: planned when an event that hits it is first seen, run once the relay has answered
// and does not hold them back. The runner is a process of its own, so it outlives the beacon.

import type { PolicyRule } from '../../functions/core/rules/policy.ts'
import { hits, type ScheduledEvent } from '../../shared/document.ts'
import type { Answer, HookRun, Report } from '../../shared/report.ts'
import type { Kernel } from './kernel.ts'
import type { Random } from './random.ts'

/** As a beacon's setting, unless its owner changed it. */
const leadMs = 600_000
/** The outcome of a run that ended stays in reports for this long. */
const keptMs = 60_000

interface Run {
  eventId: string
  hook: HookRun['hook']
  state: HookRun['state']
  since: number
  exitCode?: number
}

export interface HookPlan {
  /** The only rule of the configuration. */
  rule: PolicyRule
  /** VMs with a runner of hooks. */
  vms: string[]
}

/** In some worlds, VMs have hooks, and a rule waits for them or lets events take turns. */
export function hooksOf(random: Random, vms: { name: string }[]): HookPlan | undefined {
  if (!random.chance(0.3)) return undefined
  const whenReady = random.chance(0.85)
  const limited = !whenReady || random.chance(0.6)
  const rule: PolicyRule = {
    name: 'hooks',
    match: random.chance(0.4) ? { tag: ['tier'] } : {},
    decide: 'approve',
    ...(whenReady && { whenReady }),
    ...(limited && { maxConcurrent: random.pick([1, 1, 2, 4]) }),
  }
  const sound = random.pick([0.6, 1, 1])
  return { rule, vms: vms.map(({ name }) => name).filter(() => random.chance(sound)) }
}

export class Hooks {
  /** A state has changed. */
  onChange: () => void = () => {}
  /** A run of `prepare` begins. */
  onPrepare: (eventId: string) => void = () => {}
  readonly #kernel: Kernel
  readonly #vm: string
  readonly #random: Random
  readonly #runs = new Map<string, Run>()
  readonly #seen = new Map<string, ScheduledEvent>()
  /** Events of which the last answer said nothing, or when to prepare. */
  readonly #answers = new Map<string, 'now' | 'hold' | 'own plan'>()

  constructor(kernel: Kernel, vm: string, random: Random) {
    this.#kernel = kernel
    this.#vm = vm
    this.#random = random
  }

  /** What the next report says, by the events in its document. */
  shown(events: ScheduledEvent[]): NonNullable<Report['hooks']> {
    const { now } = this.#kernel
    for (const event of events) this.#see(event)
    for (const eventId of this.#seen.keys()) {
      if (!events.some((event) => event.eventId === eventId)) this.#gone(eventId)
    }
    const runs = [...this.#runs.values()].filter(
      ({ eventId, state, since }) =>
        this.#seen.has(eventId) || state === 'running' || now - since < keptMs,
    )
    return {
      available: ['prepare', 'restore'],
      runs: runs.map(({ since, ...run }) => ({ ...run, ageMs: now - since })),
    }
  }

  answered(reported: ScheduledEvent[], preparations: Answer['preparations']): void {
    for (const { eventId } of reported) {
      const own = preparations.find((one) => one.eventId === eventId)
      this.#answers.set(eventId, own?.when ?? 'own plan')
      this.#begin(eventId)
    }
  }

  #see(event: ScheduledEvent): void {
    const { eventId, status } = event
    if (!hits(event, this.#vm)) {
      this.#gone(eventId)
      return
    }
    this.#seen.set(eventId, event)
    const run = this.#runs.get(`prepare ${eventId}`)
    if (run === undefined && status === 'Scheduled') this.#turn(eventId, 'prepare', 'planned')
  }

  /** Begins `prepare`, or looks again when it is time. */
  #begin(eventId: string): void {
    const event = this.#seen.get(eventId)
    const run = this.#runs.get(`prepare ${eventId}`)
    const answer = this.#answers.get(eventId)
    if (event === undefined || run?.state !== 'planned' || answer === undefined) return
    if (answer === 'hold' || event.status !== 'Scheduled') return
    const { now } = this.#kernel
    const { notBeforeAt = now } = event
    const waitMs = answer === 'now' ? 0 : notBeforeAt - leadMs - now
    if (waitMs > 0) {
      this.#kernel.after(waitMs, () => this.#begin(eventId))
      return
    }
    this.onPrepare(eventId)
    this.#turn(eventId, 'prepare', 'running')
    const luck = this.#random.fork(eventId)
    const limitMs = Math.max(1_000, (notBeforeAt - now) / 4)
    const fate = luck.next()
    const takesMs = fate < 0.8 ? luck.int(200, 15_000) : limitMs
    const end = fate < 0.7 ? 'succeeded' : fate < 0.95 ? 'failed' : 'refused'
    this.#kernel.after(Math.min(takesMs, limitMs), () => {
      this.#turn(eventId, 'prepare', takesMs <= limitMs ? end : 'failed')
    })
  }

  #gone(eventId: string): void {
    this.#seen.delete(eventId)
    const run = this.#runs.get(`prepare ${eventId}`)
    if (run === undefined || run.state === 'planned') this.#runs.delete(`prepare ${eventId}`)
    else if (!this.#runs.has(`restore ${eventId}`)) {
      this.#turn(eventId, 'restore', 'running')
      const takesMs = this.#random.fork(`restore ${eventId}`).pick([2_000, 2_000, 90_000, 240_000])
      this.#kernel.after(takesMs, () => this.#turn(eventId, 'restore', 'succeeded'))
    }
  }

  #turn(eventId: string, hook: HookRun['hook'], state: HookRun['state']): void {
    const exit = state === 'failed' ? { exitCode: 1 } : {}
    this.#runs.set(`${hook} ${eventId}`, {
      eventId,
      hook,
      state,
      since: this.#kernel.now,
      ...exit,
    })
    this.onChange()
  }
}
