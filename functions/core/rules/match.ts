// Whether the conditions of a rule hold for an event and for each VM that it hits.
import type { EventRecord } from '../event/event.ts'
import type { Facts } from '../event/facts.ts'
import type { KnownVm } from '../event/sight.ts'
import type { Time } from './time.ts'

/** Conditions of a rule. All must hold. Of a list, any value is enough. */
export interface Match {
  fleet?: string[] | undefined
  eventType?: string[] | undefined
  source?: string[] | undefined
  /** Globs over VM names: `*` any characters, `?` one. */
  resource?: string[] | undefined
  resourceGroup?: string[] | undefined
  scaleSet?: string[] | undefined
  /** `name` or `name=value`. */
  tag?: string[] | undefined
  maxDurationSeconds?: number | undefined
  /** When the rule or route counts, see `activeAt`. The functions of this file do not read it. */
  time?: Time
}

/** How many hit VMs a rule matches, with known values. */
type Extent = 'every' | 'some' | 'none'

/** Judges the event's own conditions first, then those of each VM it hits. */
export function matchEvent(match: Match, fleet: string, facts: Facts, vms: KnownVm[]): Extent {
  if (!matchesFacts(match, fleet, facts)) return 'none'
  if (!asksForVms(match)) return 'every'
  const matching = facts.resources.filter((name) => matchesVm(match, name, knownVm(name, vms)))
  if (matching.length === 0) return 'none'
  return matching.length === facts.resources.length ? 'every' : 'some'
}

/** Whether a rule matches one VM. `unknown`: the VM's beacon has not reported yet. */
export type Grip = 'holds' | 'unknown' | 'fails'

const unnamedVm = ''

/** The names for `matchVm`. An event that names no VM hits one about which nothing is known. */
export function hitNames({ resources }: Pick<Facts, 'resources'>): string[] {
  return resources.length === 0 ? [unnamedVm] : resources
}

/** Judges one VM of the event. */
export function matchVm(
  match: Match,
  { fleet, facts }: Pick<EventRecord, 'fleet' | 'facts'>,
  name: string,
  vms: KnownVm[],
): Grip {
  // older api-versions do not show these; a duration of -1 is known, and never short
  const asked = {
    ...match,
    ...(facts.source === undefined ? { source: undefined } : {}),
    ...(facts.durationSeconds === undefined ? { maxDurationSeconds: undefined } : {}),
  }
  if (!matchesFacts(asked, fleet, facts)) return 'fails'
  const isOpen =
    asked.source !== match.source || asked.maxDurationSeconds !== match.maxDurationSeconds
  const unnamed = name === unnamedVm
  const vm = unnamed ? undefined : knownVm(name, vms)
  const holds = matchesVm(match, name, vm) && !(unnamed && match.resource !== undefined)
  if (holds) return isOpen ? 'unknown' : 'holds'
  const possible = unnamed || matchesVm({ resource: match.resource }, name, vm)
  return vm === undefined && possible ? 'unknown' : 'fails'
}

function matchesFacts(match: Match, fleet: string, facts: Facts): boolean {
  const { durationSeconds } = facts
  const limit = match.maxDurationSeconds
  // -1 means that Azure does not know, so it is never short
  const short = durationSeconds !== undefined && durationSeconds >= 0
  return (
    // a fleet's name must be exact; Azure's names ignore case
    (match.fleet?.includes(fleet) ?? true) &&
    isOneOf(match.eventType, facts.eventType) &&
    isOneOf(match.source, facts.source ?? '') &&
    (limit === undefined || (short && durationSeconds <= limit))
  )
}

function asksForVms({ resource, resourceGroup, scaleSet, tag }: Match): boolean {
  return [resource, resourceGroup, scaleSet, tag].some((condition) => condition !== undefined)
}

function matchesVm(match: Match, name: string, vm: KnownVm | undefined): boolean {
  if (match.resource !== undefined && !match.resource.some((glob) => matchesGlob(glob, name))) {
    return false
  }
  const { resourceGroup, scaleSet, tag } = match
  if (resourceGroup === undefined && scaleSet === undefined && tag === undefined) return true
  if (vm === undefined) return false
  return (
    isOneOf(resourceGroup, vm.resourceGroup) &&
    isOneOf(scaleSet, vm.scaleSet) &&
    (tag?.some((wanted) => tagIn(vm.tags, wanted) !== undefined) ?? true)
  )
}

/** Names are unique in a resource group only, so search only VMs that see the event. */
export function knownVm(name: string, vms: KnownVm[]): KnownVm | undefined {
  const lower = name.toLowerCase()
  const named = vms.filter(({ vm }) => vm.toLowerCase() === lower)
  // if two have this name, it is unknown which one is hit
  return named.length === 1 ? named[0] : undefined
}

function isOneOf(wanted: string[] | undefined, value: string): boolean {
  return wanted === undefined || wanted.some((item) => item.toLowerCase() === value.toLowerCase())
}

/** The tag of the VM that `name` or `name=value` matches. */
export function tagIn(
  tags: KnownVm['tags'],
  wanted: string,
): { name: string; value: string } | undefined {
  const [name = '', ...rest] = wanted.split('=')
  const entry = Object.entries(tags).find(([key]) => key.toLowerCase() === name.toLowerCase())
  if (entry === undefined || (rest.length > 0 && entry[1] !== rest.join('='))) return undefined
  return { name: entry[0], value: entry[1] }
}

/**
 * The whole name, ignoring case: `vm1` never matches `vm10`. The parts between stars are searched one
 * after the other, so the time does not grow with the number of stars.
 */
export function matchesGlob(glob: string, name: string): boolean {
  const given = name.toLowerCase()
  const [first = '', ...middle] = glob.toLowerCase().split('*')
  const last = middle.pop()
  if (last === undefined) return first.length === given.length && stands(first, given, 0)
  const end = given.length - last.length
  if (first.length > end || !stands(first, given, 0) || !stands(last, given, end)) return false
  let at = first.length
  for (const part of middle) {
    const found = find(part, given, at)
    if (found === -1 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}

/** Whether the part, in which `?` is any character, stands at this place. */
function stands(part: string, text: string, at: number): boolean {
  if (!part.includes('?')) return text.startsWith(part, at)
  for (let i = 0; i < part.length; i++) {
    if (part[i] !== '?' && part[i] !== text[at + i]) return false
  }
  return true
}

/** The longest run without `?`, and where it stands in the part. It is searched fast. */
function findLongest(part: string): [run: string, offset: number] {
  const runs = [...part.matchAll(/[^?]+/g)]
  const [longest] = runs.toSorted((a, b) => b[0].length - a[0].length)
  return longest === undefined ? ['', 0] : [longest[0], longest.index]
}

/** The first place from `from` on, or -1. */
function find(part: string, text: string, from: number): number {
  if (!part.includes('?')) return text.indexOf(part, from)
  const [sure, offset] = findLongest(part)
  let at = text.indexOf(sure, from + offset) - offset
  while (at >= from && at + part.length <= text.length) {
    if (stands(part, text, at)) return at
    at = text.indexOf(sure, at + offset + 1) - offset
  }
  return -1
}
