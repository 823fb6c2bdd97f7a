// What somebody typed after `npm run check-config --`.
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { FoghornError } from '../../shared/errors.ts'
import { nearest } from '../schema/suggest.ts'

export const help = `npm run check-config -- FILE [--without-env] [--event FILE | --type TYPE ...]

Checks the configuration in FILE: mistakes end it with code 2, warnings with 0.

  --without-env    values "env:NAME" that the environment lacks are taken as given

Dry run: what the policy decides of one event, and who would hear of which moment.

  --event FILE     the event as IMDS shows it (one entry of Events), or as beacons report it;
                   what is said by the other options goes before
  --type TYPE      Freeze, Reboot, Redeploy, Preempt or Terminate
  --source SOURCE  Platform (taken where nothing is said) or User
  --resource VM    a VM that is hit; several by commas, or repeated
  --duration N     seconds of interruption; without, Azure does not say
  --notice N       seconds from first sight to NotBefore; without, until the file's NotBefore, or
                   what is usual for the type
  --fleet NAME     needed where the configuration has several
  --tag NAME=VALUE, --scale-set NAME, --resource-group NAME
                   what the beacons of all these VMs say of them; --tag may be repeated

Examples:
  npm run check-config -- foghorn.config.json
  npm run check-config -- foghorn.config.json --without-env --type Reboot --resource web_3
`

/** Of every command: `wrong` if there is something to write differently. */
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
  if (file === undefined) throw wrong(`there is no file to check; ${remedy}`)
  if (more.length > 0) throw wrong(`one file at a time, and not also "${more[0]}"; ${remedy}`)
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
      throw wrong(`there is no option ${flag}; ${suggestion}--help names all`)
    }
    if (message.includes('does not take an argument')) throw wrong(`${flag} takes no value`)
    throw wrong(`${flag} needs a value; write ${flag}=VALUE`)
  }
}

export function wrong(message: string): FoghornError {
  return new FoghornError('arguments_wrong', message)
}
