// Who may decide an event. An approval starts it for every VM that it hits, so whoever decides must be
// allowed for each of them, whatever is not known yet: of a VM whose beacon is silent, or has a namesake,
// a rule may hold or not, and one may decide only where both would allow it.
import type { Decider, EventRecord, Observer, Proof } from '../event/event.ts'
import { type Grip, matchEvent, matchVm, type Route } from './policy.ts'

/** `identity_needed`: a link proves nobody. `not_listed`: somebody, but not one who may. */
export type Permission = 'allowed' | 'identity_needed' | 'not_listed'

type Subject = Pick<EventRecord, 'fleet' | 'facts'>

export function permissionOf(
  routes: Route[],
  record: Subject,
  observers: Observer[],
  by: Decider,
): Permission {
  // the owner's key, and the owner's rules
  if (by.how === 'admin' || by.how === 'policy') return 'allowed'
  // a link is on no list
  const name = by.how === 'link' ? undefined : `${by.how}:${by.who}`
  if (isAllowed(walksOf(routes, record, observers), name)) return 'allowed'
  return by.how === 'link' ? 'identity_needed' : 'not_listed'
}

/** Everybody who may decide, as routes list them; `anybody`: whoever has the link. */
export function decidersOf(
  routes: Route[],
  record: Subject,
  observers: Observer[],
): 'anybody' | string[] {
  const walks = walksOf(routes, record, observers)
  if (isAllowed(walks, undefined)) return 'anybody'
  const listed = new Set(routes.flatMap(({ approvers }) => approvers ?? []))
  return [...listed].filter((name) => isAllowed(walks, name))
}

/**
 * Whether routes that are known to hold list this person for every VM that is hit. For somebody from outside,
 * whom nothing else lets in: to be listed where a rule may hold or not is not enough.
 */
export function isListed(
  routes: Route[],
  record: Subject,
  observers: Observer[],
  { how, who }: Decider,
): boolean {
  const name = `${how}:${who}`
  return walksOf(routes, record, observers).every((walk) => {
    const stop = walk.findIndex((turn) => turn.stops)
    const reached = stop === -1 ? walk : walk.slice(0, stop + 1)
    return reached.some(({ grip, approvers }) => grip === 'holds' && approvers?.includes(name))
  })
}

/** What one route has to do with one VM. */
interface Turn {
  grip: Exclude<Grip, 'fails'>
  approvers: string[] | undefined
  stops: boolean
}

/** For each VM that is hit, the routes that may ask about it, in their order. */
function walksOf(routes: Route[], record: Subject, observers: Observer[]): Turn[][] {
  const { resources } = record.facts
  const vms = resources.length === 0 ? [''] : resources
  return vms.map((vm) =>
    routes.flatMap((route) => {
      const grip = matchVm(route.match, record, vm, observers)
      const { approvers } = route
      return grip === 'fails' ? [] : [{ grip, approvers, stops: stops(route) }]
    }),
  )
}

function isAllowed(walks: Turn[][], name: string | undefined): boolean {
  return walks.every((walk) => isAllowedFor(walk, name))
}

/** Routes that hold add up, until one stops; of the others the worst is assumed. */
function isAllowedFor(walk: Turn[], name: string | undefined): boolean {
  let demanded = false
  for (const { grip, approvers, stops } of walk) {
    const listed = name !== undefined && approvers?.includes(name)
    if (listed) {
      if (grip === 'holds') return true
      // at worst it does not hold, and what comes later decides
      continue
    }
    demanded ||= approvers !== undefined
    if (stops && (grip === 'holds' || demanded)) break
  }
  return !demanded
}

/** A route that keeps the question from later ones. */
function stops(route: Route): boolean {
  return route.continue === false && (route.moments?.includes('scheduled') ?? true)
}

/** Whether a message of this event in this channel has buttons that decide, under this proof. */
export function decidesInMessage(
  routes: Route[],
  record: Subject,
  observers: Observer[],
  { channel, how }: { channel: string; how: Proof },
): boolean {
  const extents = routes.map(({ match }) =>
    matchEvent(match, record.fleet, record.facts, observers),
  )
  // as in `channelsFor`: a route stops only where it holds for every VM
  const stop = routes.findIndex((route, i) => stops(route) && extents[i] === 'every')
  return routes.some(
    ({ approveIn, channels }, i) =>
      (stop === -1 || i <= stop) &&
      extents[i] !== 'none' &&
      approveIn === how &&
      channels.includes(channel),
  )
}
