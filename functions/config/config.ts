// Reads the configuration file and fills in `env:NAME` values. Reports all mistakes at once, each
// with its path, the value and what is allowed. Secrets are never shown.
import type { z } from 'zod'
import { describeIssues, describePath, FoghornError } from '../../shared/errors.ts'
import { isPresentable } from '../../shared/presentable.ts'
import type * as Rules from '../core/rules/config.ts'
import { appSecrets, apps, groups } from '../notify/registry.ts'
import { describeRemedy } from '../schema/checks.ts'
import { type Environment, type Filled, fillIn } from './environment.ts'
import { readJson } from './json.ts'
import { mistakesInNames, pathIn } from './names.ts'
import { findReadable } from './readable.ts'
import { type Channel, channelSecrets, configSchema } from './schema.ts'

export type { Channel }
export { configSchema }

/** The configuration, with the settings that each channel's kind needs. */
export interface Config extends Rules.Config {
  channels: Record<string, Channel>
}

/** How many mistakes one error lists. */
const maxMistakes = 100

/** Throws FoghornError `config_invalid` with one line for each mistake. */
export function readConfig(text: string, environment: Environment): Config {
  return readConfigWith(text, environment, 'rejected').config
}

/** Like `readConfig`. Missing variables can be assumed to be valid; then it returns their names. */
export function readConfigWith(
  text: string,
  environment: Environment,
  missing: 'rejected' | 'assumed',
): { config: Config; assumed: string[] } {
  const json = readJson(text)
  const filled = fillIn(json.value, environment, missing)
  const parsed = configSchema.safeParse(filled.value, { error: describeRemedy })
  const inText = [...json.mistakes, ...filled.mistakes]
  const inForm = parsed.success ? [] : describe(parsed.error, filled)
  const inNames = mistakesInNames(findReadable(filled.value), filled, [...inText, ...inForm])
  const mistakes = [...inText, ...[...inForm, ...inNames].map((one) => withOrigin(one, filled))]
  if (mistakes.length > 0 || !parsed.success) {
    const more = mistakes.length - maxMistakes
    const shown = more > 0 ? [...mistakes.slice(0, maxMistakes), `and ${more} more`] : mistakes
    throw new FoghornError('config_invalid', shown.join('\n'))
  }
  const { $schema: _, policy, ...rest } = parsed.data
  const named = policy.map((rule, i) => ({ ...rule, name: rule.name ?? `policy[${i}]` }))
  const config = { ...withoutGroups(rest), channels: channelsIn(rest), policy: named }
  return { config, assumed: filled.assumed }
}

type Grouped = Pick<z.output<typeof configSchema>, 'channels' | (typeof groups)[number]>

function channelsIn(parsed: Grouped): Config['channels'] {
  const grouped = groups.flatMap((group) =>
    Object.entries(parsed[group] ?? {}).map(([name, one]) => [`${group}:${name}`, one]),
  )
  return { ...parsed.channels, ...Object.fromEntries(grouped) }
}

function withoutGroups<Parsed extends Grouped>(parsed: Parsed) {
  const entries = Object.entries(parsed).filter(([key]) => !(groups as string[]).includes(key))
  return Object.fromEntries(entries) as Omit<Parsed, (typeof groups)[number]>
}

/** Every secret value: keys, channel addresses, routing keys. */
export function listSecrets(config: Config): string[] {
  const channels = Object.values(config.channels).flatMap(channelSecrets)
  const keys = Object.values(config.fleets).flatMap((fleet) => fleet.key ?? [])
  const { azure } = config
  return [...keys, ...channels, ...appSecrets(config), azure?.clientSecret ?? ''].filter(
    (one) => one !== '',
  )
}

const hiddenParts = ['fleets', 'channels', ...groups, 'azure', ...Object.keys(apps)]
/** Below `hiddenParts`, errors show only these values, if they look like names. */
const shownKeys = ['kind', 'fallback']
/** Errors show addresses in these keys only. An address elsewhere may be a channel's secret. */
const addressKeys = ['publicUrl', '$schema']

type Issue = z.core.$ZodIssue

function describe(error: z.ZodError, filled: Filled): string[] {
  const missing = new Set(filled.mistakes.map(pathIn))
  const isHidden = (path: PropertyKey[], value: unknown) => {
    if (filled.paths.has(describePath(path, filled.value))) return true
    const [first = '', last] = [path[0], path.at(-1)].map(String)
    if (hiddenParts.includes(first)) {
      return !shownKeys.includes(last!) || !isPresentable(String(value))
    }
    return String(value).includes('://') && !addressKeys.includes(first)
  }
  // Each value reports one error, that of its last check: earlier remedies may contradict it.
  const isOfKeys = ({ code }: Issue) => code === 'unrecognized_keys' || code === 'invalid_key'
  const ofValues = error.issues.filter((issue) => !isOfKeys(issue))
  const last = new Map(ofValues.map((issue) => [issue.path.join('\n'), issue]))
  const isLast = (issue: Issue) => last.get(issue.path.join('\n')) === issue
  const issues = error.issues.filter((issue) => isOfKeys(issue) || isLast(issue))
  return describeIssues({ issues }, filled.value, isHidden, maxMistakes).filter(
    (mistake) => !missing.has(pathIn(mistake)),
  )
}

/** Adds the variable that a wrong value came from, or how to write a variable. */
function withOrigin(mistake: string, { paths, lookalikes }: Filled): string {
  const path = pathIn(mistake)
  if (paths.has(path)) return `${mistake} (from the environment: ${paths.get(path)})`
  if (!lookalikes.has(path)) return mistake
  return `${mistake}; to read it from the environment, write "env:NAME"`
}
