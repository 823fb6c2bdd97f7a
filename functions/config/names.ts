// Checks that the schema cannot express: names that do not exist, addresses that the guard refuses,
// people who cannot decide. Checks each valid part, so that these mistakes are reported together
// with the schema's.
import { describePath } from '../../shared/errors.ts'
import { isPresentable } from '../../shared/presentable.ts'
import { whyRefused } from '../core/rules/address.ts'
import { withFallbacks } from '../core/rules/routes.ts'
import { type ButtonService, buttonServices, kindNames } from '../notify/registry.ts'
import { isWebUrl, quoted } from '../schema/checks.ts'
import { didYouMean } from '../schema/suggest.ts'
import type { Filled } from './environment.ts'
import type { KnownChannel, KnownRoute, Readable } from './readable.ts'
import { maxReached } from './schema.ts'

/** One sentence each, except for paths that have a mistake in `reported` already. */
export function mistakesInNames(readable: Readable, filled: Filled, reported: string[]): string[] {
  const before = new Set(reported.map(pathIn))
  const { assumed } = filled
  const mistakes = [
    ...namesInRoutes(readable, filled),
    ...namesOfOwners(readable, filled),
    ...peopleThatCannotDecide(readable),
    ...peopleThatCannotSee(readable),
    ...(assumed.length === 0 ? subscriptionsOfFleets(readable) : []),
    // a placeholder is no id to compare with
    ...(assumed.length === 0 ? peopleFromElsewhere(readable) : []),
    ...namesOfFleets(readable, filled),
    ...tooManyChannels(readable),
    ...Object.entries(readable.channels).flatMap(([name, one]) => [
      ...readFallback(name, readable, filled),
      ...readBot(name, readable, filled),
      ...addressIn(['channels', name], one, readable, filled),
      ...secretInTemplate(name, filled),
    ]),
    ...Object.entries(readable.groups).flatMap(([key, channels]) =>
      Object.entries(channels).flatMap(([name, one]) =>
        addressIn([key, name], one, readable, filled),
      ),
    ),
  ]
  return mistakes.filter((mistake) => !before.has(pathIn(mistake)))
}

/** The path that a mistake's sentence begins with. */
export function pathIn(mistake: string): string {
  return mistake.split(': ', 1)[0]!
}

function unknown(
  { paths }: Filled,
  [path, what, name]: [path: string, what: string, name: string],
  allowed: string[],
): string[] {
  if (allowed.includes(name)) return []
  // text that does not look like a name may be a secret
  const isName = isPresentable(name) && !paths.has(path)
  const shown = isName ? `"${name}"` : 'of that name'
  const meant = didYouMean(name, allowed)
  return [`${path}: there is no ${what} ${shown}; allowed are ${quoted(allowed)}${meant}`]
}

function namesInRoutes({ routes, channels }: Readable, filled: Filled): string[] {
  const names = Object.keys(channels)
  // the schema reports a configuration without channels
  if (names.length === 0) return []
  return routes.flatMap(({ channels: some = [] }, i) =>
    some.flatMap((name, j) =>
      unknown(filled, [`routes[${i}].channels[${j}]`, 'channel', name], names),
    ),
  )
}

function namesOfOwners({ owners, channels }: Readable, filled: Filled): string[] {
  const allowed = Object.keys(channels)
  if (allowed.length === 0) return []
  return owners.flatMap(({ at, names }) =>
    names.flatMap((name, i) => unknown(filled, [`${at}[${i}]`, 'channel', name], allowed)),
  )
}

function namesOfFleets({ policy, routes, fleets }: Readable, filled: Filled): string[] {
  if (fleets.length === 0) return []
  const rules = [
    ...policy.map((rule, i) => ({ ...rule, at: `policy[${i}]` })),
    ...routes.map((rule, i) => ({ fleets: rule.fleets, at: `routes[${i}]` })),
  ]
  return rules.flatMap(({ fleets: some, at }) =>
    some.flatMap((name) => unknown(filled, [`${at}.match.fleet`, 'fleet', name], fleets)),
  )
}

/**
 * One commit holds all messages of an event. What an event reaches is bounded by its fleet, as any event
 * of the fleet may match any of its routes.
 */
function tooManyChannels({ fleets, routes, channels }: Readable): string[] {
  return fleets.flatMap((fleet) => {
    const own = routes.filter((route) => route.fleets.length === 0 || route.fleets.includes(fleet))
    const isKnown = (name: unknown): name is string =>
      typeof name === 'string' && Object.hasOwn(channels, name)
    const named = own.flatMap((route) => (route.channels ?? []).filter(isKnown))
    const reached = withFallbacks(named, (name) => {
      const { fallback } = channels[name]!
      return isKnown(fallback) ? fallback : undefined
    })
    if (reached.length <= maxReached) return []
    const what = `events of the fleet "${fleet}" reach ${reached.length} channels, with fallbacks`
    const remedy = `name at most ${maxReached} for a fleet; "match": { "fleet": … } binds a route to some fleets`
    return [`routes: ${what}; ${remedy}`]
  })
}

/** A subscription of a fleet is one of `azure`, and of no other fleet. */
function subscriptionsOfFleets({ subscriptions, azureSubscriptions = [] }: Readable): string[] {
  return subscriptions.flatMap(({ at, ids }, i) =>
    ids.flatMap((id, j) => {
      const other = subscriptions.slice(0, i).find((one) => one.ids.includes(id))
      if (!azureSubscriptions.includes(id)) {
        return [`${at}[${j}]: "azure.subscriptions" lacks ${id}; add it there`]
      }
      return other ? [`${at}[${j}]: ${other.at} has ${id}, too; remove one of them`] : []
    }),
  )
}

function readFallback(name: string, { channels }: Readable, filled: Filled): string[] {
  const fallback = channels[name]?.fallback
  if (typeof fallback !== 'string') return []
  const others = Object.keys(channels).filter((other) => other !== name)
  const at = describePath(['channels', name, 'fallback'], filled.value)
  if (others.length === 0) {
    return [`${at}: there is no other channel; add one under "channels", or remove "fallback"`]
  }
  if (fallback !== name) return unknown(filled, [at, 'channel', fallback], others)
  return [`${at}: a channel cannot be its own fallback; write ${quoted(others)}, or leave it out`]
}

function readBot(name: string, { channels, hasBotApp }: Readable, filled: Filled): string[] {
  if (channels[name]?.channelId === undefined || hasBotApp) return []
  const at = describePath(['channels', name, 'channelId'], filled.value)
  return [`${at}: the bot needs "azure" with the "clientId" of its app`]
}

function addressIn(
  path: [part: string, name: string],
  { url, endpoint }: KnownChannel,
  { allowNetworks }: Readable,
  filled: Filled,
): string[] {
  const key = endpoint === undefined ? 'url' : 'endpoint'
  const address = endpoint ?? url
  if (allowNetworks === undefined || typeof address !== 'string' || !isWebUrl(address)) return []
  const why = whyRefused(address, allowNetworks)
  return why === undefined ? [] : [`${describePath([...path, key], filled.value)}: ${why}`]
}

/** Texts of a template are no secrets: check-config shows them. */
function secretInTemplate(name: string, { paths, value }: Filled): string[] {
  const start = describePath(['channels', name], value)
  const isOpen = (path: string) =>
    ['body', 'query', 'acknowledge', 'resolve'].some((key) => path.startsWith(`${start}.${key}`))
  return [...paths.keys()].filter(isOpen).map((path) => {
    return `${path}: a secret does not belong here; write it under "settings", and {{settings.NAME}} here`
  })
}

/** Settings that need another one to have any effect. */
function peopleThatCannotDecide(readable: Readable): string[] {
  return readable.routes.flatMap((route, i) => {
    const service = buttonServices.find(({ approveIn }) => approveIn === route.approveIn)
    const mistakes = service === undefined ? [] : readButtons(readable, route, service)
    return [
      ...mistakes.map((one) => `routes[${i}].approveIn: ${one}`),
      ...listNeeds(readable, route).map((one) => `routes[${i}].approvers: ${one}`),
    ]
  })
}

/** What the approvers of a route need to decide. */
function listNeeds(readable: Readable, { approvers }: KnownRoute): string[] {
  const has = (how: string) => approvers.some((one) => one.startsWith(`${how}:`))
  const services = buttonServices.filter(({ person }) => person === undefined)
  const named = services.map(({ approveIn }) => approveIn)
  const inMessages = readable.routes.some(({ approveIn }) => approveIn && named.includes(approveIn))
  const signIn = `Entra users need "signIn" with their tenantId, or a route with "approveIn": ${quoted(named)}`
  return [
    ...(!readable.hasSignIn && !inMessages && has('entra') ? [signIn] : []),
    ...buttonServices.flatMap(({ how, app, service }) =>
      app === undefined || readable.apps.includes(app.key) || !has(how)
        ? []
        : [`${service} users need "${app.key}" with ${app.keys}`],
    ),
  ]
}

/** What messages with buttons need. */
function readButtons(
  { channels, apps }: Readable,
  { channels: names }: KnownRoute,
  { approveIn, app, needs, mayBeIn }: ButtonService,
): string[] {
  const mayBe = (name: string) => {
    const known: KnownChannel = Object.hasOwn(channels, name) ? channels[name]! : { kind: 'none' }
    const { kind } = known
    const isUnknown = kind !== 'none' && !kindNames.some((name) => name === kind)
    return isUnknown || (kind === approveIn && mayBeIn(known))
  }
  const lacksApp = app !== undefined && !apps.includes(app.key)
  const lacksChannel = names !== undefined && !names.some(mayBe)
  return [
    ...(lacksApp ? [`"${approveIn}" needs "${app.key}" with ${app.keys}`] : []),
    ...(lacksChannel ? [`"${approveIn}" needs ${needs}`] : []),
  ]
}

function peopleThatCannotSee({ viewers, hasSignIn }: Readable): string[] {
  if (hasSignIn) return []
  const named = viewers.filter(({ names }) => names.length > 0)
  return named.map(({ at }) => `${at}: people need "signIn" with their tenantId to see the console`)
}

/** Entra users of another tenant cannot sign in. Users of a service may share a channel across teams. */
function peopleFromElsewhere({ routes, viewers, tenantId, channels }: Readable): string[] {
  const lists = [
    ...routes.map(({ approvers }, i) => ({ at: `routes[${i}].approvers`, names: approvers })),
    ...viewers,
  ]
  return lists.flatMap(({ at, names }) =>
    names.flatMap((one, i) => {
      const [kind = '', tenant] = one.split(/[:/]/)
      const homes = [tenantId, ...Object.values(channels).map((channel) => channel.tenantId)]
      if (!kind.startsWith('entra') || tenantId === undefined || homes.includes(tenant)) return []
      return [`${at}[${i}]: "signIn.tenantId" is not "${tenant}"; correct one of them`]
    }),
  )
}
