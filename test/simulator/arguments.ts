// The arguments of `npm run simulator --`, and the errors about wrong ones.
import { parseArgs } from 'node:util'
import { API_VERSIONS, type ApiVersion, isApiVersion } from './documents.ts'
import type { SimulatorOptions } from './simulator.ts'

const MAX_PORT = 65_535

export const help = `npm run simulator -- [options]

Simulates the IMDS of several VMs. VM i (from 0) is at http://127.0.0.1:(port + 1 + i). POST /events
to the control port creates an event; docs/install-relay-node.md shows how.

  --port N           the control port (default: 9100), followed by one port per VM; 0: free ports
  --vms NAMES        the VMs of one tenant, by commas (default: web_0,web_1,web_2); repeat it for
                     each tenant
  --first-get-ms N   how long the first answer of each VM takes (default: 0)
  --api-versions V   api-versions that IMDS supports, by commas (default: all)
`

class WrongArguments extends Error {}

export function readArguments(args: string[]): SimulatorOptions | 'help' {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      port: { type: 'string', default: '9100' },
      vms: { type: 'string', multiple: true, default: ['web_0,web_1,web_2'] },
      'first-get-ms': { type: 'string', default: '0' },
      'api-versions': { type: 'string', default: API_VERSIONS.join(',') },
    },
  })
  if (values.help) return 'help'
  const vms = values.vms.map(list)
  const names = vms.flat()
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (vms.some((tenant) => tenant.length === 0)) {
    throw new WrongArguments('--vms needs names, such as --vms web_0,web_1.')
  }
  const apiVersions = list(values['api-versions']).map(apiVersion)
  if (apiVersions.length === 0) throw new WrongArguments('--api-versions needs a version.')
  if (twice) throw new WrongArguments(`--vms names ${twice} twice; each VM needs its own name.`)
  return {
    vms,
    port: wholeNumber('--port', values.port, MAX_PORT - names.length),
    firstGetMs: wholeNumber('--first-get-ms', values['first-get-ms'], 600_000),
    apiVersions,
  }
}

function list(text: string): string[] {
  return text.split(',').flatMap((part) => part.trim() || [])
}

function wholeNumber(option: string, text: string, max: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) <= max) return Number(text)
  throw new WrongArguments(`${option} must be a whole number from 0 to ${max}, not "${text}".`)
}

function apiVersion(text: string): ApiVersion {
  if (isApiVersion(text)) return text
  const known = API_VERSIONS.join(', ')
  throw new WrongArguments(`--api-versions allows ${known}, not "${text}".`)
}

/** One sentence if the arguments are wrong, else undefined. */
export function sentenceOf(error: unknown): string | undefined {
  const { message, code } = error as NodeJS.ErrnoException
  const wrong = error instanceof WrongArguments || code?.startsWith('ERR_PARSE_ARGS')
  // Node adds advice that does not apply here; its first sentence says what is wrong
  return wrong ? message.split(/(?<=\.)\s/)[0] : undefined
}
