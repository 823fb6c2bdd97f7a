// Who may decide: people who never can, channels in which everybody can, and lists that leave nobody while a
// beacon is silent.
import { eventTypes } from '../../shared/document.ts'
import type { Config } from '../config/config.ts'
import { decidersOf } from '../core/rules/permission.ts'
import type { Route } from '../core/rules/policy.ts'
import { sources } from './conditions.ts'
import { mayMatch } from './cover.ts'
import { list } from './policy.ts'

/** Of a configuration with more globs, some are asked. */
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

/** People of Slack decide by a button of a message, and nowhere else. */
function onPeopleWithoutButtons({ approvers = [] }: Route, i: number, routes: Route[]): string[] {
  const ofSlack = approvers.filter((one) => one.startsWith('slack:'))
  if (ofSlack.length === 0 || routes.some(({ approveIn }) => approveIn === 'slack')) return []
  const who = ofSlack.length === approvers.length ? 'none of them' : 'none of those of Slack'
  const remedy =
    'write "approveIn": "slack" in a route with a Slack channel, or list people of Entra'
  return [`routes[${i}].approvers: ${who} can decide, as no message has buttons for it; ${remedy}`]
}

/** No list can hold for what this route tells: whoever sees the message presses. */
function onWholeChannels(route: Route, i: number, routes: Route[], fleets: string[]): string[] {
  const kinds = kindsOf(fleets)
  const isListed = routes.some(
    ({ approvers, match }) =>
      approvers !== undefined &&
      kinds.some((kind) => mayMatch(match, ...kind) && mayMatch(route.match, ...kind)),
  )
  if (route.approveIn !== 'slack' || isListed) return []
  const what = 'whoever is in the channel may press the button, as no route lists "approvers"'
  return [`routes[${i}].approveIn: ${what}; list them, unless all of them shall`]
}

function kindsOf(fleets: string[]): [fleet: string, type: string, source: string][] {
  return fleets.flatMap((fleet) =>
    eventTypes.flatMap((type) =>
      sources.map((source): [string, string, string] => [fleet, type, source]),
    ),
  )
}

/** A VM whose beacon is silent may be any VM: only who is on every list that may hold decides. */
function onSilence(fleet: string, routes: Route[]): string[] {
  const listing = routes.flatMap(({ approvers }, i) => (approvers === undefined ? [] : [i]))
  if (listing.length < 2) return []
  const globs = routes.flatMap(({ match }) => match.resource ?? [])
  const names = ['vm', ...globs.map((glob) => glob.replaceAll('*', '').replaceAll('?', 'x'))]
  const blocked = kindsOf([fleet]).filter(([, eventType, source]) =>
    [...new Set(names)].slice(0, maxNames).some((name) =>
      [0, -1].some((durationSeconds) => {
        const facts = { eventType, source, resources: [name || 'vm'], durationSeconds }
        return decidersOf(routes, { fleet, facts }, []).length === 0
      }),
    ),
  )
  if (blocked.length === 0) return []
  const types = list([...new Set(blocked.map(([, type]) => type))], 'or')
  const why = 'which of the lists counts is not known then, and nobody is on all that may'
  const remedy = 'put somebody on each, or add a route that needs no beacon, with "approvers"'
  return [
    `routes: while its VM's beacon is silent, nobody may decide a ${types} in fleet "${fleet}" but ` +
      `the admin key (${list(listing.map((i) => `routes[${i}]`))}): ${why}; ${remedy}`,
  ]
}
