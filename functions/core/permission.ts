// Who may decide an event. An approval starts it for every VM that it hits, so whoever decides must be
// allowed for each of them: listed by a route that holds for that VM, where any such route lists people.
import type { Decider, EventRecord, Observer } from './event.ts'
import { matchEvent, matchVm, type Route } from './policy.ts'

/** `identity_needed`: a link proves nobody. `not_listed`: somebody, but not one who may. */
export type Permission = 'allowed' | 'identity_needed' | 'not_listed'

export function permissionOf(
  routes: Route[],
  record: Pick<EventRecord, 'fleet' | 'facts'>,
  observers: Observer[],
  by: Decider,
): Permission {
  // the owner's key, and the owner's rules
  if (by.how === 'admin' || by.how === 'policy') return 'allowed'
  const lists = listsOf(routes, record, observers)
  if (lists.length === 0) return 'allowed'
  if (by.how === 'link') return 'identity_needed'
  const name = `${by.how}:${by.who}`
  return lists.every((list) => list.includes(name)) ? 'allowed' : 'not_listed'
}

/** For each VM that is hit, who may decide for it; VMs that anybody may decide for are left out. */
export function listsOf(
  routes: Route[],
  record: Pick<EventRecord, 'fleet' | 'facts'>,
  observers: Observer[],
): string[][] {
  const asking = reached(routes, record, observers).filter((route) => route.approvers !== undefined)
  const { resources } = record.facts
  const vms = resources.length === 0 ? [''] : resources
  return vms.flatMap((vm) => {
    const judged = asking.map((route) => ({
      approvers: route.approvers ?? [],
      grip: matchVm(route.match, record, vm, observers),
    }))
    const holding = judged.filter(({ grip }) => grip === 'holds')
    if (holding.length > 0) return [holding.flatMap(({ approvers }) => approvers)]
    const possible = judged.filter(({ grip }) => grip === 'unknown')
    const [first, ...others] = possible.map(({ approvers }) => approvers)
    // which route it is, nobody can say: then only whom all of them list
    return first === undefined
      ? []
      : [first.filter((one) => others.every((other) => other.includes(one)))]
  })
}

/** Routes that may ask people, until one stops: as in `channelsFor`, only where it holds for every VM. */
function reached(
  routes: Route[],
  { fleet, facts }: Pick<EventRecord, 'fleet' | 'facts'>,
  observers: Observer[],
): Route[] {
  const asks = ({ moments }: Route) => moments?.includes('scheduled') ?? true
  const stop = routes.findIndex(
    (route) =>
      route.continue === false &&
      asks(route) &&
      matchEvent(route.match, fleet, facts, observers) === 'every',
  )
  return stop === -1 ? routes : routes.slice(0, stop + 1)
}

/** Whether a message of this event in this channel is to have buttons that decide. */
export function decidesInSlack(
  routes: Route[],
  record: Pick<EventRecord, 'fleet' | 'facts'>,
  observers: Observer[],
  channel: string,
): boolean {
  return reached(routes, record, observers).some(
    (route) =>
      route.approveIn === 'slack' &&
      route.channels.includes(channel) &&
      matchEvent(route.match, record.fleet, record.facts, observers) !== 'none',
  )
}
