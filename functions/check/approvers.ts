// Warns about approvers: people who can never decide, channels in which everyone can, and lists
// that leave only the API while a beacon is silent.
import { eventTypes } from '../../shared/document.ts'
import type { Config } from '../config/config.ts'
import { listDeciders } from '../core/rules/permission.ts'
import type { Route } from '../core/rules/routes.ts'
import { buttonServices } from '../notify/registry.ts'
import { sources } from './conditions.ts'
import { mayMatch } from './cover.ts'
import { list } from './policy.ts'

/** How many names of VMs are tried. */
const maxNames = 20

export function adviseOnApprovers(config: Config): string[] {
  const fleets = Object.keys(config.fleets)
  const { routes } = config
  const each = routes.flatMap((route, i) => [
    ...onPeopleWithoutButtons(route, i, routes),
    ...onWholeChannels(route, i, routes, fleets),
  ])
  return [...each, ...fleets.flatMap((fleet) => onSilence(fleet, routes))]
}

/** Users of a service, who have no other sign-in, can decide only by a button in a message. */
function onPeopleWithoutButtons({ approvers = [] }: Route, i: number, routes: Route[]): string[] {
  return buttonServices.flatMap(({ how, service, person, approveIn }) => {
    const isNamed = person !== undefined && approvers.some((one) => one.startsWith(`${how}:`))
    if (!isNamed || routes.some((route) => route.approveIn === approveIn)) return []
    const remedy = `write "approveIn": "${approveIn}" in a route with a ${service} channel, or list Entra users`
    const what = `its ${service} users cannot decide, because no message has buttons`
    return [`routes[${i}].approvers: ${what}; ${remedy}`]
  })
}

/** No list of approvers applies to this route, so anyone who sees the message can decide. */
function onWholeChannels(route: Route, i: number, routes: Route[], fleets: string[]): string[] {
  const kinds = listKinds(fleets)
  const isListed = routes.some(
    ({ approvers, match }) =>
      approvers !== undefined &&
      kinds.some((kind) => mayMatch(match, ...kind) && mayMatch(route.match, ...kind)),
  )
  if (route.approveIn === undefined || route.approveIn === 'page' || isListed) return []
  const what = 'everyone in the channel can press the button, because no route lists "approvers"'
  return [`routes[${i}].approveIn: ${what}; list them, unless this is intended`]
}

function listKinds(fleets: string[]): [fleet: string, type: string, source: string][] {
  return fleets.flatMap((fleet) =>
    eventTypes.flatMap((type) =>
      sources.map((source): [string, string, string] => [fleet, type, source]),
    ),
  )
}

/** While a VM's beacon is silent, any list may apply: people must be on all of these lists. */
function onSilence(fleet: string, routes: Route[]): string[] {
  const listing = routes.flatMap(({ approvers }, i) => (approvers === undefined ? [] : [i]))
  if (listing.length < 2) return []
  const globs = routes.flatMap(({ match }) => match.resource ?? [])
  const names = ['vm', ...globs.map((glob) => glob.replaceAll('*', '').replaceAll('?', 'x'))]
  const blocked = listKinds([fleet]).filter(([, eventType, source]) =>
    [...new Set(names)].slice(0, maxNames).some((name) =>
      [0, -1].some((durationSeconds) => {
        const facts = { eventType, source, resources: [name || 'vm'], durationSeconds }
        return listDeciders(routes, { fleet, facts }, []).length === 0
      }),
    ),
  )
  if (blocked.length === 0) return []
  const types = list([...new Set(blocked.map(([, type]) => type))], 'or')
  const lists = list(listing.map((i) => `routes[${i}]`))
  const why = `any of the lists in ${lists} may apply then, and nobody is on all of them`
  const remedy = 'add one person to each, or add a route with "approvers" that needs no beacon'
  return [
    `routes: while the beacon of a VM is silent, only the admin key or a token can decide a ${types} ` +
      `in fleet "${fleet}": ${why}; ${remedy}`,
  ]
}
