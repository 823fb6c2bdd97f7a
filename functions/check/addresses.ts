// Warns about addresses and keys: a service's address in a channel of another kind, networks that
// are too wide, and shared keys. Judges known hosts only, because services change their addresses.
import type { Channel, Config } from '../config/config.ts'
import { isWiderThanPrivate, isWithin, readAddress } from '../core/rules/address.ts'
import { writtenKind } from '../core/rules/config.ts'

type Kind = Channel['kind']

interface Service {
  name: string
  host: RegExp
  /** Kinds of channels that can be at this host. */
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
    // a logic app can accept any body
    kinds: ['teams', 'webhook'],
    remedy: '"kind": "teams"',
  },
  {
    name: 'PagerDuty',
    host: /(^|\.)pagerduty\.com$/,
    // a transformer of PagerDuty can accept any body
    kinds: ['pagerduty', 'webhook'],
    remedy: '"kind": "pagerduty"',
  },
  {
    name: 'Discord',
    host: /(^|\.)discord(app)?\.com$/,
    kinds: ['http'],
    remedy: '"kind": "http" with "preset": "discord"',
  },
]

/** Office 365 connectors, which Microsoft has retired. */
const connector = /(^|\.)webhook\.office\.com$|^outlook\.office(365)?\.com$/

export function onAddress(at: string, channel: Channel): string[] {
  const { hostname, pathname, searchParams } = new URL(readAddress(channel))
  const key = 'endpoint' in channel ? 'endpoint' : 'url'
  if (connector.test(hostname)) {
    const remedy = 'create a workflow "when a webhook request is received", and write its address'
    return [`${at}.${key}: Microsoft has retired Office 365 connectors; ${remedy}`]
  }
  const isOwn = channel.kind.startsWith('http') && !('preset' in channel)
  if (isOwn) return []
  const service = services.find(({ host }) => host.test(hostname))
  if (channel.kind === 'teams' && service?.name === 'Teams' && !searchParams.has('sig')) {
    const what = 'the workflow rejects requests, because its address has no "sig"'
    return [`${at}.${key}: ${what}; copy the whole address again`]
  }
  if (service === undefined || service.kinds.includes(channel.kind)) return []
  // a workflow trigger of Slack can accept any body
  const isTrigger = service.name === 'Slack' && !pathname.startsWith('/services/')
  if (channel.kind === 'webhook' && isTrigger) return []
  const shown = writtenKind(channel)
  const what = `${service.name} rejects messages of kind "${shown}" at this address`
  return [`${at}.${key}: ${what}; write ${service.remedy}, or another address`]
}

/** Services that refuse a message whose button leads to a host without a dot, by their presets. */
const dotted = ['telegram', 'discord']

/** On an intranet, names such as `https://foghorn` are usual, so only these services get a warning. */
export function adviseOnPublicUrl({ publicUrl, channels }: Config): string[] {
  const { hostname } = new URL(publicUrl)
  const names = Object.entries(channels).flatMap(([name, channel]) =>
    'preset' in channel && dotted.includes(channel.preset ?? '') ? [`"${name}"`] : [],
  )
  if (names.length === 0 || hostname.includes('.') || hostname.includes(':')) return []
  const what = `${names.join(' and ')} will refuse every message, as the host "${hostname}" has no dot`
  return [`publicUrl: ${what}; write the whole name, such as https://${hostname}.contoso.com`]
}

/** The guard keeps a mistyped or moved address from reaching machines that trust the relay. */
export function adviseOnNetworks({ allowNetworks }: Config): string[] {
  return allowNetworks.flatMap((network, i) => {
    if (!isWiderThanPrivate(network)) return onHostAddresses(network, i)
    const isAll = network.endsWith('/0')
    const size = isAll ? 'contains every address' : 'is wider than any private network'
    const what = `"${network}" ${size}, and turns off the guard of private networks${isAll ? '' : ' there'}`
    return [`allowNetworks[${i}]: ${what}; list the networks of your channels, such as 10.1.0.0/16`]
  })
}

/** Azure's own services for each VM. They give identity tokens to any program on it. */
const hostAddresses = ['169.254.169.254', '168.63.129.16']

function onHostAddresses(network: string, i: number): string[] {
  const found = hostAddresses.find((address) => isWithin(address, [network]))
  if (found === undefined) return []
  const what = `"${network}" contains ${found}, where Azure gives out the identity of the relay's machine`
  return [`allowNetworks[${i}]: ${what}; list only the networks of your channels`]
}

/** The holder of a fleet's key can report for its VMs, so nothing else may share the key. */
export function adviseOnKeys({ fleets, channels }: Config): string[] {
  const names = Object.keys(fleets)
  const shared = Object.entries(channels).flatMap(([channel, one]) => {
    const secrets = 'secret' in one ? one.secret : []
    const fleet = names.find((name) => fleets[name]!.key?.some((key) => secrets.includes(key)))
    if (fleet === undefined) return []
    const what = `this is also the key of fleet "${fleet}", so the receiver can report for its VMs`
    return [`channels.${channel}.secret: ${what}; ${newKey}`]
  })
  return [...shared, ...onSharedKeys(fleets, names)]
}

const newKey = 'write a new one: "whsec_" and the output of openssl rand -base64 32'

function onSharedKeys(fleets: Config['fleets'], names: string[]): string[] {
  return names.flatMap((name, i) => {
    const keys = fleets[name]!.key ?? []
    const twin = names
      .slice(0, i)
      .find((other) => fleets[other]!.key?.some((k) => keys.includes(k)))
    if (twin === undefined) return []
    const what = `fleet "${twin}" has the same key, so VMs of one can report for the other`
    return [`fleets.${name}.key: ${what}; ${newKey}`]
  })
}
