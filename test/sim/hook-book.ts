// The book of hooks: no rule approves before every hit VM has reported that it is ready, no two events
// of one group have their turn at once.
import type { EventRecord } from '../../functions/core/event/event.ts'
import type { HookRun, Report } from '../../shared/report.ts'
import type { Docket } from './docket.ts'
import type { HookPlan } from './hooks.ts'
import type { FleetName } from './plan.ts'

/** What the relay knows late, it may decide late. */
const lagMs = 20_000
/** A directive that was given before a report arrives within this time after it. */
const directiveMs = 20_000
/** A turn lasts at most this long after the end of its event. */
const restoreWithinMs = 15 * 60_000

interface Held {
  fleet: FleetName
  eventId: string
  wish: string
  resources: string[]
  endedAt?: number
}

export class HookBook {
  readonly #docket: Docket
  /** VMs that told a relay that they are ready, by event. */
  readonly #ready = new Set<string>()
  /** By fleet: the events for which its liar has said that it is ready, and under which names. */
  readonly #pretended = new Map<string, { keys: Set<string>; vms: Set<string> }>()
  /** Since when a VM has said that it is not ready, by event. Only its own beacon counts. */
  readonly #unreadySince = new Map<string, number>()
  /** The newest report of each VM that a relay has taken in. */
  readonly #lastArrived = new Map<string, Report['beacon']>()
  /** Events that have their turn, by epoch, and which VMs they had when they got it. */
  readonly #held = new Map<string, Held>()
  /** Since when a VM says that it is being restored, by event. */
  readonly #restoring = new Map<string, number>()
  /** Events whose turn came, in any epoch. */
  readonly #hadTurn = new Set<string>()
  /** When an approval of the event last expired. */
  readonly #approvedUntil = new Map<string, number>()
  /** Since when a rule with turns applies, by event. */
  readonly #turnsSince = new Map<string, number>()

  constructor(docket: Docket) {
    this.#docket = docket
  }

  /** A relay takes in a report of the VM's own beacon. Its answer may be lost. */
  arrived(fleet: string, vm: string, { hooks, beacon }: Pick<Report, 'hooks' | 'beacon'>): void {
    const last = this.#lastArrived.get(`${fleet} ${vm}`)
    const isNewer = last?.bootId !== beacon.bootId || last.counter < beacon.counter
    if (isNewer) this.#lastArrived.set(`${fleet} ${vm}`, beacon)
    for (const { eventId, hook, state } of hooks?.runs ?? []) {
      if (hook === 'restore' && isNewer) this.#follow(`${fleet}/${eventId} ${vm}`, state)
      if (hook !== 'prepare' || state !== 'succeeded') continue
      this.#ready.add(`${fleet}/${eventId} ${vm}`)
      this.#unreadySince.delete(`${fleet}/${eventId} ${vm}`)
    }
  }

  #follow(name: string, state: HookRun['state']): void {
    const isOpen = state === 'planned' || state === 'running'
    if (!isOpen) this.#restoring.delete(name)
    else if (!this.#restoring.has(name)) this.#restoring.set(name, this.#docket.now)
  }

  /**
   * A liar says that a VM is ready, and the relay may believe it. Under its next name, it stays
   * ready for what it has said before.
   */
  pretended(fleet: string, vm: string, eventId: string): void {
    const key = `${fleet}/${eventId}`
    const said = this.#pretended.get(fleet) ?? { keys: new Set(), vms: new Set() }
    this.#pretended.set(fleet, said)
    said.keys.add(key)
    said.vms.add(vm)
    for (const one of said.vms) this.#ready.add(`${key} ${one}`)
    for (const one of said.keys) this.#ready.add(`${one} ${vm}`)
  }

  /** The beacon of the VM knows that a relay took its report in. */
  acknowledged(
    fleet: string,
    vm: string,
    { hooks, beacon }: Pick<Report, 'hooks' | 'beacon'>,
  ): void {
    // the answer was held, and the beacon has reported again meanwhile
    const isOutdated = this.#lastArrived.get(`${fleet} ${vm}`)!.counter > beacon.counter
    for (const { eventId, hook, state } of hooks?.runs ?? []) {
      if (hook !== 'prepare') continue
      const name = `${fleet}/${eventId} ${vm}`
      if (state === 'succeeded') this.#unreadySince.delete(name)
      else if (!isOutdated && !this.#unreadySince.has(name))
        this.#unreadySince.set(name, this.#docket.now)
    }
  }

  /** A beacon is about to start an event that a rule approved: no VM may have said that it is not ready. */
  asked(key: string, own: string, { decided, policy, facts }: EventRecord): void {
    if (decided?.how !== 'policy' || policy.whenReady !== true) return
    const { now } = this.#docket
    const unready = facts.resources.filter((vm) => {
      const since = this.#unreadySince.get(`${key} ${vm}`) ?? Number.POSITIVE_INFINITY
      // the beacon of the VM itself got the directive after what it reported
      return since <= (vm === own ? now : now - directiveMs)
    })
    if (unready.length > 0)
      this.#docket.broke('unasked', `${key} starts before ${unready} is ready`)
  }

  /** A VM begins to prepare. It was last answered at this time. */
  prepares(key: string, record: EventRecord | undefined, answeredAt: number): void {
    // an answer that was under way when the approval expired does not know of that
    const wasApproved = answeredAt <= (this.#approvedUntil.get(key) ?? 0) + lagMs
    const isApproved = record?.decided?.decision === 'approved' || wasApproved
    const isTaken = isApproved || this.#hadTurn.has(key)
    const since = this.#turnsSince.get(key) ?? Number.POSITIVE_INFINITY
    // an answer that was under way when the rule began to apply does not know of it
    const isInformed = answeredAt > since + lagMs
    if (isInformed && !isTaken) this.#broke(`${key} is prepared before its turn`)
  }

  committed(key: string, before: EventRecord | undefined, record: EventRecord): void {
    const { hooks } = this.#docket.parts.plan
    if (hooks === undefined || record.drill) return
    const { whenReady, maxConcurrent } = record.policy
    const takesTurns = whenReady === true && maxConcurrent !== undefined
    if (!takesTurns) this.#turnsSince.delete(key)
    else if (!this.#turnsSince.has(key)) this.#turnsSince.set(key, this.#docket.now)
    const was = before?.decided?.decision === 'approved'
    if (was && record.decided?.decision !== 'approved')
      this.#approvedUntil.set(key, this.#docket.now)
    this.#checkApproval(key, hooks.rule, before, record)
    this.#checkTurns(key, record)
    if (record.wait.notReady !== undefined && before?.wait.notReady === undefined)
      this.#docket.met.add('a rule waits in vain')
  }

  #checkApproval(
    key: string,
    { whenReady, maxConcurrent }: HookPlan['rule'],
    before: EventRecord | undefined,
    record: EventRecord,
  ): void {
    const { decided, wait } = record
    const { slot } = wait
    if (decided?.how !== 'policy' || decided.at === before?.decided?.at) return
    const unready = record.facts.resources.filter((vm) => !this.#ready.has(`${key} ${vm}`))
    if (whenReady && unready.length > 0) this.#broke(`${key} is approved before ${unready}`)
    if (maxConcurrent !== undefined && slot?.state !== 'held')
      this.#broke(`${key} is approved before its turn`)
    this.#docket.met.add('a rule waits, and then approves')
  }

  #checkTurns(key: string, record: EventRecord): void {
    const { epoch, ended, wait, facts, eventId } = record
    const { slot } = wait
    const fleet = record.fleet as FleetName
    const name = `${key} ${epoch}`
    for (const [other, held] of this.#held) {
      if (other === name && ended !== undefined) {
        // what it grew by had no turn
        const resources = held.resources.filter((vm) => facts.resources.includes(vm))
        this.#held.set(name, { ...held, endedAt: ended.at, resources })
      } else if (other.startsWith(`${key} `) && other !== name) this.#held.delete(other)
    }
    if (slot?.state === 'waits' && slot.behind.length > 0)
      this.#docket.met.add('an event waits for its turn')
    if (ended !== undefined || slot?.state !== 'held') return
    this.#hadTurn.add(key)
    // it may grow after its approval
    if (this.#held.get(name)?.wish === slot.wish) return
    this.#held.set(name, { fleet, eventId, wish: slot.wish, resources: facts.resources })
    // with a fleet's key, a liar can change the tags of VMs
    if (this.#docket.mistaken.has(fleet)) return
    // Azure has begun the event, which is back: no rule gave it this turn
    if (record.phase === 'started') return
    const { maxConcurrent = 0 } = record.policy
    for (const [group, count] of this.#countsOf(fleet)) {
      if (count > maxConcurrent) this.#broke(`${count} VMs of ${fleet} ${group} are taken at once`)
    }
  }

  /** The event has ended, and no VM has said for some time that it is being restored. */
  #isOver({ fleet, eventId, resources, endedAt }: Held): boolean {
    if (endedAt === undefined) return false
    const { now } = this.#docket
    const isRestoring = resources.some((vm) => {
      const since = this.#restoring.get(`${fleet}/${eventId} ${vm}`) ?? Number.POSITIVE_INFINITY
      return since <= now - lagMs
    })
    return !isRestoring || now - endedAt >= restoreWithinMs - lagMs
  }

  /** How many VMs of each group are taken. */
  #countsOf(fleet: FleetName): Map<string, number> {
    const { plan, platform } = this.#docket.parts
    const isTagged = plan.hooks!.rule.match.tag !== undefined
    const counts = new Map<string, number>()
    for (const held of this.#held.values()) {
      if (held.fleet !== fleet || this.#isOver(held)) continue
      // if Azure has released a VM, the turn is smaller before the event's record says so
      const hit = platform().find(fleet, held.eventId)?.resources ?? held.resources
      for (const name of held.resources.filter((one) => hit.includes(one))) {
        const vm = plan.vms.find((one) => one.fleet === fleet && one.name === name)
        const group = isTagged ? `tier=${vm?.tags.tier}` : 'without a scale set'
        counts.set(group, (counts.get(group) ?? 0) + 1)
      }
    }
    return counts
  }

  #broke(text: string): void {
    this.#docket.broke('hooks', text)
  }
}
