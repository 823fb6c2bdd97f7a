// Which network addresses a channel may have. The check of the configuration and the guard of
// connections (notify/undici.ts) use the same lists. The guard also checks what a name resolves to.

/**
 * Special-purpose IPv4 networks (IANA registry), with documentation ranges and anycast relays. They
 * also apply to IPv4 inside IPv6 (`::ffff:10.0.0.1`).
 */
const specialIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Azure serves each VM at this public address: DNS, health probes, guest agent
  '168.63.129.16/32',
]

/** Global unicast: the only IPv6 addresses that IANA assigns. */
const ordinaryIpv6 = '2000::/3'

/**
 * Special-purpose networks within it (IANA registry): Teredo, ORCHID, documentation, 6to4, AS112.
 */
const specialIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']

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

export function addressOf(channel: { endpoint: string } | { url: string }): string {
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

function isOrdinary(address: string): boolean {
  if (isWithin(address, [ipv4])) return !isWithin(address, specialIpv4)
  return isWithin(address, [ordinaryIpv6]) && !isWithin(address, specialIpv6)
}

function isAddress(text: string): boolean {
  return bitsOf(text) !== undefined
}

function isLocalhost(hostname: string): boolean {
  return /^(.+\.)?localhost\.?$/.test(hostname)
}

function unbracketed(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}

/** Whether the address is in one of the networks (CIDR). */
export function isWithin(address: string, networks: string[]): boolean {
  const bits = bitsOf(address)
  if (bits === undefined) return false
  return networks.some((network) => {
    const start = networkBits(network)
    return start !== undefined && bits.startsWith(start)
  })
}

/** The common first bits of a network's (CIDR) addresses. */
function networkBits(network: string): string | undefined {
  const [start = '', prefix = ''] = network.split('/')
  return bitsOf(start)?.slice(0, Number(prefix) + (start.includes(':') ? 0 : mapped.length))
}

/** Prefixes of the widest private networks: 10.0.0.0/8 and fc00::/7. */
const widest = { ipv4: 8, ipv6: 7 }

/** Whether a network (CIDR) is wider than every private one, also if it contains IPv4 in IPv6. */
export function isWiderThanPrivate(network: string): boolean {
  const bits = networkBits(network) ?? ''
  if (bits.startsWith(mapped)) return bits.length < mapped.length + widest.ipv4
  return bits.length < widest.ipv6 || mapped.startsWith(bits)
}

/** The bits before an IPv4 address inside IPv6: `::ffff:10.0.0.1`. */
const mapped = `${'0'.repeat(80)}${'1'.repeat(16)}`

/** All IPv4 addresses, as `bitsOf` writes them. */
const ipv4 = '::ffff:0:0/96'

/** One part of an IPv4 address. No leading 0, which some systems read as octal. */
const octet = '(0|[1-9]\\d{0,2})'
const dotted = new RegExp(`^${octet}(\\.${octet}){3}$`)

/** The address as 128 bits. IPv4 is as inside IPv6, so that both forms are in the same networks. */
function bitsOf(address: string): string | undefined {
  if (dotted.test(address)) {
    const bits = toBits(address.split('.'), 10, 8)
    return bits && mapped + bits
  }
  if (!/^[\da-f:.]*:[\da-f:.]*$/i.test(address) || /::.*::|:::/.test(address)) return undefined
  const [head = '', tail] = asGroups(address).split('::', 2)
  const [before = [], after = []] = [head, tail ?? ''].map((part) =>
    part.split(':').filter(Boolean),
  )
  const missing = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const groups = [...before, ...Array<string>(missing).fill('0'), ...after]
  const isWhole = groups.length === 8 && groups.every((group) => /^[\da-f]{1,4}$/i.test(group))
  return isWhole ? toBits(groups, 16, 16) : undefined
}

/** Writes an IPv4 address at the end as two groups. */
function asGroups(address: string): string {
  return address.replace(/[\d.]+\.[\d.]+$/, (end) => {
    const bits = dotted.test(end) ? toBits(end.split('.'), 10, 8) : undefined
    const groups = bits?.match(/.{16}/g)?.map((group) => Number.parseInt(group, 2).toString(16))
    // if the end is not an address, the whole text is none
    return groups?.join(':') ?? end
  })
}

function toBits(parts: string[], base: number, width: number): string | undefined {
  const numbers = parts.map((part) => Number.parseInt(part, base))
  if (!numbers.every((number) => number < 2 ** width)) return undefined
  return numbers.map((number) => number.toString(2).padStart(width, '0')).join('')
}
