// The arguments of `npm run listen --`.
import { eventTypes } from '../../shared/document.ts'
import { moments } from '../core/event/moment.ts'
import { isLoopback, isWebUrl } from '../schema/checks.ts'
import { didYouMean } from '../schema/suggest.ts'
import { parseWords, text, texts, typeOf, wrong } from './arguments.ts'

export const listenHelp = `npm run listen -- [options]

Prints every step of every event as it happens. With --forward, it also sends each step to a program
on your own machine, as a signed webhook.

  --fleet NAME      only this fleet; may be repeated, as may --type and --moment
  --type TYPE       only ${eventTypes.join(', ')}
  --moment MOMENT   only these steps: ${moments.slice(0, 6).join(', ')},
                    ${moments.slice(6).join(', ')}
  --resource GLOB   only events of VMs with such names: web_*
  --all             begin with all steps that the relay still has, not with the next one
  --forward URL     send each step here: http:// on this machine, or https://
  --json            print the CloudEvents, one a line
  --config FILE     take the relay's address from publicUrl in FILE

Environment: FOGHORN_TOKEN is a token with the scope "read" (or FOGHORN_ADMIN_KEY the admin key).
FOGHORN_URL is the relay's address. Without it and --config, the address is publicUrl in
FOGHORN_CONFIG or foghorn.config.json. FOGHORN_WEBHOOK_SECRET ("whsec_" and base64) signs what is
forwarded. Without it, the command makes a secret and prints it.

Example:
  npm run listen -- --fleet prod --forward http://localhost:3000/webhooks
`

const options = {
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean' },
  fleet: texts,
  type: texts,
  moment: texts,
  resource: text,
  all: { type: 'boolean' },
  forward: text,
  config: text,
} as const

export interface ListenArguments {
  /** For the relay, which checks the rest. */
  query: URLSearchParams
  all: boolean
  forward: string | undefined
  json: boolean
  config: string | undefined
}

/** Throws FoghornError `arguments_wrong`. */
export function readListenArguments(words: string[]): ListenArguments | 'help' {
  const { values, positionals } = parseWords(words, options)
  if (values.help) return 'help'
  if (positionals.length > 0) {
    throw wrong(`"${positionals[0]}" belongs to no option; --help lists all options`)
  }
  const {
    fleet = [],
    type = [],
    moment = [],
    resource,
    all = false,
    forward,
    json = false,
  } = values
  const query = new URLSearchParams()
  for (const name of fleet) query.append('fleet', name)
  for (const name of type) query.append('type', typeOf(name))
  for (const name of moment) query.append('moment', momentOf(name))
  if (resource !== undefined) query.set('resource', resource)
  return { query, all, forward: forwardOf(forward), json, config: values.config }
}

function momentOf(wanted: string): string {
  if (moments.some((moment) => moment === wanted)) return wanted
  const known = moments.join(', ')
  throw wrong(`--moment: there is no "${wanted}"; write ${known}${didYouMean(wanted, moments)}`)
}

/** Steps name VMs, so they leave this machine encrypted only. */
function forwardOf(url: string | undefined): string | undefined {
  if (url === undefined) return undefined
  if (isWebUrl(url) && (url.startsWith('https:') || isLoopback(url))) return url
  throw wrong(`--forward is "${url}"; write http://localhost:PORT/PATH, or an https:// address`)
}
