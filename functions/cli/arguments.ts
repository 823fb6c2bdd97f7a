// The arguments of `npm run check-config --`, and what other commands share.
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { eventTypes, knownType } from '../../shared/document.ts'
import { FoghornError } from '../../shared/errors.ts'
import { didYouMean, nearest } from '../schema/suggest.ts'

export const help = `npm run check-config -- FILE [--without-env] [--event FILE | --type TYPE ...]

Checks the configuration in FILE. If it has mistakes, the exit code is 2. With warnings it is 0.

  --without-env    assume that missing "env:NAME" values are valid

Dry run: shows what the policy decides for one event, and which channels are notified.

  --event FILE     the event as IMDS shows it (one entry of Events), or as a beacon reports it;
                   other options override it
  --type TYPE      Freeze, Reboot, Redeploy, Preempt or Terminate
  --source SOURCE  Platform (default) or User
  --resource VM    an affected VM; several by commas, or repeated
  --duration N     expected seconds of interruption (default: unknown)
  --notice N       seconds from first sight to NotBefore (default: from the file, or as usual for
                   the type)
  --fleet NAME     required if the configuration has several fleets
  --tag NAME=VALUE, --scale-set NAME, --resource-group NAME
                   what the beacons of these VMs report about them; --tag may be repeated

Examples:
  npm run check-config -- foghorn.config.json
  npm run check-config -- foghorn.config.json --without-env --type Reboot --resource web_3
`

/** Of every command. `wrong`: the user must change the input. */
export const exitCodes = { fine: 0, broken: 1, wrong: 2 }

export const text = { type: 'string' } as const
export const texts = { type: 'string', multiple: true } as const
const options = {
  help: { type: 'boolean', short: 'h' },
  'without-env': { type: 'boolean' },
  event: text,
  type: text,
  source: text,
  resource: texts,
  duration: text,
  notice: text,
  fleet: text,
  tag: texts,
  'scale-set': text,
  'resource-group': text,
} as const

export type Options = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']

export interface Arguments {
  /** The configuration. */
  file: string
  options: Options
  isDryRun: boolean
}

/** Throws FoghornError `arguments_wrong`. */
export function readArguments(words: string[]): Arguments | 'help' {
  const { values, positionals } = parseWords(words, options)
  if (values.help) return 'help'
  const [file, ...more] = positionals
  const remedy = 'write npm run check-config -- foghorn.config.json'
  if (file === undefined) throw wrong(`no file was given; ${remedy}`)
  if (more.length > 0)
    throw wrong(`the command takes one file, but "${more[0]}" follows; ${remedy}`)
  const { help: _h, 'without-env': _w, ...event } = values
  return { file, options: values, isDryRun: Object.keys(event).length > 0 }
}

/** Throws FoghornError `arguments_wrong`. */
export function parseWords<const Known extends NonNullable<ParseArgsConfig['options']>>(
  words: string[],
  options: Known,
) {
  try {
    return parseArgs({ args: words, options, allowPositionals: true })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (!code?.startsWith('ERR_PARSE_ARGS')) throw error
    const flag = /'(?:-\w, )?(--?[\w-]+)/.exec(message)?.[1] ?? ''
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
      const meant = nearest(flag.replace(/^-+/, ''), Object.keys(options))
      const suggestion = meant === undefined ? '' : `did you mean --${meant}? `
      throw wrong(`unknown option ${flag}; ${suggestion}--help lists all options`)
    }
    if (message.includes('does not take an argument')) throw wrong(`${flag} takes no value`)
    throw wrong(`${flag} needs a value; write ${flag}=VALUE`)
  }
}

/** Azure's spelling of an event's type. Throws FoghornError `arguments_wrong`. */
export function typeOf(wanted: string): string {
  const known = knownType(wanted)
  if (known !== undefined) return known
  const types = eventTypes.join(', ')
  throw wrong(`--type: there is no "${wanted}"; write ${types}${didYouMean(wanted, eventTypes)}`)
}

/** Tags from `NAME=VALUE` texts. */
export function tagsIn(given: string[]): Record<string, string> {
  const pairs = given.map((one) => {
    const [name = '', ...value] = one.split('=')
    return [name, value.join('=')]
  })
  return Object.fromEntries(pairs)
}

export function wrong(message: string): FoghornError {
  return new FoghornError('arguments_wrong', message)
}
