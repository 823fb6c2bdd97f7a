// `npm run check-config -- FILE`: lists mistakes and warnings of a configuration, and dry-runs one
// event. Reads only files and the environment.
import { readFileSync } from 'node:fs'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { adviseOn } from '../check/advice.ts'
import { dryRun } from '../check/dry-run.ts'
import { type Config, readConfigWith } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import { notifiers } from '../notify/registry.ts'
import { type Arguments, exitCodes, help, readArguments, wrong } from './arguments.ts'
import { counted, describeOutcome, listed, wrap } from './layout.ts'
import { caseOf } from './tried-event.ts'

interface Ran {
  code: number
  out: string
  err: string
}

/** The command without its process. */
export function run(words: string[], environment: Environment): Ran {
  const textOf = (lines: string[]) => `${lines.join('\n')}\n`
  try {
    const given = readArguments(words)
    const lines = given === 'help' ? help.trimEnd().split('\n') : check(given, environment)
    return { code: exitCodes.fine, out: textOf(lines), err: '' }
  } catch (error) {
    const known = error instanceof FoghornError
    const lines = (known ? error.message : messageOf(error)).split('\n')
    const short = lines.flatMap((line) => (line.startsWith(' ') ? line : wrap(line, '', '  ')))
    return { code: known ? exitCodes.wrong : exitCodes.broken, out: '', err: textOf(short) }
  }
}

function check({ file, options, isDryRun }: Arguments, environment: Environment): string[] {
  const isBare = options['without-env'] === true
  const { config, assumed } = readConfiguration(file, environment, isBare)
  const warnings = adviseOn(config)
  const lines = [...wrap(summaryOf(file, config, warnings.length))]
  if (assumed.length > 0) {
    const names = assumed.join(', ')
    lines.push(...wrap(`Missing in the environment, so not checked (--without-env): ${names}`))
  }
  if (warnings.length > 0) lines.push('', ...listed(warnings))
  if (!isDryRun) return lines
  const event = options.event === undefined ? undefined : readText(options.event, '--event: ')
  const fleets = Object.keys(config.fleets)
  const { case: one, doubts, notes } = caseOf(options, event, fleets, Date.now())
  const outcome = dryRun({ config, notifiers }, one)
  // first, because the outcome depends on it
  if (doubts.length > 0) lines.push('', ...doubts.flatMap((doubt) => wrap(doubt, '', '  ')))
  lines.push('', ...describeOutcome(one, outcome, Object.keys(config.channels)))
  if (notes.length > 0) lines.push('', ...notes.flatMap((note) => wrap(note, '  ')))
  return lines
}

function readConfiguration(file: string, environment: Environment, withoutEnvironment: boolean) {
  const text = readText(file)
  try {
    return readConfigWith(text, environment, withoutEnvironment ? 'assumed' : 'rejected')
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    const lines = error.message.split('\n')
    const lacks = lines.some((line) => line.includes(': the environment has no '))
    const hint = "\nOn a machine other than the relay's, add --without-env to skip such values."
    const more = lacks && !withoutEnvironment ? hint : ''
    const count = `${file} has ${counted(lines.length, 'mistake')}:`
    throw new FoghornError(error.code, [count, ...listed(lines)].join('\n') + more)
  }
}

function summaryOf(file: string, config: Config, warnings: number): string {
  const { fleets, channels, policy, routes } = config
  const parts = [
    counted(Object.keys(fleets).length, 'fleet'),
    counted(Object.keys(channels).length, 'channel'),
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
    throw wrong(`${where}${what} "${path}"; write a path relative to the folder of package.json`)
  }
}

if (import.meta.main) {
  const { code, out, err } = run(process.argv.slice(2), process.env)
  process.stdout.write(out)
  process.stderr.write(err)
  process.exitCode = code
}
