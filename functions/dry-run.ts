// What would become of an event: which rule decides and why, and who would hear of each moment. The
// relay's own functions judge it; only what Azure and people do is made up.
import type { ScheduledEvent } from '../shared/document.ts'
import type { Delivery } from './core/delivery.ts'
import { standIn } from './core/drill.ts'
import type { Decide, EventRecord, KnownVm, Moment, Observer, Verdict } from './core/event.ts'
import { whyNoMatch, whyNotDecided } from './core/explain.ts'
import { withPolicy } from './core/judgement.ts'
import { asksFor } from './core/message.ts'
import { decidersOf, decidesInSlack } from './core/permission.ts'
import { remindersOf } from './core/policy.ts'
import { nextReminder, remind } from './core/reminder.ts'
import { commitOf, type Relay } from './relay.ts'

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
  told: { moment: string; channels: string[] }[]
}

export function dryRun(relay: Pick<Relay, 'config' | 'notifiers'>, one: Case): Outcome {
  const { config } = relay
  const observers = one.vms.map((vm) => standIn(one.fleet, one.event, vm))
  const record = withPolicy(config, recordOf(one), observers)
  const rules = config.policy.map((rule, i) => ({
    rule: rule.name === `policy[${i}]` ? rule.name : `policy[${i}] "${rule.name}"`,
    whyNot: whyNotDecided(rule, record, observers),
  }))
  const decided = rules.findIndex(({ whyNot }) => whyNot === undefined)
  const routes = config.routes.map(({ match }, i) => ({
    rule: `routes[${i}]`,
    whyNot: whyNoMatch(match, record, observers),
  }))
  const { decide } = record.policy
  const isOpen = record.phase === 'scheduled' && (decide === 'ask' || decide === 'tell')
  return {
    decide,
    asked: decided === -1 ? rules : rules.slice(0, decided + 1),
    routes,
    ...(isOpen ? { deciders: decidersOf(config.routes, record, observers) } : {}),
    buttons: Object.entries(config.channels).flatMap(([name, { kind }]) =>
      asksFor(record, 0) &&
      ['slack', 'slack_bot'].includes(kind) &&
      decidesInSlack(config.routes, record, observers, name)
        ? [name]
        : [],
    ),
    told: tell(relay, record, observers),
  }
}

/** Who hears of each moment that may come, in the order of an event's life. */
function tell(
  relay: Pick<Relay, 'config' | 'notifiers'>,
  record: EventRecord,
  observers: Observer[],
): Outcome['told'] {
  const existing: Delivery[] = []
  const told: Outcome['told'] = []
  const say = (moment: Moment, at: EventRecord, label: string = moment) => {
    const context = { observers, existing, now: 0 }
    const { deliveries } = commitOf(relay, undefined, at, [moment], context)
    told.push({ moment: label, channels: deliveries.map(({ channel }) => channel) })
    return deliveries
  }
  if (record.phase === 'scheduled') {
    const { decide, rule } = record.policy
    existing.push(...say('scheduled', record))
    if (decide === 'approve') {
      existing.push(...say('approved', decidedBy(record, 'approved', 'policy', rule)))
    }
    say('changed', record)
    for (const { at, label } of remindersFor(record, remindersOf(relay.config.routes))) {
      existing.push(...say('reminder', at, label))
    }
    // what is only told may be decided all the same: its messages have the link
    if (decide === 'ask' || decide === 'tell') {
      say('approved', decidedBy(record, 'approved', 'link', 'somebody'))
      say('declined', decidedBy(record, 'declined', 'link', 'somebody'))
    }
    if (decide !== 'ignore') say('stuck', record)
  }
  const started: EventRecord = { ...record, phase: 'started' }
  existing.push(...say('started', started))
  say('completed', { ...started, phase: 'completed', ended: { at: 0, outcome: 'completed' } })
  if (record.phase === 'scheduled') {
    say('cancelled', { ...record, phase: 'cancelled', ended: { at: 0, outcome: 'cancelled' } })
  }
  say('lost', { ...record, ended: { at: 0, outcome: 'lost' } })
  return told
}

function remindersFor(first: EventRecord, beforeSeconds: number[]) {
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

function recordOf({ fleet, event, noticeSeconds }: Case): EventRecord {
  const { eventId, status, notBeforeAt: _, ...facts } = event
  const phase = status === 'Started' ? 'started' : 'scheduled'
  return {
    fleet,
    eventId,
    epoch: 1,
    phase,
    facts: phase === 'started' ? facts : { ...facts, notBeforeAt: noticeSeconds * 1_000 },
    firstSeenAt: 0,
    policy: { decide: 'ask', rule: '' },
    watchers: [],
    history: [],
    sequence: 0,
  }
}
