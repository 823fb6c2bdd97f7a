// Warns about addresses and keys: a service's address in a channel of another kind, networks that
// are too wide, and shared keys. Judges known hosts only, because services change their addresses.
import type { Channel, Config } from '../config/config.ts'
import { isWiderThanPrivate, isWithin, readAddress } from '../core/rules/address.ts'
import { writtenKind } from '../core/rules/config.ts'
import { sites } from '../notify/registry.ts'

export function onAddress(at: string, channel: Channel): string[] {
  const url = new URL(readAddress(channel))
  const key = 'endpoint' in channel ? 'endpoint' : 'url'
  const site = sites.find(({ host }) => host.test(url.hostname))
  if (site === undefined) return []
  const mistake = site.mistake?.(channel.kind, url)
  if (mistake !== undefined) return [`${at}.${key}: ${mistake}`]
  const isOwn = channel.kind.startsWith('http') && !('preset' in channel)
  if (isOwn || site.takes(channel.kind, url)) return []
  const what = `${site.name} rejects messages of kind "${writtenKind(channel)}" at this address`
  return [`${at}.${key}: ${what}; write ${site.remedy}, or another address`]
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
