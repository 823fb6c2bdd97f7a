// Watches the world and says where a promise is broken. Everybody reports here what took effect, at the
// moment it did; the trace of all that is what makes two runs comparable.
import type { Settlement } from '../../functions/core/delivery/attempt.ts'
import {
  type Claimed,
  type Delivery,
  readStoredId,
} from '../../functions/core/delivery/delivery.ts'
import type { Part } from '../../functions/notify/notifier.ts'
import type { ClaimRequest, Commit } from '../../functions/store/store.ts'
import type { ScheduledEvent } from '../../shared/document.ts'
import type { Answer, Report } from '../../shared/report.ts'
import { simFeatures } from '../features/sim.ts'
import type { Sent } from '../support/world.ts'
import { ApprovalBook, type Press } from './approval-book.ts'
import type { Beacon } from './beacons.ts'
import { Docket, type DocketParts } from './docket.ts'
import { EventBook } from './event-book.ts'
import type { Book } from './feature.ts'
import { MomentBook } from './followers.ts'
import { HookBook } from './hook-book.ts'
import type { Process } from './kernel.ts'
import { MarkBook } from './mark-book.ts'
import { MessageBook } from './message-book.ts'
import type { FleetName, PlannedVm } from './plan.ts'
import { ShipBook } from './ship-book.ts'
import { SightBook } from './sight-book.ts'
import { SubscriptionBook } from './subscription-book.ts'
import type { Said } from './ways-in.ts'

export class Judge extends Docket {
  readonly messages: MessageBook
  readonly events: EventBook
  readonly approvals: ApprovalBook
  readonly marks: MarkBook
  /** Of features, by name. */
  readonly books: ReadonlyMap<string, Book>
  readonly shipping: ShipBook
  readonly sights: SightBook
  readonly hooks: HookBook
  readonly moments: MomentBook
  readonly subscriptions: SubscriptionBook
  /** Since when nothing is owed and nothing is open. */
  quietSince: number | undefined
  #writtenAt = Number.NEGATIVE_INFINITY

  constructor(parts: DocketParts) {
    super(parts)
    this.messages = new MessageBook(this)
    this.marks = new MarkBook(this)
    this.books = new Map(
      simFeatures.flatMap(({ name, openBook }) => (openBook ? [[name, openBook(this)]] : [])),
    )
    this.shipping = new ShipBook(this)
    this.approvals = new ApprovalBook(this)
    this.sights = new SightBook(this)
    this.hooks = new HookBook(this)
    this.moments = new MomentBook(this)
    this.subscriptions = new SubscriptionBook(this, this.messages)
    this.events = new EventBook(this, this.messages, this.approvals)
    this.sights.read(this.events.records)
  }

  log(line: string): void {
    // what the relay catches and logs as its own failure happens to no relay that works
    if (
      /"(settle|message|notifier|conclusion|silence|request|mark|press|slack_reply)_failed"/.test(
        line,
      ) ||
      /"(subscription|alert)_failed"/.test(line)
    ) {
      this.broke('unexpected', line)
    }
    const leaked =
      this.parts.secrets.find((secret) => line.includes(secret)) ?? this.subscriptions.leakIn(line)
    if (leaked !== undefined || line.includes('/approve/')) {
      this.broke('secrets', `a log line shows one: ${line.slice(0, 60)}`)
    }
  }

  crashed(process: Process): void {
    const { name } = process
    this.sights.crashed()
    this.stats.crashes += 1
    this.note(`${name} crashes`)
    this.events.crashed()
    this.messages.crashed(name)
  }

  /** A process looked around, and knows when it has to do so next. */
  turned(nextDueAt: number | undefined, askedAt: number): void {
    // a write that came meanwhile may be due
    if (nextDueAt !== undefined || this.#writtenAt >= askedAt) this.quietSince = undefined
    else this.quietSince ??= this.now
    this.events.checkApprovals()
  }

  committed(process: string, commit: Commit, outcome: string): void {
    if (outcome !== 'committed') return
    this.#written()
    const { record } = commit
    const key = `${record.fleet}/${record.eventId}`
    const before = this.events.records.get(key)
    this.moments.committed(commit.moments)
    this.shipping.committed(key, commit.moments)
    this.subscriptions.committed(commit.moments)
    this.planned(commit.deliveries)
    const deliveries = commit.deliveries.filter(({ channel }) => !readStoredId(channel))
    this.events.committed(process, { ...commit, deliveries })
    this.sights.committed(key, before, record)
    this.hooks.committed(key, before, record)
  }

  turns(requests: Claimed[][], { now }: ClaimRequest): void {
    this.messages.turns(requests, now)
  }

  gaveBack(channel: string): void {
    this.messages.gaveBack(channel)
  }

  claimedOne(process: string, one: Claimed, until: number): void {
    this.messages.claimed(process, one, until)
    this.subscriptions.claimed(one)
  }

  #written(): void {
    this.quietSince = undefined
    this.#writtenAt = this.now
  }

  /** Of one channel, or of all that are configured. */
  replayed(channel: string | undefined): void {
    this.#written()
    if (channel === undefined) this.messages.replayed()
  }

  planned(deliveries: Delivery[]): void {
    if (deliveries.length > 0) this.#written()
    this.messages.planned(deliveries)
    this.marks.planned(deliveries)
    for (const book of this.books.values()) book.planned?.(deliveries)
    this.subscriptions.planned(deliveries)
  }

  settledOne(claimed: Claimed, settlement: Pick<Settlement, 'state' | 'note'>): void {
    this.messages.settled(claimed, settlement, 'settled')
    this.subscriptions.settled(claimed, settlement)
  }

  settleLost(claimed: Claimed, settlement: Settlement): void {
    this.messages.settled(claimed, settlement, 'lost')
  }

  accepted(part: Part, request: Sent): void {
    this.messages.accepted(part, request)
  }

  turnedAway(claimed: Claimed, fate: string): void {
    const { channel, notification, eventId } = claimed
    this.note(`${channel} ${fate} "${notification.moment}" of ${eventId}`)
    this.messages.turnedAway(claimed, fate)
  }

  answerLost(claimed: Claimed): void {
    this.messages.answerLost(claimed)
  }

  acknowledged(beacon: Beacon, report: Report, answer: Answer): void {
    this.events.acknowledged(beacon, report, answer)
    this.sights.acknowledged(beacon, report, answer)
    const { fleet, name } = beacon.vm
    if (answer.outcome === 'accepted') this.hooks.acknowledged(fleet, name, report)
  }

  /** A VM begins to prepare for an event. */
  prepares(vm: PlannedVm, eventId: string): void {
    const { fleet, name } = vm
    const key = `${fleet}/${eventId}`
    const { acked } = this.parts.beacons().find((one) => one.vm === vm) ?? {}
    this.note(`${name} prepares for ${key}`)
    this.hooks.prepares(key, this.events.records.get(key), acked?.ackedAt ?? 0)
  }

  asked(beacon: Beacon, eventId: string): void {
    this.events.asked(beacon, eventId)
    const key = `${beacon.vm.fleet}/${eventId}`
    const record = this.events.records.get(key)
    if (record !== undefined) this.hooks.asked(key, beacon.vm.name, record)
  }

  /** Resource Manager is about to start the event. `seen`: as Azure's list may have shown it lately. */
  acknowledges(fleet: FleetName, seen: ScheduledEvent[]): void {
    const key = `${fleet}/${seen[0]?.eventId}`
    const reasons = seen.map((one) => this.approvals.whyUncovered(key, one))
    if (reasons.includes(undefined)) return
    this.broke('unasked', `the relay is about to start ${key}, but ${reasons.join('; ')}`)
  }

  started(fleet: FleetName, vm: string, eventId: string): void {
    this.events.started(fleet, vm, eventId)
  }

  /** Returns who is to be told what came of it. */
  pressed(press: Press): (said: Said | undefined) => void {
    const { by, decision, key, eventId, stamp } = press
    const who = `${by.how}:${by.who}`
    this.note(`${who} presses ${decision} for ${key}, having seen ${stamp}`)
    const noted = this.approvals.pressed(press)
    return (said) => {
      this.note(`${who} is answered ${said ?? 'nothing'} for ${eventId}`)
      this.approvals.answered(noted, said, this.events.records.get(key))
    }
  }

  answeredAdmin(id: string, reply: { status: number; text: string } | undefined): void {
    const said = reply === undefined ? 'nothing' : `${reply.status} ${reply.text.slice(0, 20)}`
    this.note(`they are answered ${said} for ${id}`)
  }
}
