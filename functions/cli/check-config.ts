// `npm run check-config -- FILE`: lists mistakes and warnings of a configuration, and dry-runs one
// event. Reads only files and the environment.
import { readFileSync } from 'node:fs'
import { FoghornError } from '../../shared/errors.ts'
import { adviseOn } from '../check/advice.ts'
import { limitsOfBeaconless } from '../check/beaconless.ts'
import { dryRun } from '../check/dry-run.ts'
import { adviseOnSecrets } from '../check/owners.ts'
import { type Config, readConfigWith } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import { hosts, type MistakesOn } from '../config/hosts.ts'
import { isSink } from '../core/delivery/delivery.ts'
import { notifiers } from '../notify/registry.ts'
import { didYouMean } from '../schema/suggest.ts'
import { command, exitCodes, flag, type Io, text, wrong } from './command.ts'
import { counted, describeOutcome, listed, wrap } from './layout.ts'
import { missingChannels } from './missing-channels.ts'
import { shownRequests } from './requests.ts'
import { type EventOptions, eventOptions, readCase } from './tried-event.ts'

const options = {
  'without-env': flag,
  strict: flag,
  relay: flag,
  requests: flag,
  host: text,
  ...eventOptions,
} as const

export const checkConfig = command({
  usage: 'FILE [--without-env] [--strict] [options] [--event FILE | --type TYPE ...]',
  about: `
Checks the configuration in FILE. If it has mistakes, the exit code is 2. With warnings it is 0.

  --without-env    assume that missing "env:NAME" values are valid
  --strict         with warnings, too, the exit code is 1, as CI wants
  --relay          also compare with the relay that runs at publicUrl (or FOGHORN_URL): which of its
                   channels are missing here, and how many open events had messages there. It needs
                   FOGHORN_TOKEN, a token with the scope "read", or FOGHORN_ADMIN_KEY
  --requests       also show the requests that channels of kind "http" make, without secrets
  --host HOST      node, azure or cloudflare: what this host refuses is a mistake, too

Dry run: shows what the policy decides for one event, and which channels are notified.

  --event FILE     the event as IMDS shows it (one entry of Events), or as a beacon reports it;
                   other options override it
  --type TYPE      Freeze, Reboot, Redeploy, Preempt or Terminate
  --source SOURCE  Platform (default) or User
  --resource VM    an affected VM; several by commas, or repeated
  --duration N     expected seconds of interruption (default: unknown)
  --notice N       seconds from first sight to NotBefore (default: from the file, or as usual for
                   the type)
  --at TIME        when it happens, such as 2026-11-21T22:30Z (default: now), for rules with "time"
  --fleet NAME     required if the configuration has several fleets
  --tag NAME=VALUE, --scale-set NAME, --resource-group NAME
                   what the beacons of these VMs report about them; --tag may be repeated

Examples:
  npm run check-config -- foghorn.config.json
  npm run check-config -- foghorn.config.json --without-env --type Reboot --resource web_3`,
  options,
  words: { least: 1, most: 1 },
  async run({ options: given, words: [file = ''], io }) {
    const { 'without-env': isBare = false, strict, relay, requests, host, ...event } = given
    // the result stands below the summary, but a wrong event prints neither
    const printed: string[] = []
    const later = { ...io, print: (text: string) => void printed.push(text) }
    const further = relay ? (config: Config) => missingChannels(config, io) : undefined
    const more = { ...(further && { further }), refusals: listRefusals(host) }
    const { config, warnings } = await check(file, isBare, later, more)
    if (requests) for (const one of shownRequests(config, Date.now())) later.print(`\n${one}`)
    if (Object.keys(event).length > 0) tryEvent(config, event, later)
    io.print(printed.join('\n'))
    return strict && warnings > 0 ? exitCodes.broken : exitCodes.fine
  },
})

function listRefusals(host: string | undefined): MistakesOn {
  if (host === undefined) return () => []
  const names = Object.keys(hosts)
  const found = hosts[host as keyof typeof hosts] as MistakesOn | undefined
  if (found !== undefined) return found
  const meant = didYouMean(host, names)
  throw wrong(`there is no host "${host}"; write one of ${names.join(', ')}${meant}`)
}

interface More {
  /** The file's name in the output. */
  shownAs?: string
  /** Finds further mistakes. */
  refusals?: MistakesOn
  /** Finds further warnings. */
  further?: (config: Config) => Promise<string[]>
}

/**
 * Prints the summary and the warnings, also those of `further`. Throws FoghornError with all mistakes.
 */
export async function check(
  file: string,
  isBare: boolean,
  io: Pick<Io, 'environment' | 'print' | 'paint'>,
  { shownAs = file, refusals = () => [], further = async () => [] }: More = {},
) {
  const text = readText(file)
  const { config, assumed } = readConfiguration(text, shownAs, io.environment, isBare)
  const refused = refusals(config, io.environment)
  if (refused.length > 0) throw wrongFile(shownAs, refused)
  const warnings = [
    ...adviseOn(config),
    ...adviseOnSecrets(text, config),
    ...(await further(config)),
  ]
  const summary = wrap(summarize(shownAs, config, warnings.length)).join('\n')
  io.print(warnings.length === 0 ? io.paint('ok', summary) : summary)
  for (const limit of limitsOfBeaconless(config)) io.print(wrap(limit).join('\n'))
  if (assumed.length > 0) {
    const names = assumed.join(', ')
    const skipped = `Missing in the environment, so not checked (--without-env): ${names}`
    io.print(wrap(skipped).join('\n'))
  }
  if (warnings.length > 0) io.print(io.paint('warning', ['', ...listed(warnings)].join('\n')))
  return { config, warnings: warnings.length }
}

/** Prints what the relay would do with this event. */
export function tryEvent(
  config: Config,
  options: EventOptions,
  { print }: Pick<Io, 'print'>,
): void {
  const event = options.event === undefined ? undefined : readText(options.event, '--event: ')
  const fleets = Object.keys(config.fleets)
  const { case: one, doubts, notes } = readCase(options, event, fleets, Date.now())
  const outcome = dryRun({ config, sending: { notifiers } }, one)
  const lines = [
    // first, because the outcome depends on it
    ...(doubts.length === 0 ? [] : ['', ...doubts.flatMap((doubt) => wrap(doubt, '', '  '))]),
    '',
    ...describeOutcome(one, outcome, Object.keys(config.channels)),
    ...(notes.length === 0 ? [] : ['', ...notes.flatMap((note) => wrap(note, '  '))]),
  ]
  print(lines.join('\n'))
}

function readConfiguration(
  text: string,
  shownAs: string,
  environment: Environment,
  withoutEnvironment: boolean,
) {
  try {
    return readConfigWith(text, environment, withoutEnvironment ? 'assumed' : 'rejected')
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    const lines = error.message.split('\n')
    const lacks = lines.some((line) => line.includes(': the environment has no '))
    const hint = "\nOn a machine other than the relay's, add --without-env to skip such values."
    const more = lacks && !withoutEnvironment ? hint : ''
    throw wrongFile(shownAs, lines, more)
  }
}

function wrongFile(shownAs: string, mistakes: string[], more = ''): FoghornError {
  const count = `${shownAs} has ${counted(mistakes.length, 'mistake')}:`
  return wrong([count, ...listed(mistakes)].join('\n') + more)
}

function summarize(file: string, config: Config, warnings: number): string {
  const { fleets, channels, policy, routes } = config
  const names = Object.keys(channels)
  const sinks = names.filter(isSink)
  const groups = Map.groupBy(sinks, (name) => name.split(':')[0]!)
  const parts = [
    counted(Object.keys(fleets).length, 'fleet'),
    counted(names.length - sinks.length, 'channel'),
    ...[...groups].map(([group, some]) => `${some.length} in "${group}"`),
    counted(policy.length, 'rule'),
    counted(routes.length, 'route'),
  ]
  const end = warnings === 0 ? 'no warnings' : counted(warnings, 'warning')
  return `${file}: ${parts.join(', ')}; no mistakes, ${end}`
}

function readText(path: string, where = ''): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const what = code === 'ENOENT' ? 'there is no file' : `${code}: cannot read`
    throw wrong(
      `${where}${what} "${path}"; write a path relative to the current folder; npm run sets it to that of package.json`,
    )
  }
}
