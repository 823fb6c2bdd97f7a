// What would become of an event: which rule decides and why, and who would hear of each moment. The
// relay's own functions judge it; only what Azure and people do is made up.
import type { ScheduledEvent } from '../../shared/document.ts'
import { commitPlan } from '../core/delivery/commit.ts'
import type { Delivery } from '../core/delivery/delivery.ts'
import { assumedObserver } from '../core/event/drill.ts'
import {
  type Decide,
  type EventRecord,
  type KnownVm,
  type Moment,
  type Observer,
  type OpenRecord,
  type Verdict,
  withEnd,
  withStarted,
} from '../core/event/event.ts'
import { type Rules, withPolicy } from '../core/event/judgement.ts'
import { nextReminder, remind } from '../core/event/reminder.ts'
import { asksFor } from '../core/message/message.ts'
import { decidersOf } from '../core/rules/permission.ts'
import { remindersOf } from '../core/rules/policy.ts'
import { decidesHere } from '../use-cases/decision-buttons.ts'
import { channelFacts, type Relay } from '../use-cases/relay.ts'
import { whyNoMatch, whyNotDecided } from './explain.ts'

export interface Case {
  fleet: string
  event: ScheduledEvent
  /** VMs whose beacon reports; of others only the name is known. */
  vms: KnownVm[]
  /** From first sight to NotBefore. */
  noticeSeconds: number
}

export interface Rule {
  /** `policy[0]`, with its own name where it has one. */
  rule: string
  /** Undefined where it holds. */
  whyNot: string | undefined
}

export interface Outcome {
  decide: Decide
  /** Rules of the policy up to the one that decides; where none does, people are asked. */
  asked: Rule[]
  routes: Rule[]
  /** Who may decide, beside the admin key; absent where there is nothing to decide. */
  deciders?: 'anybody' | string[]
  /** Channels whose messages decide by buttons. */
  buttons: string[]
  told: Told[]
  /** Absent where it is no other: while no beacon of a VM that is hit has reported the event. */
  before?: { decide: Decide; by: Rule | undefined; told: Told | undefined }
}

export interface Told {
  moment: string
  channels: string[]
  /** Those of them that hear of it only after something that may not come, as a reminder. */
  onlyAfter?: string[]
}

export function dryRun(relay: Pick<Relay, 'config' | 'notifiers'>, one: Case): Outcome {
  const { config } = relay
  const observers = one.vms.map((vm) => assumedObserver(one.fleet, one.event, vm))
  const record = withPolicy(config, recordOf(one), observers)
  const routes = config.routes.map(({ match }, i) => ({
    rule: `routes[${i}]`,
    whyNot: whyNoMatch(match, record, observers),
  }))
  const told = tell(relay, record, observers)
  const before = beforeKnown(relay, one, record, told)
  const { decide } = record.policy
  const isOpen = record.phase === 'scheduled' && (decide === 'ask' || decide === 'notify')
  return {
    decide,
    asked: askedOf(config, record, observers),
    routes,
    ...(isOpen ? { deciders: decidersOf(config.routes, record, observers) } : {}),
    buttons: asksFor(record, 0)
      ? Object.keys(config.channels).filter((name) => decidesHere(relay, record, observers, name))
      : [],
    told,
    ...(before === undefined ? {} : { before }),
  }
}

/** Rules of the policy up to the one that decides. */
function askedOf({ policy }: Rules, record: EventRecord, observers: Observer[]): Rule[] {
  const rules = policy.map((rule, i) => ({
    rule: rule.name === `policy[${i}]` ? rule.name : `policy[${i}] "${rule.name}"`,
    whyNot: whyNotDecided(rule, record, observers),
  }))
  const decided = rules.findIndex(({ whyNot }) => whyNot === undefined)
  return decided === -1 ? rules : rules.slice(0, decided + 1)
}

/** What comes of it where another VM's beacon is the first to report it, if that is anything else. */
function beforeKnown(
  relay: Pick<Relay, 'config' | 'notifiers'>,
  one: Case,
  known: EventRecord,
  told: Told[],
): Outcome['before'] {
  const record = withPolicy(relay.config, recordOf(one), [])
  const [first] = tell(relay, record, [])
  const hears = (row: Told | undefined) => row?.channels.toSorted().join()
  const isSame = record.policy.rule === known.policy.rule && hears(first) === hears(told[0])
  if (isSame) return undefined
  const by = askedOf(relay.config, record, []).find(({ whyNot }) => whyNot === undefined)
  return { decide: record.policy.decide, by, told: first }
}

/** Who hears of each moment that may come, in the order of an event's life. */
function tell(
  relay: Pick<Relay, 'config' | 'notifiers'>,
  record: OpenRecord,
  observers: Observer[],
): Told[] {
  const told: Told[] = []
  const sure: Delivery[] = []
  /** Of what may come or not. */
  const maybe: Delivery[] = []
  const say = (moment: Moment, at: EventRecord, label: string = moment, before = sure) => {
    const plan = (existing: Delivery[]) =>
      commitPlan(
        relay.config.routes,
        channelFacts(relay),
        undefined,
        { record: at, moments: [moment] },
        { observers, deliveries: existing, now: 0 },
      ).deliveries
    const deliveries = plan([...before, ...maybe])
    const channels = deliveries.map(({ channel }) => channel)
    const always = plan(before).map(({ channel }) => channel)
    const onlyAfter = channels.filter((name) => !always.includes(name))
    told.push({ moment: label, channels, ...(onlyAfter.length > 0 && { onlyAfter }) })
    return deliveries
  }
  if (record.phase === 'scheduled') {
    const { decide, rule } = record.policy
    sure.push(...say('scheduled', record))
    if (decide === 'approve') {
      sure.push(...say('approved', decidedBy(record, 'approved', 'policy', rule)))
    }
    maybe.push(...say('changed', record))
    for (const { at, label } of remindersFor(record, remindersOf(relay.config.routes))) {
      maybe.push(...say('reminder', at, label))
    }
    // what is only told may be decided all the same: its messages have the link
    if (decide === 'ask' || decide === 'notify') {
      say('approved', decidedBy(record, 'approved', 'link', 'somebody'))
      say('declined', decidedBy(record, 'declined', 'link', 'somebody'))
    }
    if (decide !== 'ignore') maybe.push(...say('stuck', record))
  }
  const started = withStarted(record, 0)
  const begun = say('started', started)
  const completed = withEnd(started, { at: 0, outcome: 'completed' })
  say('completed', completed, 'completed', [...sure, ...begun])
  if (record.phase === 'scheduled') {
    say('cancelled', withEnd(record, { at: 0, outcome: 'cancelled' }))
    maybe.push(...begun)
  } else sure.push(...begun)
  say('lost', withEnd(record, { at: 0, outcome: 'lost' }))
  return told
}

function remindersFor(first: OpenRecord, beforeSeconds: number[]) {
  const found: { at: EventRecord; label: string }[] = []
  let record = first
  for (;;) {
    const next = nextReminder(record, beforeSeconds)
    const at = next && remind(record, beforeSeconds, Math.max(0, next.at))
    if (at === undefined) return found
    const late = at.reminder?.late ? ' (at once)' : ''
    found.push({ at, label: `reminder ${at.reminder?.beforeSeconds} s${late}` })
    record = at
  }
}

function decidedBy(
  record: EventRecord,
  decision: Verdict['decision'],
  how: Verdict['how'],
  who: string,
): EventRecord {
  return { ...record, verdict: { decision, how, who, at: 0 } }
}

function recordOf({ fleet, event, noticeSeconds }: Case): OpenRecord {
  const { eventId, status, notBeforeAt: _, ...facts } = event
  const started = status === 'Started'
  return {
    fleet,
    eventId,
    epoch: 1,
    ...(started ? { phase: 'started', startedAt: 0 } : { phase: 'scheduled' }),
    facts: started ? facts : { ...facts, notBeforeAt: noticeSeconds * 1_000 },
    firstSeenAt: 0,
    policy: { decide: 'ask', rule: '' },
    watchers: [],
    history: [],
    sequence: 0,
  }
}
