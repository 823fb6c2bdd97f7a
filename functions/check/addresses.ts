// Where channels are: hosts of one service in a channel of another, and networks that leave nothing to
// guard. What an address of Teams must look like is judged only at hosts that are known: they change.
import type { Channel, Config } from '../config/config.ts'
import { addressOf, isWiderThanPrivate, isWithin } from '../core/rules/address.ts'

type Kind = Channel['kind']

interface Service {
  name: string
  host: RegExp
  /** Kinds that may well be there. */
  kinds: Kind[]
  remedy: string
}

const services: Service[] = [
  {
    name: 'Slack',
    host: /(^|\.)slack(-gov)?\.com$/,
    kinds: ['slack', 'slack_bot'],
    remedy: '"kind": "slack"',
  },
  {
    name: 'Teams',
    host: /(^|\.)(webhook\.office\.com|logic\.azure\.com|environment\.api\.powerplatform\.com)$/,
    // a logic app takes whatever it is made for
    kinds: ['teams', 'webhook'],
    remedy: '"kind": "teams"',
  },
  {
    name: 'PagerDuty',
    host: /(^|\.)pagerduty\.com$/,
    // its own transformers take whatever they are made for
    kinds: ['pagerduty', 'webhook'],
    remedy: '"kind": "pagerduty"',
  },
]

/** Microsoft has retired them; what still answers, says so in the channel. */
const connector = /(^|\.)webhook\.office\.com$|^outlook\.office(365)?\.com$/

export function onPlace(at: string, channel: Channel): string[] {
  const { hostname, pathname, searchParams } = new URL(addressOf(channel))
  const key = 'endpoint' in channel ? 'endpoint' : 'url'
  if (channel.kind === 'teams' && connector.test(hostname)) {
    const remedy = 'make a workflow "when a webhook request is received", and write its address'
    return [`${at}.${key}: connectors of Office 365 are retired; ${remedy}`]
  }
  const service = services.find(({ host }) => host.test(hostname))
  if (channel.kind === 'teams' && service?.name === 'Teams' && !searchParams.has('sig')) {
    const what = 'without its "sig", a workflow at this host lets nobody in'
    return [`${at}.${key}: ${what}; copy the address again, all of it`]
  }
  if (service === undefined || service.kinds.includes(channel.kind)) return []
  // a trigger in Slack takes whatever its workflow is made for
  if (channel.kind === 'webhook' && !pathname.startsWith('/services/')) return []
  const shown = channel.kind === 'slack_bot' ? 'slack' : channel.kind
  const what = `an address of ${service.name}, which takes no messages of kind "${shown}"`
  return [`${at}.${key}: ${what}; write ${service.remedy}, or the address that belongs here`]
}

/** The guard keeps a mistyped or moved address from reaching machines that trust the relay. */
export function adviseOnNetworks({ allowNetworks }: Config): string[] {
  return allowNetworks.flatMap((network, i) => {
    if (!isWiderThanPrivate(network)) return onHostAddresses(network, i)
    const isAll = network.endsWith('/0')
    const size = isAll ? 'every address' : 'wider than any private network'
    const what = `"${network}" is ${size}, and switches off the guard of private networks${isAll ? '' : ' there'}`
    return [`allowNetworks[${i}]: ${what}; name those that channels are in, such as 10.1.0.0/16`]
  })
}

/** Azure serves each VM here, and gives identity tokens to any program that asks. */
const hostAddresses = ['169.254.169.254', '168.63.129.16']

function onHostAddresses(network: string, i: number): string[] {
  const found = hostAddresses.find((address) => isWithin(address, [network]))
  if (found === undefined) return []
  const what = `"${network}" contains ${found}, where Azure serves the relay's own machine`
  return [`allowNetworks[${i}]: ${what}; name only the networks that channels are in`]
}

/** One key, and so one trust: a VM of one fleet could report for the other. */
export function adviseOnKeys({ fleets, channels }: Config): string[] {
  const names = Object.keys(fleets)
  const shared = Object.entries(channels).flatMap(([channel, one]) => {
    const secrets = 'secret' in one ? one.secret : []
    const fleet = names.find((name) => fleets[name]!.key?.some((key) => secrets.includes(key)))
    if (fleet === undefined) return []
    const what = `the key of fleet "${fleet}", so whoever checks these messages can report for its VMs`
    return [`channels.${channel}.secret: ${what}; write another, ${makeKey}`]
  })
  return [...shared, ...onSharedKeys(fleets, names)]
}

const makeKey = '"whsec_" and openssl rand -base64 32'

function onSharedKeys(fleets: Config['fleets'], names: string[]): string[] {
  return names.flatMap((name, i) => {
    const keys = fleets[name]!.key ?? []
    const twin = names
      .slice(0, i)
      .find((other) => fleets[other]!.key?.some((k) => keys.includes(k)))
    if (twin === undefined) return []
    const what = `the same key as fleet "${twin}", so VMs of one can report for the other`
    return [`fleets.${name}.key: ${what}; write another, ${makeKey}`]
  })
}
