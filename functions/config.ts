// Reads the configuration file, with `env:NAME` values filled in. All mistakes of form are reported at
// once, then all names that do not exist: path, value and what is allowed; secrets are never shown.
import type { z } from 'zod'
import { describeIssues, FoghornError, pathOf } from '../shared/errors.ts'
import {
  type Channel,
  type ChannelOf,
  configSchema,
  type Entra,
  type Fleet,
  identifier,
  nameRule,
  quoted,
} from './config-schema.ts'
import type { PolicyRule, Route } from './core/policy.ts'

export type { Channel, ChannelOf, Entra, Fleet }
export { configSchema }

export interface Config {
  publicUrl: string
  fleets: Record<string, Fleet>
  channels: Record<string, Channel>
  policy: PolicyRule[]
  routes: Route[]
  retentionDays: number
  allowNetworks: string[]
}

/** Throws FoghornError `config_invalid` with one line for each mistake. */
export function readConfig(text: string, environment: Record<string, string | undefined>): Config {
  const filled = fillIn(parseJson(text), environment)
  const parsed = configSchema.safeParse(filled.value)
  const mistakes = [
    ...filled.mistakes,
    ...(parsed.success ? namesThatDoNotExist(parsed.data) : describe(parsed.error, filled)),
  ]
  if (mistakes.length > 0 || !parsed.success) {
    throw new FoghornError('config_invalid', mistakes.join('\n'))
  }
  const { $schema: _, policy, ...rest } = parsed.data
  const named = policy.map((rule, i) => ({ ...rule, name: rule.name ?? `policy[${i}]` }))
  return { ...rest, policy: named }
}

/** Every value that must not be seen outside: keys, channel addresses, routing keys. */
export function secretsOf(config: Config): string[] {
  const channels = Object.values(config.channels).flatMap(channelSecrets)
  return [...Object.values(config.fleets).flatMap((fleet) => fleet.key ?? []), ...channels]
}

/** The secrets of one channel; of an address also its parts, as an error may name them alone. */
export function channelSecrets(channel: Channel): string[] {
  if (channel.kind === 'pagerduty') return [channel.routingKey]
  const { pathname, search, searchParams } = new URL(channel.url)
  const raw = search
    .slice(1)
    .split('&')
    .map((pair) => pair.split('=', 2)[1] ?? '')
  const segments = pathname.split('/').slice(-1)
  const parts = [pathname + search, pathname, ...raw, ...searchParams.values(), ...segments]
  return [channel.url, ...parts, ...(channel.kind === 'webhook' ? channel.secret : [])]
}

interface Filled {
  value: unknown
  mistakes: string[]
  /** Paths of values that came from the environment. */
  paths: Set<string>
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new FoghornError('config_invalid', `not JSON: ${describeJsonMistake(text)}`)
  }
}

/** Where the mistake is; the engine's own words may quote the text around it, and a secret with it. */
function describeJsonMistake(text: string): string {
  const mistakeIn = (part: string): string => {
    try {
      return String(JSON.parse(part) && '')
    } catch (error) {
      return (error as Error).message
    }
  }
  const whole = mistakeIn(text)
  if (!whole.startsWith('Unexpected token')) return whole
  const lines = text.split('\n')
  const line = lines.findIndex((_, i) =>
    mistakeIn(lines.slice(0, i + 1).join('\n')).startsWith('Unexpected token'),
  )
  return `line ${line + 1} holds something else than a value in JSON's own form`
}

function fillIn(value: unknown, environment: Record<string, string | undefined>): Filled {
  const mistakes: string[] = []
  const paths = new Set<string>()
  const walk = (item: unknown, path: PropertyKey[]): unknown => {
    if (Array.isArray(item)) return item.map((part, i) => walk(part, [...path, i]))
    if (typeof item === 'object' && item !== null) {
      const entries = Object.entries(item)
      return Object.fromEntries(entries.map(([key, part]) => [key, walk(part, [...path, key])]))
    }
    if (typeof item !== 'string' || !item.startsWith('env:')) return item
    const found = environment[item.slice(4)]
    if (found === undefined || found === '') {
      mistakes.push(`${pathOf(path)}: the environment has no ${item.slice(4)}; set it`)
    }
    paths.add(pathOf(path))
    return found ?? item
  }
  return { value: walk(value, []), mistakes, paths }
}

/** Below `fleets` and `channels` only these may be shown: elsewhere there a secret may be misplaced. */
const shownKeys = ['kind', 'fallback']

function describe(error: z.ZodError, filled: Filled): string[] {
  const missing = new Set(filled.mistakes.map((mistake) => mistake.split(': ')[0]))
  const isHidden = (path: PropertyKey[]) =>
    filled.paths.has(pathOf(path)) ||
    (['fleets', 'channels'].includes(String(path[0])) && !shownKeys.includes(String(path.at(-1))))
  return describeIssues(error, filled.value, isHidden)
    .filter((mistake) => !missing.has(mistake.split(': ')[0]))
    .map((mistake) =>
      mistake
        .replace(/: Invalid input: expected (\S+), received undefined$/, ': missing; write $1')
        .replace(/: Invalid key in record$/, `: ${nameRule}`),
    )
}

type Parsed = z.output<typeof configSchema>

function namesThatDoNotExist({ channels, fleets, routes, policy, allowNetworks }: Parsed) {
  const mistakes: string[] = []
  const check = (path: string, what: string, name: string, allowed: string[]) => {
    if (allowed.includes(name)) return
    // what is no name may be an address, and so a secret, that was written in its place
    const shown = identifier.safeParse(name).success ? `"${name}"` : 'of that name'
    mistakes.push(`${path}: there is no ${what} ${shown}; allowed are ${quoted(allowed)}`)
  }
  routes.forEach((route, i) => {
    route.channels.forEach((name, j) => {
      check(`routes[${i}].channels[${j}]`, 'channel', name, Object.keys(channels))
    })
  })
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
    if (fallback !== undefined) check(`channels.${name}.fallback`, 'channel', fallback, others)
    const url = channel.kind === 'pagerduty' ? channel.endpoint : channel.url
    if (url.startsWith('http:') && allowNetworks.length === 0) {
      mistakes.push(`channels.${name}: plain http is for networks in allowNetworks; write https://`)
    }
  }
  return mistakes
}
