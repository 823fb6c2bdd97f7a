// Which rules of the configuration an event matches: policy (first match decides) and routes
// (all that match add their channels, until one stops).
import { eventTypes } from '../../../shared/document.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { Decide, EventRecord, Facts, Moment, Observer, Proof } from '../event/event.ts'

/** Conditions of a rule; all that are given must hold, any value of a list will do. */
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
  /** For the record, e.g. `policy[0]` or the owner's own name. */
  name: string
  match: Match
  decide: Decide
}

export interface Route {
  match: Match
  /** Absent: all. */
  moments?: Moment[] | undefined
  channels: string[]
  /** Its channels are reminded at these distances from NotBefore while nobody has decided. */
  remindBeforeSeconds?: number[] | undefined
  /** False: where it holds for every VM that is hit, later routes are not asked for that moment. */
  continue?: boolean | undefined
  /** Who may decide, each as `how:who` of a `Decider`; absent: whoever has the link. */
  approvers?: string[] | undefined
  /** `page`, or a proof: then messages have buttons that decide, where a press brings this proof. */
  approveIn?: 'page' | Proof | undefined
}

/** What is known of a VM in `Resources`; absent where its beacon never reported the event. */
type KnownVm = Pick<Observer['beacon'], 'resourceGroup' | 'scaleSet' | 'tags'>

/** How many of the hit VMs a rule's conditions hold for, with known values. */
type Extent = 'every' | 'some' | 'none'

export const defaultRule = 'default'

/**
 * The first rule that matches. *Approve* covers every VM in `Resources`, so it needs all of them with
 * known values; the milder decisions need one. No rule: people are asked.
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
 * The channels that hear of this moment, in the order of the configuration: those of every route that
 * wants it and matches, until one says `continue: false`. `existing`: the event's deliveries so far.
 */
export function channelsFor(
  routes: Route[],
  record: EventRecord,
  observers: Observer[],
  moment: Moment,
  existing: Delivery[] = [],
): string[] {
  const { told, hidden } = split(routes, record, observers, moment)
  const isHidden = (name: string, from: Moment) =>
    split(routes, record, observers, from).hidden.includes(name)
  // whoever was told what is hidden from them by now was told before its VMs were known: told to its end
  const before = existing.filter(({ telling }) => telling.event.epoch === record.epoch)
  const further = hidden.filter((name) =>
    before.some(
      ({ channel, telling }) =>
        channel === name && telling.moment !== 'alert' && isHidden(name, telling.moment),
    ),
  )
  const channels = new Set([...told, ...further])
  if (moment === 'reminder' && record.reminder?.late) {
    // whoever was asked just now need not be reminded; an escalation still hears of it
    const asked = channelsFor(routes, record, observers, 'scheduled', existing)
    for (const name of asked) channels.delete(name)
  }
  return [...channels]
}

/** Who is told of a moment, and who would be, but for a route that stops. */
function split(
  routes: Route[],
  record: EventRecord,
  observers: Observer[],
  moment: Moment,
): { told: string[]; hidden: string[] } {
  const matching = routes
    .filter(({ moments }) => moments?.includes(moment) ?? true)
    .map((route) => ({
      route,
      extent: matchEvent(route.match, record.fleet, record.facts, observers),
    }))
    .filter(({ extent }) => extent !== 'none')
  // each distance is a moment of its own: who is reminded must not depend on what came due with it
  const turns =
    moment === 'reminder'
      ? (record.reminder?.due ?? []).map((seconds) =>
          matching.filter(({ route }) => route.remindBeforeSeconds?.includes(seconds)),
        )
      : [matching]
  const wanting = matching.filter((one) => turns.some((turn) => turn.includes(one)))
  const reached = new Set(
    turns.flatMap((turn) => {
      // to keep others from hearing takes, like an approval, known values of every VM that is hit
      const stop = turn.findIndex(
        ({ route, extent }) => route.continue === false && extent === 'every',
      )
      return stop === -1 ? turn : turn.slice(0, stop + 1)
    }),
  )
  const told = wanting.filter((one) => reached.has(one)).flatMap(({ route }) => route.channels)
  const all = wanting.flatMap(({ route }) => route.channels)
  return { told, hidden: all.filter((name) => !told.includes(name)) }
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

/** Whether a rule holds for one VM; `unknown` where nobody who could say has said. */
export type Grip = 'holds' | 'unknown' | 'fails'

/**
 * Judges one VM of the event. Its groups and tags are its own beacon's to say; an event that names no VM
 * hits one that nothing is known of.
 */
export function matchVm(
  match: Match,
  { fleet, facts }: Pick<EventRecord, 'fleet' | 'facts'>,
  name: string,
  observers: Observer[],
): Grip {
  // documents of older api-versions leave these out; a -1 is no gap, but "never short"
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
  // -1 is "Azure does not know", which is never short
  const short = durationSeconds !== undefined && durationSeconds >= 0
  return (
    // trust ends at a fleet's exact name; what Azure names, it writes in any case
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

/** Names are unique inside a resource group only, so they are looked up among the event's observers. */
function knownVm(name: string, observers: Observer[]): KnownVm | undefined {
  const lower = name.toLowerCase()
  const named = observers.filter(({ beacon }) => beacon.vm.toLowerCase() === lower)
  // two VMs of one name among the observers: which one is meant is not known
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
