// The loop of hooks: looks at what the beacon knows, plans with plan.ts, and asks the runner. It
// remembers no steps: each look starts from the document, the relay's last answer and the runner's
// status. So the next look repairs a missed step.
import { isAdvice, isSameName, type ScheduledEvent } from '../../shared/document.ts'
import type { Answer, Report } from '../../shared/report.ts'
import { type Instant, measureAgeMs, toInstant } from '../clock.ts'
import type { HookParts, Hooks, Parts, State } from '../state.ts'
import { createWakeTimer, type WakeTimer } from '../wake-timer.ts'
import type { Snapshot } from '../watch.ts'
import {
  confirmGoneMs,
  followed,
  type HookedEvent,
  hooks,
  inState,
  isOver,
  isWorthKeeping,
  listEvents,
  listRuns,
  planned,
  remembered,
  seenAgain,
  withAnswer,
} from './hooked-event.ts'
import { type Plan, planHook, type Situation } from './plan.ts'
import type { Status } from './protocol.ts'

/** Events of this VM with hooks. Azure never had so many; runs of more would fill the report. */
const maxEvents = 50
/** While another hook runs, plans are looked at this often. */
const busyLookMs = 1_000
/** Within this time, events whose hooks are done are removed. */
const idleLookMs = 3_600_000

/** What hooks need of their beacon. */
type BeaconParts = Pick<Parts, 'clock' | 'log' | 'newId'>

export class EventHooks implements Hooks {
  readonly #beacon: BeaconParts
  readonly #hooks: HookParts
  readonly #state: State
  readonly #due: WakeTimer
  readonly #events: Map<string, HookedEvent>
  /** When the first document without the event arrived, monotonic ms. */
  readonly #missingSince = new Map<string, number>()
  /** The document after which a run was ended early, by its time. */
  #askedAt: number | undefined
  #isSaved = true
  /** Events whose `prepare` the last report showed. */
  #shown: string[] = []
  /** What reports are to show, without ages. */
  #facts: string | undefined

  constructor(beacon: BeaconParts, hooks: HookParts, state: State) {
    this.#beacon = beacon
    this.#hooks = hooks
    this.#state = state
    this.#due = createWakeTimer(beacon.clock)
    this.#events = new Map(hooks.store.load().map((hooked) => [hooked.event.eventId, hooked]))
  }

  forget(): void {
    this.#events.clear()
    this.#save()
  }

  documentSeen(): void {
    const { document, vm } = this.#state
    if (document === undefined || vm === undefined) return
    const isOpen = [...this.#events.values()].some((hooked) => hooked.ended === undefined)
    if (isOpen || listEvents(document, vm.name).size > 0) this.#look()
  }

  report(): Report['hooks'] {
    // The VM may be identified only now: the first report is to show a plan.
    this.#work()
    this.#facts = this.#factsNow()
    const report = this.#reportOf(this.#hooks.link.status())
    this.#shown = (report?.runs ?? [])
      .filter(({ hook }) => hook === 'prepare')
      .map(({ eventId }) => eventId)
    return report
  }

  answered(preparations: Answer['preparations']): void {
    const wishes = new Map(preparations.map(({ eventId, when }) => [eventId.toLowerCase(), when]))
    for (const eventId of this.#shown) {
      const hooked = this.#events.get(eventId)
      if (hooked !== undefined) this.#set(withAnswer(hooked, wishes.get(eventId)))
    }
    if (!this.#isSaved) this.#due.bring(this.#beacon.clock.monotonic())
  }

  async loop(stop: AbortSignal): Promise<void> {
    const look = () => this.#due.bring(this.#beacon.clock.monotonic())
    const talk = this.#hooks.link.loop(look, stop)
    while (!stop.aborted) {
      await this.#due.wait(stop)
      if (!stop.aborted) this.#look()
    }
    await talk
  }

  #look(): void {
    this.#work()
    const facts = this.#factsNow()
    if (facts === this.#facts || this.#state.vm === undefined) return
    this.#facts = facts
    this.#state.reportTimer.bring(this.#beacon.clock.monotonic())
  }

  #work(): void {
    const { document, vm } = this.#state
    if (vm === undefined || document === undefined) return
    const status = this.#hooks.link.status()
    this.#observe(document, vm.name)
    if (status !== undefined) this.#follow(status)
    this.#plan(vm.name, status)
    if (!this.#isSaved) this.#save()
  }

  #factsNow(): string | undefined {
    const report = this.#reportOf(this.#hooks.link.status())
    // what a node runs changes all the time, and is no news
    const shown = (key: string, value: unknown) => (key === 'workloads' ? undefined : value)
    return JSON.stringify(report, (key, value) => (key === 'ageMs' ? 0 : shown(key, value)))
  }

  /** Notes which events of this VM begin and end. */
  #observe(document: Snapshot, vmName: string): void {
    const events = listEvents(document, vmName)
    for (const event of events.values()) {
      this.#missingSince.delete(event.eventId)
      const hooked = this.#events.get(event.eventId)
      if (hooked !== undefined) this.#set(seenAgain(hooked, event, toInstant(this.#beacon.clock)))
      else if (this.#isOurs(event)) this.#begin(event)
    }
    for (const hooked of [...this.#events.values()]) {
      if (!events.has(hooked.event.eventId)) this.#miss(hooked, document.seenAt)
    }
  }

  #isOurs({ eventType }: ScheduledEvent): boolean {
    const { eventTypes } = this.#hooks.settings
    if (eventTypes === undefined) return !isAdvice({ eventType })
    return eventTypes.some((type) => isSameName(type, eventType))
  }

  #begin(event: ScheduledEvent): void {
    if (this.#events.size >= maxEvents) {
      const oldest = [...this.#events.values()].find((hooked) => hooked.ended !== undefined)
      // The report then shows no hook for the event.
      if (oldest === undefined) return
      this.#drop(oldest)
    }
    this.#set({ event, firstSeen: toInstant(this.#beacon.clock), isAnswered: false })
  }

  #miss(hooked: HookedEvent, seenAt: number): void {
    const { clock } = this.#beacon
    const { eventId } = hooked.event
    const since = this.#missingSince.get(eventId) ?? seenAt
    this.#missingSince.set(eventId, since)
    if (hooked.ended === undefined && seenAt - since < confirmGoneMs) return
    const ended = hooked.ended ?? toInstant(clock, since)
    if (isOver(hooked, measureAgeMs(clock, ended))) this.#drop(hooked)
    else if (hooked.ended === undefined) this.#set({ ...hooked, ended })
    this.#endEarly(hooked, seenAt)
  }

  /** Asks again with each document, as a question may be lost. */
  #endEarly({ prepare }: HookedEvent, seenAt: number): void {
    const { run, state } = prepare ?? {}
    if (state !== 'running' || run === undefined || this.#askedAt === seenAt) return
    this.#askedAt = seenAt
    this.#hooks.link.ask({ ask: 'over', run })
  }

  /** Takes over what the runner says of its runs. */
  #follow(status: Status): void {
    const { clock } = this.#beacon
    if (!this.#hooks.link.isCurrent()) return
    const at = (ageMs: number) => toInstant(clock, clock.monotonic() - ageMs)
    for (const event of status.prepared ?? []) {
      if (!this.#events.has(event.eventId)) this.#set(remembered(event, at(0)))
    }
    for (const hooked of this.#events.values()) this.#set(followed(hooked, status, at))
  }

  #plan(vmName: string, status: Status | undefined): void {
    const { clock } = this.#beacon
    let lookInMs = this.#events.size > 0 ? idleLookMs : Number.POSITIVE_INFINITY
    const ready: Ready[] = []
    for (const hooked of this.#events.values()) {
      const plan = planHook(this.#situationOf(hooked, status))
      this.#set(planned(hooked, plan, toInstant(clock)))
      if (plan.kind === 'wait') lookInMs = Math.min(lookInMs, plan.forMs)
      if (plan.kind === 'run') ready.push({ eventId: hooked.event.eventId, plan })
    }
    const [next, ...others] = ready.sort((a, b) => this.#rank(a) - this.#rank(b))
    const isFree = this.#hooks.link.isCurrent() && status?.running === undefined
    if (next !== undefined && isFree) this.#run(next, vmName)
    if (next !== undefined && (others.length > 0 || !isFree)) {
      lookInMs = Math.min(lookInMs, busyLookMs)
    }
    if (Number.isFinite(lookInMs)) this.#due.bring(clock.monotonic() + lookInMs)
  }

  #situationOf(hooked: HookedEvent, presences: Status | undefined): Situation {
    const { event, firstSeen, ended, isAnswered, wish, prepare, restore } = hooked
    const others = [...this.#events.values()].filter((other) => other !== hooked)
    const { eventType = event.eventType } = prepare ?? {}
    return {
      event,
      isAnswered,
      wish,
      prepare,
      restore,
      leadMs: this.#hooks.settings.leadMs,
      now: this.#beacon.clock.now(),
      firstSeenAt: firstSeen.wall,
      endedAt: ended?.wall,
      presences,
      isOutdated: !isSameName(eventType, event.eventType) && this.#isOurs(event),
      isOnRecord: (presences?.prepared ?? []).some(({ eventId }) => eventId === event.eventId),
      isMissing: this.#missingSince.has(event.eventId),
      isPreparedForAnother: others.some((other) => {
        return other.ended === undefined && (other.prepare?.starts ?? 0) > 0
      }),
    }
  }

  /** What runs first: `prepare` of the earliest event, then `restore`. */
  #rank({ eventId, plan }: Ready): number {
    if (plan.hook === 'restore') return Number.POSITIVE_INFINITY
    return this.#events.get(eventId)?.event.notBeforeAt ?? 0
  }

  #run({ eventId, plan }: Ready, vm: string): void {
    const hooked = this.#events.get(eventId)
    if (hooked === undefined) return
    const { clock, log, newId } = this.#beacon
    const { hook, limitMs, reason } = plan
    const { event, firstSeen, ended } = hooked
    const run = newId()
    const starts = (hooked[hook]?.starts ?? 0) + 1
    log.info('hook_due', { eventId, hook, reason, limitSeconds: Math.round(limitMs / 1000) })
    const running = { state: 'running' as const, run, starts, eventType: event.eventType }
    this.#set(inState(hooked, hook, running, toInstant(clock)))
    // The state is saved before the hook runs: after a crash we still have to restore.
    this.#save()
    const order = { run, hook, limitMs, vm, event, firstSeenAt: firstSeen.wall }
    this.#hooks.link.ask({
      ask: 'run',
      order: ended === undefined ? order : { ...order, endedAt: ended.wall },
    })
  }

  #reportOf(status: Status | undefined): Report['hooks'] {
    if (status === undefined) return undefined
    const ageMs = (since: Instant) => measureAgeMs(this.#beacon.clock, since)
    const events = [...this.#events.values()]
    return {
      available: hooks.filter((hook) => status[hook].state === 'ready'),
      runs: events.flatMap((hooked) => listRuns(hooked, ageMs)),
      ...(status.node && { node: status.node }),
      ...(status.workloads && { workloads: status.workloads }),
    }
  }

  #set(hooked: HookedEvent): void {
    const { eventId } = hooked.event
    const before = this.#events.get(eventId)
    if (hooked === before) return
    this.#events.set(eventId, hooked)
    this.#isSaved = false
    for (const hook of hooks) {
      const { state, note, exitCode } = hooked[hook] ?? {}
      if (state === undefined || state === before?.[hook]?.state) continue
      this.#beacon.log.info('hook_state', { eventId, hook, state, note, exitCode })
    }
  }

  #drop({ event: { eventId } }: HookedEvent): void {
    this.#events.delete(eventId)
    this.#missingSince.delete(eventId)
    this.#isSaved = false
  }

  #save(): void {
    this.#hooks.store.save([...this.#events.values()].filter(isWorthKeeping))
    this.#isSaved = true
  }
}

interface Ready {
  eventId: string
  plan: Plan & { kind: 'run' }
}
