// What somebody typed after `npm run drill --`, and where the relay is.
import { eventTypes, knownType } from '../../shared/document.ts'
import { isLoopback, isWebUrl } from '../schema/checks.ts'
import { didYouMean } from '../schema/suggest.ts'
import { parseWords, text, texts, wrong } from './arguments.ts'

export const drillHelp = `npm run drill -- --fleet NAME --type TYPE [options]

Sends a marked event of the relay's own through policy, routes and real channels, and back to
completed. No VM is touched: an approval is put on record and told, and reaches no beacon. PagerDuty
calls whoever is on call, as it would for the real event, and is resolved at the end.

  --fleet NAME     as in the relay's configuration
  --type TYPE      Freeze, Reboot, Redeploy, Preempt or Terminate
  --resource VM    a VM that it pretends to hit (drill-vm); several by commas, or repeated
  --notice N       seconds to NotBefore (120, at most 3600); 0: it starts without notice
  --impact N       seconds from its start to its end (10, at most 600)
  --change-after N seconds until NotBefore moves by a minute; without, it does not
  --source SOURCE  Platform (taken where nothing is said) or User
  --duration N     seconds of interruption that it tells of; without, they are not known
  --description TEXT
  --tag NAME=VALUE, --scale-set NAME, --resource-group NAME
                   what the beacons of these VMs would say of them; --tag may be repeated
  --config FILE    the relay is at the publicUrl of this configuration

From the environment: FOGHORN_ADMIN_KEY, as the relay has it, and FOGHORN_URL, where the relay is;
without it and --config, the configuration is FOGHORN_CONFIG or foghorn.config.json.

People decide by the link in the messages: approve, not now, or nobody. Ends with code 0 when the
drill was completed and every message was delivered, 2 where something is to be written
differently, else 1.

Example:
  npm run drill -- --fleet prod --type Reboot --resource web_3 --tag role=web
`

const options = {
  help: { type: 'boolean', short: 'h' },
  fleet: text,
  type: text,
  resource: texts,
  notice: text,
  impact: text,
  'change-after': text,
  source: text,
  duration: text,
  description: text,
  tag: texts,
  'scale-set': text,
  'resource-group': text,
  config: text,
} as const

export interface DrillArguments {
  /** The body of the request; what nobody said, the relay knows. */
  wish: object & { fleet: string; type: string }
  config: string | undefined
}

/** Throws FoghornError `arguments_wrong`. */
export function readDrillArguments(words: string[]): DrillArguments | 'help' {
  const { values, positionals } = parseWords(words, options)
  if (values.help) return 'help'
  if (positionals.length > 0) {
    throw wrong(`"${positionals[0]}" belongs to no option; --help names all`)
  }
  const { fleet, resource, source, description } = values
  if (!fleet) throw wrong('there is no fleet; write --fleet and its name in the configuration')
  const resources = resource?.flatMap((one) => one.split(',').map((part) => part.trim()))
  const all = {
    fleet,
    type: typeOf(values.type),
    resources,
    noticeSeconds: secondsOf('--notice', values.notice),
    impactSeconds: secondsOf('--impact', values.impact),
    changeAfterSeconds: secondsOf('--change-after', values['change-after']),
    source,
    durationSeconds: secondsOf('--duration', values.duration),
    description,
    tags: tagsOf(values.tag),
    scaleSet: values['scale-set'],
    resourceGroup: values['resource-group'],
  }
  return { wish: all, config: values.config }
}

function typeOf(wanted: string | undefined): string {
  const types = eventTypes.join(', ')
  if (!wanted) throw wrong(`the drill has no type; write --type and one of ${types}`)
  const known = knownType(wanted)
  if (known !== undefined) return known
  throw wrong(`--type: there is no "${wanted}"; write ${types}${didYouMean(wanted, eventTypes)}`)
}

/** Limits are the relay's to say. */
function secondsOf(flag: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  const seconds = Number(given)
  if (given.trim() !== '' && Number.isInteger(seconds)) return seconds
  throw wrong(`${flag} is "${given}"; write a whole number of seconds`)
}

function tagsOf(given: string[] | undefined): Record<string, string> | undefined {
  if (given === undefined) return undefined
  const pairs = given.map((one) => {
    const [name = '', ...value] = one.split('=')
    return [name, value.join('=')]
  })
  return Object.fromEntries(pairs)
}

/** What the relay calls otherwise than the command does. */
const optionOf: Record<string, string> = {
  resources: '--resource',
  noticeSeconds: '--notice',
  impactSeconds: '--impact',
  changeAfterSeconds: '--change-after',
  durationSeconds: '--duration',
  tags: '--tag',
  scaleSet: '--scale-set',
  resourceGroup: '--resource-group',
  ...{ fleet: '--fleet', type: '--type', source: '--source', description: '--description' },
}

/** The relay's mistakes of a drill, one a line, in the words of whoever typed the command. */
export function inOptions(detail: string): string {
  const lines = detail.split('\n').map((line) => line.replace(/^\w+(?=[.[:])/, nameOf))
  // within a sentence only what is no common word
  return lines.map((line) => line.replace(/\b[a-z]+(?:Seconds|Set|Group)\b/gi, nameOf)).join('\n')
}

function nameOf(key: string): string {
  return optionOf[key] ?? key
}

/** Where the relay is, without a slash at its end. The key goes there, so it is https, or the own machine. */
export function relayUrlOf(given: string, where: string): string {
  if (!isWebUrl(given)) throw wrong(`${where} is "${given}"; write https:// and where the relay is`)
  if (given.startsWith('http:') && !isLoopback(given)) {
    throw wrong(
      `${where} is "${given}", and the admin key would go there unencrypted; write https://`,
    )
  }
  return given.replace(/\/+$/, '')
}

/** The value is never shown. */
export function adminKeyOf(given: string | undefined): string {
  if (!given) {
    throw wrong('FOGHORN_ADMIN_KEY is not set; it is the key that the relay was started with')
  }
  if (/^[\x21-\x7e]+$/.test(given)) return given
  throw wrong('FOGHORN_ADMIN_KEY has spaces or letters that no header takes; write the key alone')
}
