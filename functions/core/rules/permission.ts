// Who may decide an event. An approval starts the event for every VM that it hits, so the approver
// must be allowed for each of them. If a VM's tags and groups are unknown, a route may match or
// not, and the approver must be allowed in both cases.
import type { Decider, EventRecord } from '../event/event.ts'
import type { KnownVm } from '../event/sight.ts'
import { type Grip, hitNames, matchEvent, matchVm } from './match.ts'
import type { Route } from './routes.ts'

/** `identity_needed`: a link proves no identity. `not_listed`: no route lists the person. */
export type Permission = 'allowed' | 'identity_needed' | 'not_listed'

type Subject = Pick<EventRecord, 'fleet' | 'facts'>

export function judgePermission(
  routes: Route[],
  record: Subject,
  vms: KnownVm[],
  by: Decider,
): Permission {
  // these come from the owner
  if (by.how === 'admin' || by.how === 'token' || by.how === 'policy') return 'allowed'
  // no list contains a link
  const name = by.how === 'link' ? undefined : `${by.how}:${by.who}`
  if (isAllowed(listWalks(routes, record, vms), name)) return 'allowed'
  return by.how === 'link' ? 'identity_needed' : 'not_listed'
}

/** The approvers, as routes list them. `anybody`: everyone who has the link. */
export function listDeciders(
  routes: Route[],
  record: Subject,
  vms: KnownVm[],
): 'anybody' | string[] {
  const walks = listWalks(routes, record, vms)
  if (isAllowed(walks, undefined)) return 'anybody'
  const listed = new Set(routes.flatMap(({ approvers }) => approvers ?? []))
  return [...listed].filter((name) => isAllowed(walks, name))
}

/**
 * Whether matching routes list this person for every hit VM. Stricter than `judgePermission`, for a
 * person from outside: a route that may match is not enough.
 */
export function isListed(
  routes: Route[],
  record: Subject,
  vms: KnownVm[],
  { how, who }: Decider,
): boolean {
  const name = `${how}:${who}`
  return listWalks(routes, record, vms).every((walk) => {
    const stop = walk.findIndex((one) => one.stops)
    const reached = stop === -1 ? walk : walk.slice(0, stop + 1)
    return reached.some(({ grip, approvers }) => grip === 'holds' && approvers?.includes(name))
  })
}

/** One route and one VM. */
interface RouteForVm {
  grip: Exclude<Grip, 'fails'>
  approvers: string[] | undefined
  stops: boolean
}

/** Lists for each hit VM the routes that match or may match it, in their order. */
function listWalks(routes: Route[], record: Subject, vms: KnownVm[]): RouteForVm[][] {
  return hitNames(record.facts).map((vm) =>
    routes.flatMap((route) => {
      const grip = matchVm(route.match, record, vm, vms)
      const { approvers } = route
      return grip === 'fails' ? [] : [{ grip, approvers, stops: stops(route) }]
    }),
  )
}

function isAllowed(walks: RouteForVm[][], name: string | undefined): boolean {
  return walks.every((walk) => isAllowedFor(walk, name))
}

/** All matching routes count, until one stops. Of a route that may match, the worst case counts. */
function isAllowedFor(walk: RouteForVm[], name: string | undefined): boolean {
  let demanded = false
  for (const { grip, approvers, stops } of walk) {
    const listed = name !== undefined && approvers?.includes(name)
    if (listed) {
      if (grip === 'holds') return true
      // in the worst case this route does not match, and later ones decide
      continue
    }
    demanded ||= approvers !== undefined
    if (stops && (grip === 'holds' || demanded)) break
  }
  return !demanded
}

/** Whether the route stops later ones from asking. */
function stops(route: Route): boolean {
  return route.continue === false && (route.moments?.includes('scheduled') ?? true)
}

/** Whether the event's messages in this channel of this service have buttons that decide. */
export function decidesInMessage(
  routes: Route[],
  record: Subject,
  vms: KnownVm[],
  place: { channel: string; approveIn: string },
): boolean {
  const extents = routes.map(({ match }) => matchEvent(match, record.fleet, record.facts, vms))
  // as in `channelsFor`, a route stops only if it matches every VM
  const stop = routes.findIndex((route, i) => stops(route) && extents[i] === 'every')
  return routes.some(
    ({ approveIn, channels }, i) =>
      (stop === -1 || i <= stop) &&
      extents[i] !== 'none' &&
      approveIn === place.approveIn &&
      channels.includes(place.channel),
  )
}
