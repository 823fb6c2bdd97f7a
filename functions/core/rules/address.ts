// Which network addresses a channel may have. The check of the configuration and the guard of
// connections (notify/undici.ts) use the same rules. The guard also checks what a name resolves to.
import ipaddr from 'ipaddr.js'

const { IPv4, IPv6 } = ipaddr
type IPv4 = ipaddr.IPv4
type IPv6 = ipaddr.IPv6

/** These networks are not public either, though ipaddr.js does not say so of them. */
const otherSpecial = [
  // Azure serves each VM at this public address: DNS, health probes, guest agent
  '168.63.129.16/32',
  // documentation
  '3fff::/20',
]
/** Global unicast: the only IPv6 addresses that IANA assigns. */
const ordinaryIpv6 = '2000::/3'
/** A translator reaches the IPv4 address in the last 32 bits (RFC 6052). */
const translated = '64:ff9b::/96'

/**
 * Ports of other protocols, which `fetch` and browsers refuse (fetch.spec.whatwg.org, "bad port").
 */
const blockedPorts = new Set(
  [
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
    103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
    512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
    995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
    6669, 6679, 6697, 10080,
  ].map(String),
)

export const portRefusal =
  'HTTP clients refuse this port, because it belongs to another protocol; use another port'

export function hasBlockedPort(url: string): boolean {
  return blockedPorts.has(new URL(url).port)
}

export function readAddress(channel: { endpoint: string } | { url: string }): string {
  return 'endpoint' in channel ? channel.endpoint : channel.url
}

const plainHttpRefusal =
  'plain http is allowed only in allowNetworks; use https://, or add its network to allowNetworks'
const privateRefusal =
  'the address is private or reserved; to allow it, add its network to allowNetworks'

/**
 * Why a URL is refused, or undefined. If its host is a name, only the guard can tell. `localhost`
 * is always the machine itself.
 */
export function whyRefused(url: string, allowNetworks: string[]): string | undefined {
  if (hasBlockedPort(url)) return portRefusal
  const { protocol, hostname } = new URL(url)
  const plain = protocol === 'http:'
  const addresses = isLocalhost(hostname) ? ['127.0.0.1', '::1'] : [unbracketed(hostname)]
  if (!addresses.every(isAddress)) {
    return plain && allowNetworks.length === 0 ? plainHttpRefusal : undefined
  }
  const refusals = addresses.map((address) => whyForbidden(address, plain, allowNetworks))
  return refusals.includes(undefined) ? undefined : refusals[0]
}

/** Why an address is forbidden, or undefined. Text that is not an address is forbidden. */
export function whyForbidden(
  address: string,
  plain: boolean,
  allowNetworks: string[],
): string | undefined {
  if (isWithin(address, allowNetworks)) return undefined
  if (plain) return plainHttpRefusal
  return isOrdinary(address) ? undefined : privateRefusal
}

function isOrdinary(text: string): boolean {
  const address = parse(text)
  if (address === undefined || isWithin(text, otherSpecial)) return false
  if (address instanceof IPv4) return address.range() === 'unicast'
  return isWithin(text, [ordinaryIpv6]) && address.range() === 'unicast'
}

function isAddress(text: string): boolean {
  return parse(text) !== undefined
}

function isLocalhost(hostname: string): boolean {
  return /^(.+\.)?localhost\.?$/.test(hostname)
}

function unbracketed(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

/**
 * Whether the address is in one of the networks (CIDR). IPv4 inside IPv6 (`::ffff:10.0.0.1`) is in
 * the networks of the IPv4 address.
 */
export function isWithin(text: string, networks: string[]): boolean {
  const address = parse(text)
  return (
    address !== undefined && networks.some((network) => mapped(address).match(readRange(network)))
  )
}

/** Prefixes of the widest private networks: 10.0.0.0/8 and fc00::/7. */
const widest = { ipv4: 8, ipv6: 7 }
/** Bits before an IPv4 address inside IPv6. */
const mappedBits = 96

/** Whether a network (CIDR) is wider than every private one, also if it contains IPv4 in IPv6. */
export function isWiderThanPrivate(network: string): boolean {
  const [start, bits] = readRange(network)
  if (start.isIPv4MappedAddress() && bits >= mappedBits) return bits < mappedBits + widest.ipv4
  return bits < widest.ipv6 || mapped(IPv4.parse('0.0.0.0')).match(start, bits)
}

/** Undefined for a text that is no address. Some systems read octets with a leading 0 as octal. */
function parse(text: string): IPv4 | IPv6 | undefined {
  if (IPv4.isValidFourPartDecimal(text)) return IPv4.parse(text)
  if (text.includes('%') || !IPv6.isValid(text)) return undefined
  const address = IPv6.parse(text)
  // the library reads the old form `::1.2.3.4` as mapped, but a connection goes elsewhere
  const isMapped = address.isIPv4MappedAddress() && !/^::\d+\./.test(text)
  if (isMapped) return address.toIPv4Address()
  const isTranslated = address.match(IPv6.parseCIDR(translated))
  return isTranslated ? new IPv4(address.toByteArray().slice(-4)) : address
}

function mapped(address: IPv4 | IPv6): IPv6 {
  return address instanceof IPv4 ? address.toIPv4MappedAddress() : address
}

function readRange(network: string): [IPv6, number] {
  const [start, bits] = ipaddr.parseCIDR(network)
  return start instanceof IPv4
    ? [start.toIPv4MappedAddress(), bits + mappedBits]
    : [start as IPv6, bits]
}
