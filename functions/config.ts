// Reads the configuration file, with `env:NAME` values filled in. All mistakes of form are reported at
// once, then all names that do not exist: path, value and what is allowed; secrets are never shown.
import type { z } from 'zod'
import { describeIssues, FoghornError, pathOf } from '../shared/errors.ts'
import { isPresentable } from '../shared/presentable.ts'
import { isWebUrl, quoted, remedyOf } from './config/checks.ts'
import { type Environment, type Filled, fillIn } from './config/environment.ts'
import { readJson } from './config/json.ts'
import {
  type Channel,
  type ChannelOf,
  configSchema,
  type Entra,
  type Fleet,
  type SignIn,
  type SlackApp,
} from './config/schema.ts'
import { didYouMean } from './config/suggest.ts'
import { whyRefused } from './core/address.ts'
import type { PolicyRule, Route } from './core/policy.ts'

export type { Channel, ChannelOf, Entra, Fleet }
export { configSchema }

export interface Config {
  publicUrl: string
  fleets: Record<string, Fleet>
  channels: Record<string, Channel>
  policy: PolicyRule[]
  routes: Route[]
  slackApp?: SlackApp | undefined
  signIn?: SignIn | undefined
  retentionDays: number
  allowNetworks: string[]
}

/** Throws FoghornError `config_invalid` with one line for each mistake. */
export function readConfig(text: string, environment: Environment): Config {
  return readConfigWith(text, environment, 'refused').config
}

/** As `readConfig`; with the names that the environment lacks, where they are taken as given. */
export function readConfigWith(
  text: string,
  environment: Environment,
  missing: 'refused' | 'taken_as_given',
): { config: Config; assumed: string[] } {
  const json = readJson(text)
  const filled = fillIn(json.value, environment, missing)
  const parsed = configSchema.safeParse(filled.value, { error: remedyOf })
  const mistakes = [
    ...json.mistakes,
    ...filled.mistakes,
    ...(parsed.success ? namesThatDoNotExist(parsed.data, filled) : describe(parsed.error, filled)),
  ]
  if (mistakes.length > 0 || !parsed.success) {
    throw new FoghornError('config_invalid', mistakes.join('\n'))
  }
  const { $schema: _, policy, ...rest } = parsed.data
  const named = policy.map((rule, i) => ({ ...rule, name: rule.name ?? `policy[${i}]` }))
  return { config: { ...rest, policy: named }, assumed: filled.assumed }
}

/** Every value that must not be seen outside: keys, channel addresses, routing keys. */
export function secretsOf(config: Config): string[] {
  const channels = Object.values(config.channels).flatMap(channelSecrets)
  const keys = Object.values(config.fleets).flatMap((fleet) => fleet.key ?? [])
  return [...keys, ...channels, ...(config.slackApp?.signingSecret ?? [])]
}

/** Of a channel; its other texts are secrets, so that a key nobody thought of is hidden. */
const openKeys = ['kind', 'fallback', 'endpoint', 'channel']

/** The secrets of one channel; of an address also its parts, as an error may name them alone. */
export function channelSecrets(channel: Channel): string[] {
  const secrets = Object.entries(channel)
    .flatMap(([key, value]) => (openKeys.includes(key) ? [] : [value].flat()))
    .filter((value) => typeof value === 'string')
  return secrets.flatMap((secret) => (isWebUrl(secret) ? [secret, ...partsOf(secret)] : [secret]))
}

function partsOf(url: string): string[] {
  const { pathname, search, searchParams } = new URL(url)
  const raw = search
    .slice(1)
    .split('&')
    .map((pair) => pair.split('=', 2)[1] ?? '')
  const segments = pathname.split('/').slice(-1)
  return [pathname + search, pathname, ...raw, ...searchParams.values(), ...segments]
}

/** Where its messages go. */
export function addressOf(channel: Channel): string {
  return 'endpoint' in channel ? channel.endpoint : channel.url
}

/** Below `fleets` and `channels` only these are shown, and only in the form of a name. */
const shownKeys = ['kind', 'fallback']
/** An address anywhere else stands in a wrong place, and may be the secret of a channel. */
const addressKeys = ['publicUrl', '$schema']

function describe(error: z.ZodError, filled: Filled): string[] {
  const missing = new Set(filled.mistakes.map((mistake) => mistake.split(': ')[0]))
  const isHidden = (path: PropertyKey[], value: unknown) => {
    if (filled.paths.has(pathOf(path))) return true
    const [first = '', last] = [path[0], path.at(-1)].map(String)
    if (['fleets', 'channels', 'slackApp'].includes(first)) {
      return !shownKeys.includes(last!) || !isPresentable(String(value))
    }
    return String(value).includes('://') && !addressKeys.includes(first)
  }
  return describeIssues(error, filled.value, isHidden).filter(
    (mistake) => !missing.has(mistake.split(': ')[0]),
  )
}

type Parsed = z.output<typeof configSchema>

function namesThatDoNotExist(parsed: Parsed, { paths, assumed }: Filled): string[] {
  const { channels, fleets, routes, policy, allowNetworks } = parsed
  const mistakes: string[] = []
  const check = (path: string, what: string, name: string, allowed: string[]) => {
    if (allowed.includes(name)) return
    // what is no name may be a secret that was written in its place
    const isName = isPresentable(name) && !paths.has(path)
    const shown = isName ? `"${name}"` : 'of that name'
    const meant = didYouMean(name, allowed)
    mistakes.push(`${path}: there is no ${what} ${shown}; allowed are ${quoted(allowed)}${meant}`)
  }
  routes.forEach((route, i) => {
    route.channels.forEach((name, j) => {
      check(`routes[${i}].channels[${j}]`, 'channel', name, Object.keys(channels))
    })
  })
  mistakes.push(...peopleThatCannotDecide(parsed))
  // what was taken as given is no id to compare with
  if (assumed.length === 0) mistakes.push(...peopleFromElsewhere(parsed))
  const rules = [
    ...policy.map(({ match }, i) => ({ match, at: `policy[${i}]` })),
    ...routes.map(({ match }, i) => ({ match, at: `routes[${i}]` })),
  ]
  for (const { match, at } of rules) {
    for (const name of match.fleet ?? []) {
      check(`${at}.match.fleet`, 'fleet', name, Object.keys(fleets))
    }
  }
  for (const [name, channel] of Object.entries(channels)) {
    const { fallback } = channel
    const others = Object.keys(channels).filter((other) => other !== name)
    const at = `channels.${name}`
    if (fallback === name) {
      mistakes.push(`${at}.fallback: "${name}" itself; write another, or none: ${quoted(others)}`)
    } else if (fallback !== undefined) check(`${at}.fallback`, 'channel', fallback, others)
    const key = 'endpoint' in channel ? 'endpoint' : 'url'
    const why = whyRefused(addressOf(channel), allowNetworks)
    if (why !== undefined) mistakes.push(`${at}.${key}: ${why}`)
  }
  return mistakes
}

/** Settings that need another one to have any effect. */
function peopleThatCannotDecide({ routes, channels, slackApp, signIn }: Parsed): string[] {
  return routes.flatMap(({ approvers = [], approveIn, channels: names }, i) => {
    const mistakes: string[] = []
    const ofSlack = names.some((name) =>
      ['slack', 'slack_bot'].includes(channels[name]?.kind ?? ''),
    )
    if (approveIn === 'slack' && slackApp === undefined) {
      mistakes.push(`routes[${i}].approveIn: "slack" needs "slackApp", with signingSecret and team`)
    }
    if (approveIn === 'slack' && !ofSlack) {
      mistakes.push(`routes[${i}].approveIn: "slack" needs a Slack channel in this route`)
    }
    if (signIn === undefined && approvers.some((one) => one.startsWith('entra:'))) {
      mistakes.push(`routes[${i}].approvers: people of Entra need "signIn", with their tenantId`)
    }
    if (slackApp === undefined && approvers.some((one) => one.startsWith('slack:'))) {
      mistakes.push(
        `routes[${i}].approvers: people of Slack need "slackApp", with signingSecret and team`,
      )
    }
    return mistakes
  })
}

/** Of a tenant whose people never come in. People of other workspaces may, where they share a channel. */
function peopleFromElsewhere({ routes, signIn }: Parsed): string[] {
  return routes.flatMap(({ approvers = [] }, i) =>
    approvers.flatMap((one, j) => {
      const [kind, tenant] = one.split(/[:/]/)
      if (kind !== 'entra' || signIn === undefined || signIn.tenantId === tenant) return []
      const at = `routes[${i}].approvers[${j}]`
      return [`${at}: "signIn.tenantId" is not "${tenant}"; correct one of them`]
    }),
  )
}
