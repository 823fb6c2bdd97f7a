// `npm run simulator`: runs a simulated fleet until it is stopped.
import { command, type Given, text, texts, wrong } from '../../functions/cli/command.ts'
import { API_VERSIONS, type ApiVersion, GENERAL_VERSIONS, isApiVersion } from './documents.ts'
import { type SimulatorOptions, startSimulator } from './simulator.ts'

const MAX_PORT = 65_535

const options = {
  port: { ...text, default: '9100' },
  vms: texts,
  'first-get-ms': { ...text, default: '0' },
  'api-versions': { ...text, default: GENERAL_VERSIONS.join(',') },
} as const

export const simulator = command({
  usage: '[options]',
  about: `
Simulates the IMDS of several VMs. VM i (from 0) is at http://127.0.0.1:(port + 1 + i). POST /events
to the control port creates an event; docs/install-relay-node.md shows how.

  --port N           the control port (default: 9100), followed by one port per VM; 0: free ports
  --vms NAMES        the VMs of one tenant, by commas (default: web_0,web_1,web_2); repeat it for
                     each tenant
  --first-get-ms N   how long the first answer of each VM takes (default: 0)
  --api-versions V   api-versions that IMDS supports, by commas (default: all but the preview
                     2024-07-09)`,
  options,
  async run({ options: given, io: { print } }) {
    const simulator = await startSimulator({ ...readOptions(given), log: print })
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void simulator.stop())
    print(`control  ${simulator.controlUrl}`)
    for (const vm of simulator.vms) print(`${vm.name}  ${vm.url}  ${vm.tenant}`)
    print('Stop with Ctrl+C.')
  },
})

export function readOptions(values: Given<typeof options>['options']): SimulatorOptions {
  const vms = (values.vms ?? ['web_0,web_1,web_2']).map(list)
  const names = vms.flat()
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (vms.some((tenant) => tenant.length === 0)) {
    throw wrong('--vms needs names, such as --vms web_0,web_1.')
  }
  const apiVersions = list(values['api-versions']).map(apiVersion)
  if (apiVersions.length === 0) throw wrong('--api-versions needs a version.')
  if (twice) throw wrong(`--vms names ${twice} twice; each VM needs its own name.`)
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
  throw wrong(`${option} must be a whole number from 0 to ${max}, not "${text}".`)
}

function apiVersion(text: string): ApiVersion {
  if (isApiVersion(text)) return text
  const known = API_VERSIONS.join(', ')
  throw wrong(`--api-versions allows ${known}, not "${text}".`)
}
