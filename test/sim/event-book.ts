// The book of events: what is on record must follow from what happened, and what happens to VMs must
// follow from what is on record.

import type { EventRecord } from '../../functions/core/event/event.ts'
import { channelsFor } from '../../functions/core/rules/routes.ts'
import type { Commit } from '../../functions/store/store.ts'
import { hits, isAdvice, type ScheduledEvent } from '../../shared/document.ts'
import type { Answer, Report } from '../../shared/report.ts'
import { simFeatures } from '../features/sim.ts'
import type { ApprovalBook } from './approval-book.ts'
import type { Beacon } from './beacons.ts'
import type { Docket } from './docket.ts'
import type { MessageBook } from './message-book.ts'
import type { FleetName } from './plan.ts'

/** A document may be this late after the end of an event. */
const lagMs = 60_000
/** A shorter move of NotBefore is no change. */
const leastMoveMs = 60_000
const ranks = ['scheduled', 'cancelled', 'started', 'completed']
/** A report takes at most this long. After that its beacon has given up. */
const handlingMs = 10_000
/**
 * An approval is with Azure by then, whatever goes wrong on the way for a while. If the store is
 * slow, most answers come after the beacon has given up.
 */
const passOnMs = 4 * 60_000
const slowPassOnMs = 8 * 60_000
/** Events that only one beacon reports take up at most this. */
const maxOfOneBeacon = 100
/**
 * Two relays join two reports each at the same moment, so each report may exceed it by one event. On
 * Azure's tables, a relay that knows of fewer than ten does not read the exact number.
 */
const atOnce = 20

export class EventBook {
  readonly records = new Map<string, EventRecord>()
  /** Events, by key and epoch, that an acknowledged report showed as Started. */
  readonly seenStarted = new Set<string>()
  readonly #docket: Docket
  readonly #messages: MessageBook
  readonly #approvals: ApprovalBook
  readonly #posts = new Set<string>()
  readonly #overdue = new Set<string>()
  /** When a commit last changed which VMs an event hits. */
  readonly #grownAt = new Map<string, number>()
  /** When a rule last stopped ignoring the event. */
  readonly #noticedAt = new Map<string, number>()
  /** Those that a flood invented. */
  readonly #openInvented = new Set<string>()
  /** When a VM last sent a start of an event. */
  readonly #askedAt = new Map<string, number>()
  /** When the network last lost an answer that told a VM to start the event. */
  readonly #directiveLostAt = new Map<string, number>()

  constructor(docket: Docket, messages: MessageBook, approvals: ApprovalBook) {
    this.#docket = docket
    this.#messages = messages
    this.#approvals = approvals
  }

  committed(process: string, { record, deliveries }: Commit): void {
    const key = keyOf(record)
    const before = this.records.get(key)
    this.records.set(key, record)
    const names = before?.facts.resources.join()
    if (names !== record.facts.resources.join()) this.#grownAt.set(key, this.#docket.now)
    if (before?.policy.decide === 'ignore' && record.policy.decide !== 'ignore')
      this.#noticedAt.set(key, this.#docket.now)
    const told = deliveries.map(({ notification, channel }) => `${notification.moment}@${channel}`)
    const state = `${record.phase} epoch ${record.epoch} decided ${record.decided?.decision}`
    const end = record.ended === undefined ? '' : ` ended ${record.ended.outcome}`
    const why = record.ended?.inferred === undefined ? '' : ` (${record.ended.inferred})`
    this.#docket.note(`${process} commits ${key} ${state}${end}${why} [${told.join(' ')}]`)
    this.#count(before, record)
    this.#checkTime(record)
    this.#checkLife(key, before, record)
    if (this.#docket.invented.has(key)) this.#checkShare(key, record)
    this.#approvals.committed(key, before, record)
  }

  /** A rule with a time approves nothing after it. */
  #checkTime({ decided, fleet, eventId }: EventRecord): void {
    const { plan } = this.#docket.parts
    if (decided?.how !== 'policy' || decided.who !== plan.timed?.rule.name) return
    this.#docket.met.add('a rule approves in its time')
    if (decided.at < this.#docket.beganAt + plan.timed.untilMs) return
    this.#docket.broke('times', `${fleet}/${eventId} is approved by a rule whose time is over`)
  }

  #count(before: EventRecord | undefined, record: EventRecord): void {
    const { stats } = this.#docket
    if (before === undefined) stats.events += 1
    if (before !== undefined && record.epoch > before.epoch) stats.reopened += 1
    const holder = before?.azure.directive?.beacon
    const next = record.azure.directive?.beacon
    if (holder !== undefined && next !== undefined && holder !== next) stats.failovers += 1
  }

  #checkLife(key: string, before: EventRecord | undefined, record: EventRecord): void {
    const broke = (text: string) => this.#docket.broke('life', `${key} ${text}`)
    const { phase, epoch } = record
    const begun = this.#docket.parts
      .platform()
      .truths.get(key)
      ?.steps.some((one) => one.step === 'started')
    const isTold = this.#docket.outsideLies.has(key)
    if (phase === 'started' && !begun && !record.drill && !isTold)
      broke('is on record as started and never did')
    if (before === undefined) return
    if (epoch < before.epoch || epoch > before.epoch + 1) broke(`jumps to epoch ${epoch}`)
    if (epoch > before.epoch && before.ended === undefined) broke('is reopened while it is open')
    if (epoch > before.epoch) {
      const isOfLie = this.#docket.outsideLies.has(key) && before.ended?.by === 'azure'
      if (isOfLie) this.#docket.met.add('a VM shows what is over by a lie')
      return
    }
    if (ranks.indexOf(phase) < ranks.indexOf(before.phase)) broke(`falls back to ${phase}`)
    const restores = asWithout(before) === asWithout(record)
    const isFinal = before.ended !== undefined && before.ended.outcome !== 'lost'
    if (isFinal && !restores) broke('changes after its end')
  }

  #checkShare(key: string, { ended }: EventRecord): void {
    if (ended !== undefined) this.#openInvented.delete(key)
    else this.#openInvented.add(key)
    const { size } = this.#openInvented
    if (size > maxOfOneBeacon + atOnce)
      this.#docket.broke('shares', `one VM has ${size} events open at a time`)
  }

  acknowledged(beacon: Beacon, report: Report, answer: Answer): void {
    const { fleet, name } = beacon.vm
    const shown = report.document?.events ?? []
    const all = [...shown, ...report.changes.map((change) => change.event)]
    this.#docket.note(`${name} is heard: ${answer.outcome}, pace ${answer.paceMs}${say(shown)}`)
    if (answer.outcome !== 'accepted') return
    for (const event of all) {
      const key = `${fleet}/${event.eventId}`
      if (!this.records.has(key)) {
        this.#docket.broke('acknowledged', `${key} was acknowledged to ${name} and is not kept`)
      }
      const record = this.records.get(key)
      const open = record?.ended === undefined
      if (event.status === 'Started' && open) this.seenStarted.add(`${key} ${record?.epoch}`)
    }
    for (const event of shown) {
      this.#checkOutweighs(beacon, report, event, answer.time)
      this.#checkHeard(beacon, report, event, answer.time)
    }
    for (const { eventId } of answer.directives) {
      const own = shown.some((event) => event.eventId === eventId && event.status === 'Scheduled')
      if (!own) this.#docket.broke('unasked', `${name} is directed to start ${eventId}, unseen`)
      if (this.records.get(`${fleet}/${eventId}`)?.drill)
        this.#docket.broke('drills', `${name} is directed to start ${eventId}, a drill`)
    }
  }

  /** An affected VM that still shows the event a minute after its end by Azure's word opens it again. */
  #checkOutweighs(
    { vm }: Beacon,
    { document, beacon }: Report,
    { eventId }: ScheduledEvent,
    takenAt: number,
  ) {
    const key = `${vm.fleet}/${eventId}`
    const { ended, started, facts, sights = [] } = this.records.get(key) ?? {}
    // where Event Grid alone told of a start, this report ends the event, and the next one opens it
    const isByDoubt = started?.by !== undefined
    if (ended?.by !== 'azure' || isByDoubt || !hits(facts!, vm.name)) return
    // while another VM of the event shows it, one that only itself named is an onlooker
    if (facts!.selfNamed?.includes(vm.name.toLowerCase())) return
    const { bootId, counter } = beacon
    // a later report of this beacon may have overtaken this one
    const isLast = sights.some((one) => one.bootId === bootId && one.counter === counter)
    const polledAt = takenAt - document!.ageMs
    if (isLast && polledAt >= ended.at + lagMs)
      this.#docket.broke('outside words', `${key} is over, and ${vm.name} shows it`)
  }

  /** What a hit VM said of itself has brought the channels it brings in, and new values are kept. */
  #checkHeard(beacon: Beacon, report: Report, event: ScheduledEvent, takenAt: number): void {
    const { plan, platform } = this.#docket.parts
    const key = `${beacon.vm.fleet}/${event.eventId}`
    const record = this.records.get(key)
    const truth = platform().truths.get(key)
    if (record === undefined || record.ended !== undefined || truth === undefined) return
    // a later report of this beacon overtook this one, and no longer shows the event; or one of its
    // killed process was decided after this one, and its values hold until the next report
    const { bootId, counter } = report.beacon
    const isOvertaken = record.sights.some(
      ({ vm, ...one }) =>
        (one.bootId === bootId && one.counter > counter) ||
        (vm === beacon.vm.name && one.bootId !== bootId),
    )
    if (isOvertaken) return
    const before = beacon.acked?.values.get(event.eventId)
    const fleet = platform().fleet(beacon.vm.fleet)
    const current = fleet.tenants
      .flatMap((t) => t.events)
      .find((e) => e.id.toLowerCase() === event.eventId)
    // a report that took its time says its age without that time
    const late = this.#docket.parts.faults.report_delayed > 0
    const live = event.status === 'Scheduled' && record.phase === 'scheduled' && !late
    const real = current === undefined ? undefined : Math.floor(current.notBeforeAt / 1_000) * 1_000
    const movedMs = (event.notBeforeAt ?? 0) - (before?.notBeforeAt ?? event.notBeforeAt ?? 0)
    const moved = Math.abs(movedMs) >= leastMoveMs
    if (this.#docket.lies.has(key) || this.#docket.mistaken.has(record.fleet)) return
    // affected VMs speak for themselves. One that only itself names is an onlooker, but for its name
    const named = (names: string[] | undefined) =>
      names?.includes(beacon.vm.name.toLowerCase()) === true
    const addedAt = this.#grownAt.get(key) ?? 0
    // with this report it named itself, and before the answer came, another one named it, too
    const isJustNamed = addedAt > takenAt && named(record.facts.namedOnce)
    const isSelfNamed = named(record.facts.selfNamed) || isJustNamed
    const isOutsider = !hits(record.facts, beacon.vm.name) || isSelfNamed
    const isMoved = live && moved && real === event.notBeforeAt && !isOutsider
    const offMs = Math.abs((record.facts.notBeforeAt ?? 0) - (real ?? 0))
    if (isMoved && offMs >= leastMoveMs) {
      this.#docket.broke('acknowledged', `${key} was moved, and the new NotBefore is not kept`)
    }
    const was = before?.eventType
    const retyped =
      was !== undefined && was !== event.eventType && current?.type === event.eventType
    if (retyped) this.#docket.met.add('an event is of another type')
    if (current && hits(current, beacon.vm.name) && !hits(event, beacon.vm.name))
      this.#docket.met.add('a VM is added while its beacon reports')
    if (live && retyped && !isOutsider && record.facts.eventType !== event.eventType) {
      this.#docket.broke('acknowledged', `${key} became a ${event.eventType}, which is not kept`)
    }
    if (record.policy.decide === 'ignore' || simFeatures.some(({ hides }) => hides?.(record)))
      return
    // a route that began after the moment does not get it
    if (plan.config.routes.some(({ match }) => match.time !== undefined)) return
    // its document did not show yet that the VM was added; a document that shows it brings its
    // channels
    // the event grew, or was no longer ignored, while a relay handled this report: the next one brings
    // the channels
    if (Math.max(addedAt, this.#noticedAt.get(key) ?? 0) > takenAt) return
    if (!hits(event, beacon.vm.name) && (beacon.isLate || this.#docket.now < addedAt + handlingMs))
      return
    // reopened while this report was handled: the next report brings the channels
    if (this.#docket.now < (record.backAt ?? 0) + handlingMs) return
    const hearers = channelsFor(
      plan.config.routes,
      record,
      [beacon.known],
      'scheduled',
      this.#docket.now,
    )
    const rows = [...this.#messages.rows.values()].filter(
      (row) => keyOf(row) === key && row.notification.event.epoch === record.epoch,
    )
    for (const channel of hearers) {
      if (isAdvice(record.facts) && channel === 'pager') continue
      if (rows.some((row) => row.channel === channel)) continue
      this.#docket.broke('acknowledged', `${key} was never planned for ${channel}`)
    }
  }

  started(fleet: FleetName, vm: string, eventId: string): void {
    const key = `${fleet}/${eventId}`
    this.#docket.note(`${vm} asks Azure to start ${key}`)
    const changedAt = this.#docket.parts.platform().truths.get(key)?.changedAt ?? 0
    if (changedAt > (this.#askedAt.get(`${vm} ${key}`) ?? Number.POSITIVE_INFINITY))
      this.#docket.met.add('an event changes while its start is under way')
    this.#posts.add(key)
    if (this.records.get(key)?.drill) this.#docket.broke('drills', `${vm} starts ${key}`)
    if (!this.#approvals.isApproved(key)) {
      this.#docket.broke('unasked', `${vm} starts ${key}, which nobody approved`)
    }
  }

  /**
   * A beacon is about to send a start to Azure: what it sees now must be approved. Changes while
   * the request is under way come too late.
   */
  asked(beacon: Beacon, eventId: string): void {
    const { vm } = beacon
    const key = `${vm.fleet}/${eventId}`
    const own = beacon.asItKnows(eventId)
    this.#askedAt.set(`${vm.name} ${key}`, this.#docket.now)
    const why = own === undefined ? 'it does not see it' : this.#approvals.whyUncovered(key, own)
    if (why !== undefined) {
      this.#docket.broke('unasked', `${vm.name} is about to start ${eventId}, but ${why}`)
    }
  }

  crashed(): void {
    const between = [...this.records.values()].some(
      ({ decided, azure, phase, drill }) =>
        decided?.decision === 'approved' && !azure.directive && phase === 'scheduled' && !drill,
    )
    if (between) this.#docket.met.add('a relay dies between decision and directive')
    // it may have died with the answer that has a directive
    for (const [key, { decided, azure }] of this.records) {
      const isPassedOn = decided?.decision === 'approved' && azure.directive !== undefined
      if (isPassedOn) this.#directiveLostAt.set(key, this.#docket.now)
    }
  }

  answerLost(fleet: FleetName, { directives }: Answer): void {
    const { now } = this.#docket
    for (const { eventId } of directives) this.#directiveLostAt.set(`${fleet}/${eventId}`, now)
  }

  /** An approval that waits although a beacon that sees the event has lived all the while. */
  checkApprovals(): void {
    const { now, parts } = this.#docket
    const waitMs = parts.faults.store_slow > 0 ? slowPassOnMs : passOnMs
    for (const [key, record] of this.records) {
      const { decided, ended, phase, azure } = record
      if (ended !== undefined || phase !== 'scheduled' || azure.accepted !== undefined) continue
      if (decided?.decision !== 'approved' || this.#overdue.has(key)) continue
      // honest VMs may see something else than what was approved
      if (this.#docket.lies.has(key) || this.#docket.mistaken.has(record.fleet)) continue
      const awayUntil = this.#docket.beganAt + (this.#docket.parts.plan.away?.untilMs ?? 0)
      const lostAt = this.#directiveLostAt.get(key) ?? 0
      const since = Math.max(decided.at, record.firstSeenAt, awayUntil, lostAt)
      const able = this.#docket.parts
        .beacons()
        .filter(
          (beacon) =>
            beacon.vm.fleet === record.fleet &&
            beacon.showsSince(record.eventId) < now - waitMs &&
            this.#approvals.canCheck(key, beacon.asItKnows(record.eventId)),
        )
      if (now - since < waitMs || able.length === 0 || this.#posts.has(key)) continue
      this.#overdue.add(key)
      this.#docket.broke('passed on', `${key} was approved ${now - since} ms ago and never started`)
    }
  }
}

/**
 * After an event, its VMs run their hooks to restore them, late words stay in the history, and Azure may say
 * what was inferred.
 */
function asWithout({ wait: _w, sequence: _s, ended, azure, ...all }: EventRecord): string {
  const { sights: _, history: _h, ...record } = all
  const { inferred: _i, by: _b, ...known } = ended ?? {}
  const { outside: _o, ...told } = azure
  return JSON.stringify({ ...record, known, told })
}

function keyOf({ fleet, eventId }: { fleet: string; eventId: string }): string {
  return `${fleet}/${eventId}`
}

function say(shown: ScheduledEvent[]): string {
  return shown.map(({ eventId, status }) => ` ${eventId} ${status}`).join(',')
}
