// What the form of a configuration does not say: names that nobody has, addresses that the guard refuses, people who
// can't decide. Each part that is right by itself is judged, so that its mistakes show beside those of form.
import type { z } from 'zod'
import { pathOf } from '../../shared/errors.ts'
import { isPresentable } from '../../shared/presentable.ts'
import { whyRefused } from '../core/rules/address.ts'
import { kindNames } from '../notify/kinds.ts'
import { isWebUrl, quoted } from '../schema/checks.ts'
import { didYouMean } from '../schema/suggest.ts'
import type { Filled } from './environment.ts'
import { configSchema } from './schema.ts'

interface KnownChannel {
  kind?: unknown
  fallback?: unknown
  url?: unknown
  endpoint?: unknown
}

interface KnownRoute {
  fleets: string[]
  /** Absent where what stands there is no list of names. */
  channels?: string[] | undefined
  approvers: string[]
  inSlack: boolean
}

/** What can be told of a configuration, whatever is wrong with the rest of it. */
interface Parts {
  channels: Record<string, KnownChannel>
  fleets: string[]
  /**
   * The lists of owners, of the whole configuration and of each fleet: the path, and the names in
   * it.
   */
  owners: { at: string; names: string[] }[]
  policy: Pick<KnownRoute, 'fleets'>[]
  routes: KnownRoute[]
  /** Absent where they are wrong, so that no address can be judged. */
  allowNetworks?: string[] | undefined
  hasSlackApp: boolean
  hasSignIn: boolean
  tenantId?: string | undefined
}

export function partsOf(value: unknown): Parts {
  const { channels, fleets, owners, policy, routes, ...rest } = entriesOf(value)
  const { allowNetworks, slackApp, signIn } = rest
  const { shape } = configSchema
  return {
    channels: Object.fromEntries(
      Object.entries(entriesOf(channels)).map(([name, one]) => [name, entriesOf(one)]),
    ),
    fleets: Object.keys(entriesOf(fleets)),
    owners: [
      { at: 'owners', names: parsed(shape.owners, owners) ?? [] },
      ...Object.entries(entriesOf(fleets)).map(([name, fleet]) => ({
        at: pathOf(['fleets', name, 'owners'], value),
        names: parsed(shape.owners, entriesOf(fleet).owners) ?? [],
      })),
    ],
    policy: listOf(policy).map((rule) => ({ fleets: fleetsIn(entriesOf(rule).match) })),
    routes: listOf(routes).map(routeOf),
    allowNetworks: parsed(shape.allowNetworks, allowNetworks),
    hasSlackApp: slackApp !== undefined,
    hasSignIn: signIn !== undefined,
    tenantId: parsed(shape.signIn, signIn)?.tenantId,
  }
}

function routeOf(value: unknown): KnownRoute {
  const route = entriesOf(value)
  const { shape } = configSchema.shape.routes.element
  return {
    fleets: fleetsIn(route.match),
    channels: parsed(shape.channels, route.channels),
    approvers: parsed(shape.approvers, route.approvers) ?? [],
    inSlack: route.approveIn === 'slack',
  }
}

function fleetsIn(match: unknown): string[] {
  const { fleet } = configSchema.shape.routes.element.shape.match.shape
  return parsed(fleet, entriesOf(match).fleet) ?? []
}

function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown) {
  return schema.safeParse(value).data as z.output<Schema> | undefined
}

function entriesOf(value: unknown): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Record<string, unknown>) : {}
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** One sentence each; of a path that is among `said` already, none. */
export function beyondForm(parts: Parts, filled: Filled, said: string[]): string[] {
  const before = new Set(said.map(pathIn))
  const { assumed } = filled
  const mistakes = [
    ...namesInRoutes(parts, filled),
    ...namesOfOwners(parts, filled),
    ...peopleThatCannotDecide(parts),
    // what was taken as given is no id to compare with
    ...(assumed.length === 0 ? peopleFromElsewhere(parts) : []),
    ...namesOfFleets(parts, filled),
    ...Object.keys(parts.channels).flatMap((name) => [
      ...fallbackOf(name, parts, filled),
      ...addressIn(name, parts, filled),
    ]),
  ]
  return mistakes.filter((mistake) => !before.has(pathIn(mistake)))
}

/** Where a mistake is, as its sentence begins. */
export function pathIn(mistake: string): string {
  return mistake.split(': ', 1)[0]!
}

function unknown(
  { paths }: Filled,
  [path, what, name]: [path: string, what: string, name: string],
  allowed: string[],
): string[] {
  if (allowed.includes(name)) return []
  // what is no name may be a secret that was written in its place
  const isName = isPresentable(name) && !paths.has(path)
  const shown = isName ? `"${name}"` : 'of that name'
  const meant = didYouMean(name, allowed)
  return [`${path}: there is no ${what} ${shown}; allowed are ${quoted(allowed)}${meant}`]
}

function namesInRoutes({ routes, channels }: Parts, filled: Filled): string[] {
  const names = Object.keys(channels)
  // that there are none is a mistake of form
  if (names.length === 0) return []
  return routes.flatMap(({ channels: some = [] }, i) =>
    some.flatMap((name, j) =>
      unknown(filled, [`routes[${i}].channels[${j}]`, 'channel', name], names),
    ),
  )
}

function namesOfOwners({ owners, channels }: Parts, filled: Filled): string[] {
  const allowed = Object.keys(channels)
  if (allowed.length === 0) return []
  return owners.flatMap(({ at, names }) =>
    names.flatMap((name, i) => unknown(filled, [`${at}[${i}]`, 'channel', name], allowed)),
  )
}

function namesOfFleets({ policy, routes, fleets }: Parts, filled: Filled): string[] {
  if (fleets.length === 0) return []
  const rules = [
    ...policy.map((rule, i) => ({ ...rule, at: `policy[${i}]` })),
    ...routes.map((rule, i) => ({ fleets: rule.fleets, at: `routes[${i}]` })),
  ]
  return rules.flatMap(({ fleets: some, at }) =>
    some.flatMap((name) => unknown(filled, [`${at}.match.fleet`, 'fleet', name], fleets)),
  )
}

function fallbackOf(name: string, { channels }: Parts, filled: Filled): string[] {
  const fallback = channels[name]?.fallback
  if (typeof fallback !== 'string') return []
  const others = Object.keys(channels).filter((other) => other !== name)
  const at = pathOf(['channels', name, 'fallback'], filled.value)
  if (others.length === 0) {
    return [`${at}: there is no other channel; add one under "channels", or remove "fallback"`]
  }
  if (fallback !== name) return unknown(filled, [at, 'channel', fallback], others)
  return [`${at}: ${quoted([name])} itself; write another, or none: ${quoted(others)}`]
}

function addressIn(name: string, { channels, allowNetworks }: Parts, filled: Filled): string[] {
  const { url, endpoint } = channels[name] ?? {}
  const key = endpoint === undefined ? 'url' : 'endpoint'
  const address = endpoint ?? url
  if (allowNetworks === undefined || typeof address !== 'string' || !isWebUrl(address)) return []
  const why = whyRefused(address, allowNetworks) ?? whyForeign(address)
  return why === undefined ? [] : [`${pathOf(['channels', name, key], filled.value)}: ${why}`]
}

const discordRule =
  'Foghorn has no kind of channel for Discord; write the address of another service, or of a "webhook" receiver that passes messages on'

/**
 * Why no kind of channel fits this address. A user's own server may accept a service's messages at
 * any address.
 */
function whyForeign(address: string): string | undefined {
  return /(^|\.)discord(app)?\.com\.?$/.test(new URL(address).hostname) ? discordRule : undefined
}

/** Settings that need another one to have any effect. */
function peopleThatCannotDecide({ routes, channels, hasSlackApp, hasSignIn }: Parts): string[] {
  const mayBeSlack = (name: string) => {
    const kind = Object.hasOwn(channels, name) ? channels[name]!.kind : 'none'
    return kind === 'slack' || (kind !== 'none' && !kindNames.some((known) => known === kind))
  }
  return routes.flatMap(({ approvers, inSlack, channels: names }, i) => {
    const mistakes: string[] = []
    if (inSlack && !hasSlackApp) {
      mistakes.push(`routes[${i}].approveIn: "slack" needs "slackApp", with signingSecret and team`)
    }
    if (inSlack && names !== undefined && !names.some(mayBeSlack)) {
      mistakes.push(`routes[${i}].approveIn: "slack" needs a Slack channel in this route`)
    }
    if (!hasSignIn && approvers.some((one) => one.startsWith('entra:'))) {
      mistakes.push(`routes[${i}].approvers: people of Entra need "signIn", with their tenantId`)
    }
    if (!hasSlackApp && approvers.some((one) => one.startsWith('slack:'))) {
      mistakes.push(
        `routes[${i}].approvers: people of Slack need "slackApp", with signingSecret and team`,
      )
    }
    return mistakes
  })
}

/** Of a tenant whose people never come in. People of other workspaces may, where they share a channel. */
function peopleFromElsewhere({ routes, tenantId }: Parts): string[] {
  return routes.flatMap(({ approvers }, i) =>
    approvers.flatMap((one, j) => {
      const [kind, tenant] = one.split(/[:/]/)
      if (kind !== 'entra' || tenantId === undefined || tenantId === tenant) return []
      const at = `routes[${i}].approvers[${j}]`
      return [`${at}: "signIn.tenantId" is not "${tenant}"; correct one of them`]
    }),
  )
}
