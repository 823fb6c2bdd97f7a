// Reads the configuration file, with `env:NAME` values filled in. All mistakes are reported at once, those of
// form and those of what has the right form: path, value and what is allowed; secrets are never shown.
import type { z } from 'zod'
import { describeIssues, FoghornError, pathOf } from '../../shared/errors.ts'
import { isPresentable } from '../../shared/presentable.ts'
import type * as Rules from '../core/rules/config.ts'
import { remedyOf } from '../schema/checks.ts'
import { type Environment, type Filled, fillIn } from './environment.ts'
import { readJson } from './json.ts'
import { beyondForm, partsOf, pathIn } from './names.ts'
import { type Channel, channelSecrets, configSchema } from './schema.ts'

export type { Channel }
export { configSchema }

/** The configuration with all that the kinds of its channels need. */
export interface Config extends Rules.Config {
  channels: Record<string, Channel>
}

/** How many mistakes one error lists. */
const maxMistakes = 100

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
  const ofForm = parsed.success ? [] : describe(parsed.error, filled)
  const said = [...json.mistakes, ...filled.mistakes]
  const beyond = beyondForm(partsOf(filled.value), filled, [...said, ...ofForm])
  const mistakes = [...said, ...[...ofForm, ...beyond].map((one) => withOrigin(one, filled))]
  if (mistakes.length > 0 || !parsed.success) {
    const more = mistakes.length - maxMistakes
    const shown = more > 0 ? [...mistakes.slice(0, maxMistakes), `and ${more} more`] : mistakes
    throw new FoghornError('config_invalid', shown.join('\n'))
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

/** Below `fleets` and `channels` only these are shown, and only in the form of a name. */
const shownKeys = ['kind', 'fallback']
/** An address anywhere else stands in a wrong place, and may be the secret of a channel. */
const addressKeys = ['publicUrl', '$schema']

type Issue = z.core.$ZodIssue

function describe(error: z.ZodError, filled: Filled): string[] {
  const missing = new Set(filled.mistakes.map(pathIn))
  const isHidden = (path: PropertyKey[], value: unknown) => {
    if (filled.paths.has(pathOf(path, filled.value))) return true
    const [first = '', last] = [path[0], path.at(-1)].map(String)
    if (['fleets', 'channels', 'slackApp'].includes(first)) {
      return !shownKeys.includes(last!) || !isPresentable(String(value))
    }
    return String(value).includes('://') && !addressKeys.includes(first)
  }
  // of what is said of one value only the last, which knows the most: remedies may contradict each other
  const isOfKeys = ({ code }: Issue) => code === 'unrecognized_keys' || code === 'invalid_key'
  const ofValues = error.issues.filter((issue) => !isOfKeys(issue))
  const last = new Map(ofValues.map((issue) => [issue.path.join('\n'), issue]))
  const isLast = (issue: Issue) => last.get(issue.path.join('\n')) === issue
  const issues = error.issues.filter((issue) => isOfKeys(issue) || isLast(issue))
  return describeIssues({ issues }, filled.value, isHidden, maxMistakes).filter(
    (mistake) => !missing.has(pathIn(mistake)),
  )
}

/** Where a wrong value came from, or how to say that it is to come from there. */
function withOrigin(mistake: string, { paths, lookalikes }: Filled): string {
  const path = pathIn(mistake)
  if (paths.has(path)) return `${mistake} (from the environment: ${paths.get(path)})`
  if (!lookalikes.has(path)) return mistake
  return `${mistake}; what is to come from the environment is written "env:NAME"`
}
