// Which rules of the configuration match an event: of the policy, the first one decides; of the
// routes, each one adds its channels, until one stops.
import { eventTypes } from '../../../shared/document.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { Decide, EventRecord, Facts, Moment, Observer, Proof } from '../event/event.ts'

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
}

export interface PolicyRule {
  /** `policy[0]`, or the owner's own name. */
  name: string
  match: Match
  decide: Decide
}

export interface Route {
  match: Match
  /** Absent: all. */
  moments?: Moment[] | undefined
  channels: string[]
  /** Its channels get reminders at these distances from NotBefore while nobody has decided. */
  remindBeforeSeconds?: number[] | undefined
  /** False: if it matches every hit VM, later routes do not get that moment. */
  continue?: boolean | undefined
  /** Who may decide, each as `how:who` of a `Decider`. Absent: everyone who has the link. */
  approvers?: string[] | undefined
  /** If it is a proof, messages have buttons that decide, and pressing one gives this proof. */
  approveIn?: 'page' | Proof | undefined
}

/** What is known of a VM in `Resources` after its beacon reported the event. */
type KnownVm = Pick<Observer['beacon'], 'resourceGroup' | 'scaleSet' | 'tags'>

/** How many hit VMs a rule matches, with known values. */
type Extent = 'every' | 'some' | 'none'

export const defaultRule = 'default'

/**
 * The first rule that matches. An approval covers every VM in `Resources`, so *approve* must match
 * all of them with known values. The other decisions need one match. Without a rule, people are
 * asked.
 */
export function judgePolicy(
  rules: PolicyRule[],
  record: EventRecord,
  observers: Observer[],
): EventRecord['policy'] {
  for (const { name, match, decide } of rules) {
    const extent = matchEvent(match, record.fleet, record.facts, observers)
    const unknownType = !eventTypes.some((type) => type === record.facts.eventType)
    const holds = decide === 'approve' ? extent === 'every' && !unknownType : extent !== 'none'
    if (holds) return { decide, rule: name }
  }
  return { decide: 'ask', rule: defaultRule }
}

/**
 * The channels to notify of this moment, in the order of the configuration. `existing`: the event's
 * deliveries so far.
 */
export function channelsFor(
  routes: Route[],
  record: EventRecord,
  observers: Observer[],
  moment: Moment,
  existing: Delivery[] = [],
): string[] {
  const { reached, hidden } = split(routes, record, observers, moment)
  const isHidden = (name: string, from: Moment) =>
    split(routes, record, observers, from).hidden.includes(name)
  // a channel that was notified before a route stopped it receives all further messages
  const before = existing.filter(({ telling }) => telling.event.epoch === record.epoch)
  const further = hidden.filter((name) =>
    before.some(
      ({ channel, telling }) =>
        channel === name && telling.moment !== 'alert' && isHidden(name, telling.moment),
    ),
  )
  const channels = new Set([...reached, ...further])
  if (moment === 'reminder' && record.reminder?.late) {
    // channels that were just asked need no reminder, but an escalation does
    const asked = channelsFor(routes, record, observers, 'scheduled', existing)
    for (const name of asked) channels.delete(name)
  }
  return [...channels]
}

/**
 * The channels that routes name for a moment, and those that a route with `continue: false` stops.
 */
function split(
  routes: Route[],
  record: EventRecord,
  observers: Observer[],
  moment: Moment,
): { reached: string[]; hidden: string[] } {
  const matching = routes
    .filter(({ moments }) => moments?.includes(moment) ?? true)
    .map((route) => ({
      route,
      extent: matchEvent(route.match, record.fleet, record.facts, observers),
    }))
    .filter(({ extent }) => extent !== 'none')
  // judge each distance by itself, so that other due distances change nothing
  const turns =
    moment === 'reminder'
      ? (record.reminder?.due ?? []).map((seconds) =>
          matching.filter(({ route }) => route.remindBeforeSeconds?.includes(seconds)),
        )
      : [matching]
  const wanting = matching.filter((one) => turns.some((turn) => turn.includes(one)))
  const unstopped = new Set(
    turns.flatMap((turn) => {
      // like an approval, a stop needs known values of every hit VM
      const stop = turn.findIndex(
        ({ route, extent }) => route.continue === false && extent === 'every',
      )
      return stop === -1 ? turn : turn.slice(0, stop + 1)
    }),
  )
  const reached = wanting.filter((one) => unstopped.has(one)).flatMap(({ route }) => route.channels)
  const all = wanting.flatMap(({ route }) => route.channels)
  return { reached, hidden: all.filter((name) => !reached.includes(name)) }
}

/** All distances from NotBefore at which any route reminds, the farthest first. */
export function remindersOf(routes: Route[]): number[] {
  const all = new Set(routes.flatMap((route) => route.remindBeforeSeconds ?? []))
  return [...all].sort((a, b) => b - a)
}

/** Judges the event's own conditions first, then those of each VM it hits. */
export function matchEvent(
  match: Match,
  fleet: string,
  facts: Facts,
  observers: Observer[],
): Extent {
  if (!matchesFacts(match, fleet, facts)) return 'none'
  if (!asksForVms(match)) return 'every'
  const matching = facts.resources.filter((name) =>
    matchesVm(match, name, knownVm(name, observers)),
  )
  if (matching.length === 0) return 'none'
  return matching.length === facts.resources.length ? 'every' : 'some'
}

/** Whether a rule matches one VM. `unknown`: the VM's beacon has not reported yet. */
export type Grip = 'holds' | 'unknown' | 'fails'

/** Judges one VM of the event. An event that names no VM hits one about which nothing is known. */
export function matchVm(
  match: Match,
  { fleet, facts }: Pick<EventRecord, 'fleet' | 'facts'>,
  name: string,
  observers: Observer[],
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
  const unnamed = name === ''
  const vm = unnamed ? undefined : knownVm(name, observers)
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
    oneOf(match.eventType, facts.eventType) &&
    oneOf(match.source, facts.source ?? '') &&
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
    oneOf(resourceGroup, vm.resourceGroup) &&
    oneOf(scaleSet, vm.scaleSet) &&
    (tag?.some((wanted) => hasTag(vm.tags, wanted)) ?? true)
  )
}

/** Names are unique in a resource group only, so search only the event's observers. */
function knownVm(name: string, observers: Observer[]): KnownVm | undefined {
  const lower = name.toLowerCase()
  const named = observers.filter(({ beacon }) => beacon.vm.toLowerCase() === lower)
  // if two observers have this name, it is unknown which one is hit
  return named.length === 1 ? named[0]?.beacon : undefined
}

function oneOf(wanted: string[] | undefined, value: string): boolean {
  return wanted === undefined || wanted.some((item) => item.toLowerCase() === value.toLowerCase())
}

function hasTag(tags: KnownVm['tags'], wanted: string): boolean {
  const [name = '', ...rest] = wanted.split('=')
  const entry = Object.entries(tags).find(([key]) => key.toLowerCase() === name.toLowerCase())
  return entry !== undefined && (rest.length === 0 || entry[1] === rest.join('='))
}

/** The whole name, ignoring case: `vm1` never matches `vm10`. */
export function matchesGlob(glob: string, name: string): boolean {
  const pattern = glob
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${pattern}$`, 'is').test(name)
}
