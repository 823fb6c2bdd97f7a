// What can be written behind `npm run simulator --`, and what is said of everything else.
import { parseArgs } from 'node:util'
import { API_VERSIONS, type ApiVersion, isApiVersion } from './documents.ts'
import type { SimulatorOptions } from './simulator.ts'

const MAX_PORT = 65_535

export const help = `npm run simulator -- [options]

Answers as the IMDS of simulated VMs: VM i (from 0) on http://127.0.0.1:(port + 1 + i). POST /events on the
port itself makes an event; README.md shows one.

  --port N           of the control, the VMs' follow it (9100); 0 takes free ones
  --vms NAMES        one tenant's VMs, by commas (web_0,web_1,web_2); repeated: one more tenant
  --first-get-ms N   how long the first answer of each VM takes (0)
  --api-versions V   versions that its IMDS knows, by commas; without, all
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
  throw new WrongArguments(`--api-versions knows ${known}, but not "${text}".`)
}

/** One sentence, if the words are what is wrong. */
export function sentenceOf(error: unknown): string | undefined {
  const { message, code } = error as NodeJS.ErrnoException
  const wrong = error instanceof WrongArguments || code?.startsWith('ERR_PARSE_ARGS')
  // Node adds advice that does not apply here; its first sentence says what is wrong
  return wrong ? message.split(/(?<=\.)\s/)[0] : undefined
}
