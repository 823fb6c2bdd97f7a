// A dry run: which rule decides an event and why, and which channels are notified of each moment.
// It uses the relay's own functions; only the actions of Azure and of people are simulated.
import { isAdvice, type ScheduledEvent } from '../../shared/document.ts'
import { commitPlan } from '../core/delivery/commit.ts'
import type { Delivery } from '../core/delivery/delivery.ts'
import {
  type Decide,
  type Decided,
  type EventRecord,
  fresh,
  type OpenRecord,
  withEnd,
  withStarted,
} from '../core/event/event.ts'
import type { Moment } from '../core/event/moment.ts'
import { nextReminder, remind } from '../core/event/reminder.ts'
import { withPolicy } from '../core/event/rule-approves.ts'
import { toShown } from '../core/event/shown.ts'
import type { KnownVm, Sight } from '../core/event/sight.ts'
import { asksFor } from '../core/message/step.ts'
import type { Match } from '../core/rules/match.ts'
import { listDeciders } from '../core/rules/permission.ts'
import { openBefore, type PolicyRule } from '../core/rules/policy.ts'
import { listReminders } from '../core/rules/routes.ts'
import { activeAt, isWithinTime, nextChange } from '../core/rules/time.ts'
import { decidesHere } from '../use-cases/decision-buttons.ts'
import { type ChannelParts, channelFacts } from '../use-cases/relay.ts'
import { whyNoMatch, whyNotDecided } from './explain.ts'

export interface Case {
  fleet: string
  event: ScheduledEvent
  /** VMs whose beacon reports. Of other VMs only the name is known. */
  vms: KnownVm[]
  /** Time from the first sight to NotBefore. */
  noticeSeconds: number
  /** When the event happens, epoch ms: rules and routes may depend on it. */
  at: number
}

export interface Rule {
  /** `policy[0]`, with its own name where it has one. */
  rule: string
  /** Undefined if the rule matches. */
  whyNot: string | undefined
}

export interface Outcome {
  decide: Decide
  /** What the rule waits for before it approves. */
  waits: { whenReady?: true; maxConcurrent?: number } | undefined
  /** Rules of the policy up to the one that decides or may decide later. Else people are asked. */
  rules: Rule[]
  routes: Rule[]
  /** Who may decide, besides the admin key and tokens. Absent if there is nothing to decide. */
  deciders?: 'anybody' | string[]
  /** Channels whose messages have buttons that decide. */
  buttons: string[]
  notified: Notified[]
  /** When a rule or route next begins or ends, and what is decided then. Absent if none has a time. */
  change?: { at: number; which: string[]; decide: Decide; rule: string }
  /** The outcome until a beacon of an affected VM has reported. Absent if it is the same. */
  before?: { decide: Decide; by: Rule | undefined; notified: Notified | undefined }
}

export interface Notified {
  moment: string
  channels: string[]
  /** The channels that are notified only after another moment that may not come, such as a reminder. */
  onlyAfter?: string[]
}

export function dryRun(relay: ChannelParts, one: Case): Outcome {
  const { config } = relay
  const { vms } = one
  const record = withPolicy(activeAt(config.policy, one.at), buildRecord(one))
  const routes = config.routes.map(({ match }, i) => ({
    rule: `routes[${i}]`,
    whyNot: whyNotNow(match, one.at) ?? whyNoMatch(match, record, vms),
  }))
  const notified = listNotified(relay, record, one.at)
  const change = changeAfter(relay, one)
  const before = beforeKnown(relay, one, record, notified)
  const { decide } = record.policy
  const waits = record.phase === 'scheduled' ? listWaits(record) : undefined
  const mayDecide = decide === 'ask' || decide === 'notify' || waits !== undefined
  const isOpen = record.phase === 'scheduled' && mayDecide
  return {
    decide,
    waits,
    rules: rulesTried(config.policy, record, vms, one.at),
    routes,
    ...(isOpen ? { deciders: listDeciders(config.routes, record, vms) } : {}),
    buttons: asksFor(record, 0)
      ? Object.keys(config.channels).filter((name) => decidesHere(relay, record, name))
      : [],
    notified,
    ...(change === undefined ? {} : { change }),
    ...(before === undefined ? {} : { before }),
  }
}

/** Undefined if no rule and no route begins or ends within a week. */
function changeAfter({ config }: ChannelParts, one: Case): Outcome['change'] {
  const rules = config.policy.map((rule, i) => ({
    name: describeCase(rule, i),
    time: rule.match.time,
  }))
  const routes = config.routes.map(({ match: { time } }, i) => ({ name: `routes[${i}]`, time }))
  const all = [...rules, ...routes]
  const times = all.map(({ time }) => time)
  const at = nextChange(times, one.at)
  if (at === undefined) return undefined
  const changed = all.filter(({ time }) => isWithinTime(time, at) !== isWithinTime(time, one.at))
  const which = changed.map(
    ({ name, time }) => `${name} ${isWithinTime(time, at) ? 'begins' : 'ends'}`,
  )
  const { decide, rule } = withPolicy(activeAt(config.policy, at), buildRecord(one)).policy
  return { at, which, decide, rule }
}

function describeCase({ name }: PolicyRule, place: number): string {
  return name === `policy[${place}]` ? name : `policy[${place}] "${name}"`
}

/** Undefined if the rule or route counts at this time. */
function whyNotNow({ time }: Match, at: number): string | undefined {
  if (isWithinTime(time, at)) return undefined
  return `its time is ${time!.map(({ text }) => text).join(' or ')}`
}

function listWaits({ policy }: EventRecord): Outcome['waits'] {
  const { decide, whenReady, maxConcurrent } = policy
  if (decide !== 'approve' || (!whenReady && maxConcurrent === undefined)) return undefined
  return { ...(whenReady && { whenReady }), ...(maxConcurrent !== undefined && { maxConcurrent }) }
}

function rulesTried(rules: PolicyRule[], record: EventRecord, vms: KnownVm[], now: number): Rule[] {
  const active = activeAt(rules, now)
  const tried: Rule[] = []
  for (const [place, one] of rules.entries()) {
    const rule = describeCase(one, place)
    const failing = whyNotNow(one.match, now) ?? whyNotDecided(one, record, vms)
    if (failing !== undefined) {
      tried.push({ rule, whyNot: failing })
      continue
    }
    const open = one.decide === 'approve' && openBefore(active, one, record, vms)
    const whyNot = open
      ? `${describeCase(open, rules.indexOf(open))} may match once more is known`
      : undefined
    return [...tried, { rule, whyNot }]
  }
  return tried
}

/** The outcome if another VM's beacon reports the event first. Undefined if it is the same. */
function beforeKnown(
  relay: ChannelParts,
  one: Case,
  known: EventRecord,
  notified: Notified[],
): Outcome['before'] {
  const record = withPolicy(activeAt(relay.config.policy, one.at), buildRecord({ ...one, vms: [] }))
  const [first] = listNotified(relay, record, one.at)
  const channelsIn = (row: Notified | undefined) => row?.channels.toSorted().join()
  const isSameRule = record.policy.rule === known.policy.rule
  if (isSameRule && channelsIn(first) === channelsIn(notified[0])) return undefined
  const by = rulesTried(relay.config.policy, record, [], one.at).find(
    ({ whyNot }) => whyNot === undefined,
  )
  return { decide: record.policy.decide, by, notified: first }
}

/** The channels of each moment that may come, in the order of an event's life. */
function listNotified(relay: ChannelParts, record: OpenRecord, now: number): Notified[] {
  const notified: Notified[] = []
  const sure: Delivery[] = []
  /** Deliveries of moments that may not come. */
  const maybe: Delivery[] = []
  const add = (moment: Moment, at: EventRecord, label: string = moment, before = sure) => {
    const plan = (existing: Delivery[]) =>
      commitPlan(
        relay.config.routes,
        channelFacts(relay),
        undefined,
        { record: at, moments: [moment] },
        { deliveries: existing, now, listeningSince: 0 },
      ).deliveries
    const deliveries = plan([...before, ...maybe])
    const channels = deliveries.map(({ channel }) => channel)
    const always = plan(before).map(({ channel }) => channel)
    const onlyAfter = channels.filter((name) => !always.includes(name))
    notified.push({ moment: label, channels, ...(onlyAfter.length > 0 && { onlyAfter }) })
    return deliveries
  }
  const reminders = listReminders(relay.config.routes)
  if (record.phase === 'scheduled') whileScheduled(record, reminders, add, sure, maybe)
  const started = withStarted(record, { at: 0 })
  const begun = add('started', started)
  const completed = withEnd(started, { at: 0, outcome: 'completed' })
  add('completed', completed, 'completed', [...sure, ...begun])
  if (record.phase === 'scheduled') {
    add('cancelled', withEnd(record, { at: 0, outcome: 'cancelled' }))
    maybe.push(...begun)
  } else sure.push(...begun)
  add('lost', withEnd(record, { at: 0, outcome: 'lost' }))
  return notified
}

/** The moments before the event starts. Adds their deliveries to `sure` and `maybe`. */
function whileScheduled(
  record: OpenRecord,
  reminders: number[],
  add: (moment: Moment, at: EventRecord, label?: string) => Delivery[],
  sure: Delivery[],
  maybe: Delivery[],
): void {
  const { decide, rule } = record.policy
  const waits = listWaits(record) !== undefined
  const asking = waits ? askedBy(record) : record
  sure.push(...add('scheduled', record))
  if (isAdvice(record.facts)) return
  if (decide === 'approve') {
    const approved = add('approved', decidedBy(record, 'approved', 'policy', rule))
    ;(waits ? maybe : sure).push(...approved)
  }
  maybe.push(...add('changed', record))
  if (waits) maybe.push(...add('not_ready', asking))
  for (const { at, label } of remindersFor(asking, reminders)) {
    maybe.push(...add('reminder', at, label))
  }
  // with "notify", messages still have the link, so people can decide
  if (decide === 'ask' || decide === 'notify') {
    add('approved', decidedBy(record, 'approved', 'link', 'somebody'))
  }
  if (decide === 'ask' || decide === 'notify' || waits) {
    add('declined', decidedBy(asking, 'declined', 'link', 'somebody'))
  }
  if (decide !== 'ignore') maybe.push(...add('stuck', record))
}

/** The rule waited in vain. */
function askedBy(record: OpenRecord): OpenRecord {
  const notReady = { at: 0, rule: record.policy.rule, why: 'not_ready_in_time' as const }
  return { ...record, wait: { notReady }, policy: { ...record.policy, decide: 'ask' } }
}

function remindersFor(first: OpenRecord, beforeSeconds: number[]) {
  const found: { at: EventRecord; label: string }[] = []
  let record = first
  for (;;) {
    const next = nextReminder(record, beforeSeconds)
    const at = next && remind(record, beforeSeconds, Math.max(0, next.at))
    if (at === undefined) return found
    const late = at.reminders.last?.late ? ' (at once)' : ''
    found.push({ at, label: `reminder ${at.reminders.last?.beforeSeconds} s${late}` })
    record = at
  }
}

function decidedBy(
  record: EventRecord,
  decision: Decided['decision'],
  how: Decided['how'],
  who: string,
): EventRecord {
  return { ...record, decided: { decision, how, who, at: 0 } }
}

function buildRecord({ fleet, event, vms, noticeSeconds }: Case): OpenRecord {
  const { eventId, status, notBeforeAt: _, ...facts } = event
  const started = status === 'Started'
  return {
    ...fresh,
    fleet,
    eventId,
    epoch: 1,
    ...(started ? { phase: 'started', started: { at: 0 } } : { phase: 'scheduled' }),
    facts: started ? facts : { ...facts, notBeforeAt: noticeSeconds * 1_000 },
    firstSeenAt: 0,
    sights: vms.map((vm) => assumedSight(event, vm)),
    history: [],
    sequence: 0,
  }
}

/** What the relay stores of a VM whose beacon reports the event. */
function assumedSight(event: ScheduledEvent, vm: KnownVm): Sight {
  const times = { heardAt: 0, polledAt: 0, bootedAt: 0, firstSeenAt: 0 }
  return { ...vm, ...times, beacon: vm.vm, bootId: '', counter: 0, shows: toShown(event) }
}
