// Explains why a rule does not match an event. Asks `matchEvent` about each condition, so that the
// explanation cannot differ from what the relay decides.
import { eventTypes, isAdvice, isSameName } from '../../shared/document.ts'
import { looksSecret, notShown } from '../../shared/presentable.ts'
import type { EventRecord } from '../core/event/event.ts'
import type { KnownVm } from '../core/event/sight.ts'
import { type Match, matchEvent } from '../core/rules/match.ts'
import type { PolicyRule } from '../core/rules/policy.ts'
import { conditionsOnVms } from './cover.ts'

/** Undefined if the rule decides the event, provided that no earlier one does. */
export function whyNotDecided(
  { match, decide }: PolicyRule,
  record: EventRecord,
  vms: KnownVm[],
): string | undefined {
  const { eventType } = record.facts
  if (decide === 'approve' && isAdvice(record.facts)) {
    return `no rule approves "${eventType}", which is advice`
  }
  if (decide === 'approve' && !eventTypes.some((type) => type === eventType)) {
    return `no rule approves "${eventType}", an unknown type`
  }
  const why = whyNoMatch(match, record, vms)
  if (why !== undefined || decide !== 'approve') return why
  const extentOn = (resources: string[]) =>
    matchEvent(match, record.fleet, { ...record.facts, resources }, vms)
  const { resources } = record.facts
  if (extentOn(resources) === 'every') return undefined
  const misses = resources.filter((name) => extentOn([name]) === 'none')
  const which = misses.map((name) => `"${name}"`).join(', ')
  return `approve must match every VM, and ${conditionsOnVms(match).join(', ')} does not match ${which}`
}

/** Undefined if the conditions hold for at least one VM. */
export function whyNoMatch(match: Match, record: EventRecord, vms: KnownVm[]): string | undefined {
  const fails = (part: Match) => matchEvent(part, record.fleet, record.facts, vms) === 'none'
  if (!fails(match)) return undefined
  const keys = (Object.keys(match) as (keyof Match)[]).filter((key) => match[key] !== undefined)
  const failing = keys.filter((key) => fails({ [key]: match[key] }))
  const reasons = failing.map((key) => reasonFor(key, match, record, vms))
  if (reasons.length > 0) return reasons.join('; ')
  return `no single VM meets ${conditionsOnVms(match).join(' and ')} at once`
}

function reasonFor(
  key: keyof Match,
  match: Match,
  { fleet, facts }: EventRecord,
  vms: KnownVm[],
): string {
  const wanted = [match[key]]
    .flat()
    .map((value) => (looksSecret(String(value)) ? notShown : JSON.stringify(value)))
  const not = wanted.length === 1 ? `not ${wanted[0]}` : `none of ${wanted.join(', ')}`
  const { durationSeconds: seconds, source } = facts
  if (key === 'fleet') return `fleet is "${fleet}", ${not}`
  if (key === 'eventType') return `eventType is "${facts.eventType}", ${not}`
  if (key === 'source')
    return source ? `source is "${source}", ${not}` : `source is unknown, ${not}`
  if (key === 'maxDurationSeconds') {
    const known = seconds !== undefined && seconds >= 0
    return known ? `duration is ${seconds} s, over ${wanted[0]}` : 'duration is unknown'
  }
  if (facts.resources.length === 0) return `${key}: no VM is named`
  const known = facts.resources.filter((name) => isKnown(name, vms))
  const hidden = key !== 'resource' && known.length < facts.resources.length
  const unknown = hidden ? ' (some are unknown, because their beacons have not reported)' : ''
  return `${key}: no affected VM has ${wanted.join(' or ')}${unknown}`
}

function isKnown(name: string, vms: KnownVm[]): boolean {
  return vms.filter(({ vm }) => isSameName(vm, name)).length === 1
}
