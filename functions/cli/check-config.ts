// `npm run check-config -- FILE`: what is wrong with a configuration, what is hardly meant, and what would
// become of one event. Reads files and the environment, and decides nothing.
import { readFileSync } from 'node:fs'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { adviseOn } from '../check/advice.ts'
import { dryRun } from '../check/dry-run.ts'
import { type Config, readConfigWith } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import { notifiers } from '../notify/kinds.ts'
import { type Arguments, exitCodes, help, readArguments, wrong } from './arguments.ts'
import { caseOf } from './event.ts'
import { describeOutcome, listed, wrap } from './layout.ts'

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
    lines.push(...wrap(`Taken as given (--without-env), so not checked: ${names}`))
  }
  if (warnings.length > 0) lines.push('', ...listed(warnings))
  if (!isDryRun) return lines
  const event = options.event === undefined ? undefined : readText(options.event, '--event: ')
  const fleets = Object.keys(config.fleets)
  const { case: one, doubts, notes } = caseOf(options, event, fleets, Date.now())
  const outcome = dryRun({ config, notifiers }, one)
  // before what follows from it
  if (doubts.length > 0) lines.push('', ...doubts.flatMap((doubt) => wrap(doubt, '', '  ')))
  lines.push('', ...describeOutcome(one, outcome, Object.keys(config.channels)))
  if (notes.length > 0) lines.push('', ...notes.flatMap((note) => wrap(note, '  ')))
  return lines
}

function readConfiguration(file: string, environment: Environment, withoutEnvironment: boolean) {
  const text = readText(file)
  try {
    return readConfigWith(text, environment, withoutEnvironment ? 'taken_as_given' : 'refused')
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    const lines = error.message.split('\n')
    const lacks = lines.some((line) => line.includes(': the environment has no '))
    const hint = "\nOn another machine than the relay's: --without-env takes such values as given."
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
  const end = warnings === 0 ? 'nothing to say against it' : counted(warnings, 'warning')
  return `${file}: ${parts.join(', ')}; no mistakes, ${end}`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function readText(path: string, where = ''): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const what = code === 'ENOENT' ? 'there is no file' : `${code}: can't read`
    throw wrong(`${where}${what} "${path}"; write the path of a file, as seen from the top folder`)
  }
}

if (import.meta.main) {
  const { code, out, err } = run(process.argv.slice(2), process.env)
  process.stdout.write(out)
  process.stderr.write(err)
  process.exitCode = code
}
