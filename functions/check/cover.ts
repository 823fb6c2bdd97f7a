// Whether one rule matches every event that another rule matches. If it is uncertain, the answer is
// no: a wrong warning is worse than none.
import { isSameName, knownType } from '../../shared/document.ts'
import { type Moment, moments } from '../core/event/moment.ts'
import { type Match, matchesGlob } from '../core/rules/match.ts'
import type { PolicyRule } from '../core/rules/policy.ts'
import type { Route } from '../core/rules/routes.ts'

/** Conditions on VMs, and whether a value of the outer rule covers a value of the inner one. */
const vmConditions = {
  resource: globCovers,
  resourceGroup: isSameName,
  scaleSet: isSameName,
  tag: tagCovers,
} as const

/** Whether a rule has conditions beyond fleet, type and source. Another time is one. */
export function isNarrow(match: Match): boolean {
  const { maxDurationSeconds, time } = match
  return [maxDurationSeconds, time, ...conditionsOnVms(match)].some((one) => one !== undefined)
}

export function conditionsOnVms(match: Match): (keyof typeof vmConditions)[] {
  const keys = Object.keys(vmConditions) as (keyof typeof vmConditions)[]
  return keys.filter((key) => match[key] !== undefined)
}

/** Whether a rule can match events of this kind. Unless it is narrow, it always does. */
export function mayMatch(match: Match, fleet: string, eventType: string, source: string): boolean {
  return (
    (match.fleet?.includes(fleet) ?? true) &&
    (match.eventType?.some((one) => isSameName(one, eventType)) ?? true) &&
    (match.source?.some((one) => isSameName(one, source)) ?? true)
  )
}

/** Whether `earlier` certainly decides every event that `later` would. */
export function preempts(earlier: PolicyRule, later: PolicyRule, fleets: string[]): boolean {
  const needs = ({ decide }: PolicyRule) => (decide === 'approve' ? 'every' : 'some')
  // no rule approves an unknown type, so its events pass on to later rules
  const passesOn = needs(earlier) === 'every' && needs(later) === 'some' && !isKnown(later.match)
  return !passesOn && covers(earlier, later, fleets, needs(earlier), needs(later))
}

/** Whether, for every moment of `later`, an earlier route certainly stops it. */
export function isHidden(later: Route, earlier: Route[], fleets: string[]): boolean {
  const stops = earlier.filter(
    (one) => one.continue === false && covers(one, later, fleets, 'every', 'some'),
  )
  const steps = (later.moments ?? moments).filter((moment) => moment !== 'reminder')
  const wants = (route: Route, moment: Moment) => route.moments?.includes(moment) ?? true
  return (
    steps.every((moment) => stops.some((one) => wants(one, moment))) &&
    // each reminder counts as a moment of its own
    (later.remindBeforeSeconds ?? []).every((seconds) =>
      stops.some((one) => one.remindBeforeSeconds?.includes(seconds) && wants(one, 'reminder')),
    )
  )
}

/** How many of the affected VMs a rule must match. */
type Need = 'every' | 'some'

function covers(
  { match: outer }: { match: Match },
  { match: inner }: { match: Match },
  fleets: string[],
  outerNeeds: Need,
  innerNeeds: Need,
): boolean {
  const each = (
    outer: string[] | undefined,
    inner: string[] | undefined,
    holds: (outer: string, inner: string) => boolean,
  ) =>
    outer === undefined ||
    (inner?.every((value) => outer.some((one) => holds(one, value))) ?? false)
  const short = outer.maxDurationSeconds
  const ofVms = conditionsOnVms(outer)
  return (
    each(outer.fleet, inner.fleet ?? fleets, (one, other) => one === other) &&
    each(outer.eventType, inner.eventType, isSameName) &&
    each(outer.source, inner.source, isSameName) &&
    (outer.time === undefined || JSON.stringify(outer.time) === JSON.stringify(inner.time)) &&
    (short === undefined || (inner.maxDurationSeconds ?? Number.POSITIVE_INFINITY) <= short) &&
    (ofVms.length === 0 || outerNeeds === 'some' || innerNeeds === 'every') &&
    ofVms.every((key) => each(outer[key], inner[key], vmConditions[key]))
  )
}

function isKnown({ eventType }: Match): boolean {
  return eventType?.every((one) => knownType(one) !== undefined) ?? false
}

/** Certain for equal globs, for a name, and for `web*` over `web_*`. */
function globCovers(outer: string, inner: string): boolean {
  if (isSameName(outer, inner) || outer === '*') return true
  if (!/[*?]/.test(inner)) return matchesGlob(outer, inner)
  const start = /^([^*?]+)\*$/.exec(outer)?.[1]?.toLowerCase()
  return start !== undefined && inner.toLowerCase().startsWith(start)
}

function tagCovers(outer: string, inner: string): boolean {
  const [name = '', ...value] = outer.split('=')
  const [innerName = '', ...innerValue] = inner.split('=')
  if (!isSameName(name, innerName)) return false
  return value.length === 0 || (innerValue.length > 0 && value.join('=') === innerValue.join('='))
}
