// What the owner wants done with an event: the first rule that matches decides.
import { eventTypes } from '../../../shared/document.ts'
import { type Decide, defaultRule, type EventRecord, type ScopedVm } from '../event/event.ts'
import type { KnownVm } from '../event/sight.ts'
import { hitNames, knownVm, type Match, matchEvent, matchVm, tagIn } from './match.ts'

export interface PolicyRule {
  /** `policy[0]`, or the owner's own name. */
  name: string
  match: Match
  decide: Decide
  /** Approves only once every affected VM is ready. */
  whenReady?: boolean | undefined
  /** With `whenReady`: VMs prepare from this long before NotBefore on. */
  prepareBeforeSeconds?: number | undefined
  /** VMs of one group that this relay prepares or approves at the same time, see event/slots.ts. */
  maxConcurrent?: number | undefined
  /** Messages have a button that leads there. */
  runbook?: string | undefined
}

/**
 * The first rule that matches. An approval covers every VM in `Resources`, so *approve* must match
 * all of them with known values. The other decisions need one match. Without a rule, or while an
 * earlier rule may turn out to match, people are asked.
 */
export function judgePolicy(
  rules: PolicyRule[],
  record: EventRecord,
  vms: KnownVm[],
): EventRecord['policy'] {
  const rule = ruleFor(rules, record, vms)
  if (rule === undefined) return { decide: 'ask', rule: defaultRule }
  const { name, decide, whenReady, prepareBeforeSeconds, maxConcurrent, runbook } = rule
  return {
    decide,
    rule: name,
    ...(whenReady && { whenReady }),
    ...(prepareBeforeSeconds !== undefined && { prepareBeforeSeconds }),
    ...(maxConcurrent !== undefined && { maxConcurrent }),
    ...(runbook !== undefined && { runbook }),
  }
}

/**
 * Undefined: people are asked. An *approve* rule decides only if no earlier rule that decides
 * otherwise may still match: more may become known of the event or its VMs.
 */
export function ruleFor(
  rules: PolicyRule[],
  record: EventRecord,
  vms: KnownVm[],
): PolicyRule | undefined {
  const rule = rules[firstMatch(rules, record, vms)]
  if (rule?.decide !== 'approve') return rule
  return openBefore(rules, rule, record, vms) === undefined ? rule : undefined
}

/** The earlier rule that keeps this one from approving, as it may still match. */
export function openBefore(
  rules: PolicyRule[],
  rule: PolicyRule,
  record: EventRecord,
  vms: KnownVm[],
): PolicyRule | undefined {
  return rules
    .slice(0, rules.indexOf(rule))
    .find(({ match, decide }) => decide !== 'approve' && mayMatch(match, record, vms))
}

/** The place of the first rule that matches by what is known; -1 without one. */
function firstMatch(rules: PolicyRule[], record: EventRecord, vms: KnownVm[]): number {
  return rules.findIndex(({ match, decide }) => {
    const extent = matchEvent(match, record.fleet, record.facts, vms)
    return decide === 'approve' ? extent === 'every' && isKnownType(record) : extent !== 'none'
  })
}

/** Whether a rule that needs one VM may match one. */
function mayMatch(match: Match, record: EventRecord, vms: KnownVm[]): boolean {
  return hitNames(record.facts).some((name) => matchVm(match, record, name, vms) !== 'fails')
}

/**
 * Whether a rule that prepares VMs in turns may decide the event once the beacons of all affected
 * VMs have reported it.
 */
export function mayTakeSlots(rules: PolicyRule[], record: EventRecord, vms: KnownVm[]): boolean {
  const place = firstMatch(rules, record, vms)
  const isOpen = ruleFor(rules, record, vms) === undefined
  const possible = place === -1 ? rules : rules.slice(0, isOpen ? place + 1 : place)
  return possible.some(
    ({ match, decide, whenReady, maxConcurrent }) =>
      decide === 'approve' &&
      whenReady === true &&
      maxConcurrent !== undefined &&
      isKnownType(record) &&
      record.facts.resources.every((vm) => matchVm(match, record, vm, vms) !== 'fails'),
  )
}

/** What the rules up to this one read of these VMs, as known. Empty if they read only names. */
export function readBy(
  rules: PolicyRule[],
  rule: string,
  names: string[],
  vms: KnownVm[],
): ScopedVm[] {
  const asked = rules.slice(0, rules.findLastIndex(({ name }) => name === rule) + 1)
  const counts = asked.some(({ maxConcurrent }) => maxConcurrent !== undefined)
  const readsGroup = counts || asked.some(({ match }) => match.resourceGroup !== undefined)
  const readsSet = counts || asked.some(({ match }) => match.scaleSet !== undefined)
  const wanted = asked.flatMap(({ match }) => match.tag ?? [])
  if (!readsGroup && !readsSet && wanted.length === 0) return []
  const tagNames = [...new Set(wanted.map((tag) => tag.split('=', 1)[0]!.toLowerCase()))]
  return names.flatMap((name) => {
    const vm = knownVm(name, vms)
    if (vm === undefined) return []
    const tags = tagNames.map((tag) => [tag, tagIn(vm.tags, tag)?.value ?? null])
    const read = {
      name: name.toLowerCase(),
      ...(readsGroup && { resourceGroup: vm.resourceGroup }),
      ...(readsSet && { scaleSet: vm.scaleSet }),
      ...(tags.length > 0 && { tags: Object.fromEntries(tags) }),
    }
    return [read]
  })
}

function isKnownType({ facts }: EventRecord): boolean {
  return eventTypes.some((type) => type === facts.eventType)
}
