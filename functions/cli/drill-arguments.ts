// The arguments of `npm run drill --`.
import { eventTypes } from '../../shared/document.ts'
import { parseWords, tagsIn, text, texts, typeOf, wrong } from './arguments.ts'

export const drillHelp = `npm run drill -- --fleet NAME --type TYPE [options]

Sends a test event, marked as a drill, through the policy, the routes and the real channels until
it is completed. No VM is affected: an approval is stored and announced, but sent to no beacon.
PagerDuty calls the on-call engineer as for a real event. The drill's end resolves the incident.

  --fleet NAME     a fleet of the relay's configuration
  --type TYPE      Freeze, Reboot, Redeploy, Preempt or Terminate
  --resource VM    a VM to show as affected (default: drill-vm); several by commas, or repeated
  --notice N       seconds to NotBefore (default: 120, at most 3600); 0: it starts without notice
  --impact N       seconds from start to end (default: 10, at most 600)
  --change-after N seconds until NotBefore moves by a minute (default: never)
  --source SOURCE  Platform (default) or User
  --duration N     expected seconds of interruption (default: unknown)
  --description TEXT
  --tag NAME=VALUE, --scale-set NAME, --resource-group NAME
                   what the beacons of these VMs would report; --tag may be repeated
  --config FILE    take the relay's address from publicUrl in FILE

Environment: FOGHORN_ADMIN_KEY is the admin key of the relay, FOGHORN_URL its address. Without
FOGHORN_URL and --config, the address is publicUrl in FOGHORN_CONFIG or foghorn.config.json.

People can decide by the link in the messages. Exit codes: 0 if the drill was completed and every
message was delivered, 2 if an option or a setting is wrong, otherwise 1.

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
  /** The body of the request. The relay fills in what is missing. */
  request: object & { fleet: string; type: string }
  config: string | undefined
}

/** Throws FoghornError `arguments_wrong`. */
export function readDrillArguments(words: string[]): DrillArguments | 'help' {
  const { values, positionals } = parseWords(words, options)
  if (values.help) return 'help'
  if (positionals.length > 0) {
    throw wrong(`"${positionals[0]}" belongs to no option; --help lists all options`)
  }
  const { fleet, resource, source, description } = values
  if (!fleet)
    throw wrong('--fleet is missing; write --fleet and the name of a fleet in the configuration')
  if (!values.type)
    throw wrong(`--type is missing; write --type and one of ${eventTypes.join(', ')}`)
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
    tags: values.tag && tagsIn(values.tag),
    scaleSet: values['scale-set'],
    resourceGroup: values['resource-group'],
  }
  return { request: all, config: values.config }
}

/** The relay checks the limits. */
function secondsOf(flag: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  const seconds = Number(given)
  if (given.trim() !== '' && Number.isInteger(seconds)) return seconds
  throw wrong(`${flag} is "${given}"; write a whole number of seconds`)
}

/** The option for each key of the request. */
const optionOf: Record<string, string> = {
  resources: '--resource',
  noticeSeconds: '--notice',
  impactSeconds: '--impact',
  changeAfterSeconds: '--change-after',
  durationSeconds: '--duration',
  tags: '--tag',
  scaleSet: '--scale-set',
  resourceGroup: '--resource-group',
  fleet: '--fleet',
  type: '--type',
  source: '--source',
  description: '--description',
}

/** The relay's error, one mistake per line, with options in place of the request's keys. */
export function inOptions(detail: string): string {
  const lines = detail.split('\n').map((line) => line.replace(/^\w+(?=[.[:])/, nameOf))
  // inside a sentence, a key such as "source" may be a common word
  return lines.map((line) => line.replace(/\b[a-z]+(?:Seconds|Set|Group)\b/gi, nameOf)).join('\n')
}

function nameOf(key: string): string {
  return optionOf[key] ?? key
}
