// The approve link: a token that names an event and a channel under an HMAC. The token of a list
// names all events of one message. A token proves only that a person has the link, and contains no
// state. The form on the page has a token of its own: it names the link and the state that the page
// showed.
import { fromBase64, type Hmac, toBase64, webHmac } from '../../shared/signature.ts'
import type { Delivery } from '../core/delivery/delivery.ts'
import type { EventRecord } from '../core/event/event.ts'
import { dayMs } from '../core/units.ts'
import type { EventKey } from '../store/store.ts'

/** Azure announces failing hardware up to 7 days ahead. */
const maxTokenMs = 9 * dayMs
/** The page shows the result for this long after the event's end. */
const tokenAfterEndMs = dayMs
/** Events of one message: at least the largest `together` of the notifiers. */
const maxListed = 20
/** Slack accepts 3,000 characters in a button, and a whole card in Teams 20 KB. */
export const maxLinkLength = 2_400
/** Every valid token is shorter. Longer texts are rejected at once. */
const maxTokenLength = 64_000
/** The first element of a list's content. In the token of one event it is the fleet's name. */
const listVersion = 2
/** Lists are compressed, as some services take no link of more than 512 characters: RFC 1950. */
const compressed = 'deflate'
/** The first byte of compressed content (RFC 1950, 2.2). Other content is JSON, and begins with `[`. */
const firstOfCompressed = 0x78

/** The first key signs, all keys are valid. */
type LinkKeys = Uint8Array<ArrayBuffer>[]

interface Linking {
  config: { publicUrl: string }
  /** The HMAC of the host: WebCrypto leaves the thread for each message. */
  credentials: { linkKeys: LinkKeys; hmac: Hmac }
}

export interface LinkToken extends EventKey {
  /** The channel that the link was sent to. */
  channel: string
  issuedAt: number
}

export interface ListToken extends Pick<LinkToken, 'channel' | 'issuedAt'> {
  events: EventKey[]
}

/** One event of a list, by its position in an address or a form. */
export function readOne(
  { events, channel, issuedAt }: ListToken,
  place: string | null,
): LinkToken | undefined {
  const key = /^\d{1,2}$/.test(place ?? '') ? events[Number(place)] : undefined
  return key && { ...key, channel, issuedAt }
}

export async function pageLink(
  { config, credentials: { linkKeys, hmac } }: Linking,
  delivery: Pick<Delivery, 'fleet' | 'eventId' | 'channel'>,
  now: number,
): Promise<string> {
  const { fleet, eventId, channel } = delivery
  const named = { fleet, eventId, channel, issuedAt: now }
  const token = await createToken(linkKeys, named, hmac)
  return `${config.publicUrl}/approve/${token}`
}

/** The addresses of an event that decide nothing. */
interface EventLinks {
  /** The event's page in the console. Absent if the console is off. */
  page?: string
  /** The event in the API. */
  api: string
}

export function eventLinks(
  {
    config: { publicUrl },
    credentials: { adminKey },
  }: Pick<Linking, 'config'> & { credentials: { adminKey: string | undefined } },
  { fleet, eventId }: EventKey,
): EventLinks {
  const path = `events/${encodeURIComponent(fleet)}/${encodeURIComponent(eventId)}`
  const page = adminKey === undefined ? {} : { page: `${publicUrl}/console/${path}` }
  return { ...page, api: `${publicUrl}/v1/${path}` }
}

/** One link for all events of a message. Undefined for one event, or if it would be too long. */
export async function listLink(
  { config, credentials: { linkKeys, hmac } }: Linking,
  deliveries: Delivery[],
  now: number,
): Promise<string | undefined> {
  const named = deliveries.map(({ fleet, eventId }): EventKey => ({ fleet, eventId }))
  const events = [...new Map(named.map((key) => [JSON.stringify(key), key])).values()]
  if (events.length < 2 || events.length > maxListed) return undefined
  const list = { channel: deliveries[0]!.channel, issuedAt: now, events }
  const link = `${config.publicUrl}/approve/${await createListToken(linkKeys, list, hmac)}`
  return link.length > maxLinkLength ? undefined : link
}

export function createToken(keys: LinkKeys, token: LinkToken, hmac?: Hmac): Promise<string> {
  const { fleet, eventId, channel, issuedAt } = token
  return seal(keys, toBytes([fleet, eventId, channel, issuedAt]), hmac)
}

export async function createListToken(
  keys: LinkKeys,
  list: ListToken,
  hmac?: Hmac,
): Promise<string> {
  const { channel, issuedAt, events } = list
  const fleets = [...new Set(events.map(({ fleet }) => fleet))]
  const places = events.map(({ fleet, eventId }) => [fleets.indexOf(fleet), eventId])
  const content = toBytes([listVersion, channel, issuedAt, fleets, places])
  return seal(keys, await through(new CompressionStream(compressed), content), hmac)
}

function toBytes(content: unknown): Uint8Array<ArrayBuffer> {
  return encoder.encode(JSON.stringify(content))
}

async function through(
  stream: CompressionStream | DecompressionStream,
  content: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Response(new Blob([content]).stream().pipeThrough(stream))
  return new Uint8Array(await whole.arrayBuffer())
}

async function seal(keys: LinkKeys, content: Uint8Array, hmac?: Hmac): Promise<string> {
  const key = keys[0]!
  const payload = `${await keyId(key)}.${toBase64Url(content)}`
  return `${payload}.${await computeMac(key, payload, hmac)}`
}

/** The token's content, or undefined if none of the keys signed it. */
export async function readToken(
  keys: LinkKeys,
  text: string,
): Promise<LinkToken | ListToken | undefined> {
  if (text.length > maxTokenLength) return undefined
  const [id = '', content = '', mac = '', ...rest] = text.split('.')
  const bytes = fromBase64Url(content)
  if (rest.length > 0 || bytes === undefined) return undefined
  for (const key of keys) {
    if ((await keyId(key)) !== id || !(await isMacRight(key, `${id}.${content}`, mac))) continue
    const isPlain = bytes[0] !== firstOfCompressed
    const plain = isPlain ? bytes : await through(new DecompressionStream(compressed), bytes)
    return parseContent(JSON.parse(new TextDecoder().decode(plain)))
  }
  return undefined
}

/** The content is not checked: only `createToken` and `createListToken` write signed content. */
function parseContent(
  content: [string, string, string, number] | ListContent,
): LinkToken | ListToken {
  if (content[0] !== listVersion) {
    const [fleet, eventId, channel, issuedAt] = content as [string, string, string, number]
    return { fleet, eventId, channel, issuedAt }
  }
  const [, channel, issuedAt, fleets, places] = content as ListContent
  const events = places.map(([fleet, eventId]) => ({ fleet: fleets[fleet]!, eventId }))
  return { channel, issuedAt, events }
}

type ListContent = [2, string, number, string[], [number, string][]]

export interface FormToken {
  /** The state of the event that the page showed, from `makeStamp`. */
  stamp: string
  /** An earlier press was the second click of a double click. 0: any press counts. */
  countsAt: number
}

/** Makes a token for a hidden field. It is invalid once the link expires or the event's state changes. */
export async function createFormToken(
  keys: LinkKeys,
  link: string,
  stamp: string,
  countsAt = 0,
): Promise<string> {
  const content = countsAt === 0 ? stamp : `${stamp}~${countsAt}`
  return `${content}.${await computeMac(keys[0]!, formContent(link, content))}`
}

/** Undefined if this is not a form of this link. */
export async function readFormToken(
  keys: LinkKeys,
  link: string,
  text: string,
): Promise<FormToken | undefined> {
  const [content = '', mac = '', ...rest] = text.split('.')
  if (rest.length > 0) return undefined
  for (const key of keys) {
    if (!(await isMacRight(key, formContent(link, content), mac))) continue
    const [stamp = '', countsAt = '0'] = content.split('~')
    return { stamp, countsAt: Number(countsAt) }
  }
  return undefined
}

/** No link begins like this, so a form's token is never a valid link, or the other way round. */
function formContent(link: string, content: string): string {
  return `form:${link}:${content}`
}

/** `record` is undefined for a list, which only expires by age. */
export function isExpired(
  { issuedAt }: { issuedAt: number },
  record: EventRecord | undefined,
  now: number,
): boolean {
  const { ended } = record ?? {}
  return now > issuedAt + maxTokenMs || (ended !== undefined && now > ended.at + tokenAfterEndMs)
}

const encoder = new TextEncoder()

interface Prepared {
  /** Identifies the key without revealing it. */
  id: string
  hmac: Awaited<ReturnType<typeof crypto.subtle.importKey>>
}

/** Cached, so that thousands of forged tokens a second cost little. */
const prepared = new WeakMap<Uint8Array<ArrayBuffer>, Promise<Prepared>>()

function prepare(key: Uint8Array<ArrayBuffer>): Promise<Prepared> {
  const known = prepared.get(key) ?? prepareAnew(key)
  prepared.set(key, known)
  return known
}

async function prepareAnew(key: Uint8Array<ArrayBuffer>): Promise<Prepared> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', key))
  const hmac = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign', 'verify'])
  return { id: toBase64Url(digest.slice(0, 6)), hmac }
}

async function keyId(key: Uint8Array<ArrayBuffer>): Promise<string> {
  return (await prepare(key)).id
}

async function computeMac(
  key: Uint8Array<ArrayBuffer>,
  content: string,
  hmac: Hmac = webHmac,
): Promise<string> {
  return toBase64Url(await hmac(key, content))
}

/** Compares in constant time. */
async function isMacRight(key: Uint8Array<ArrayBuffer>, content: string, mac: string) {
  const bytes = fromBase64Url(mac)
  if (bytes === undefined) return false
  const { hmac } = await prepare(key)
  return crypto.subtle.verify('HMAC', hmac, bytes, encoder.encode(content))
}

export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  return /[+/=]/.test(text) ? undefined : fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'))
}
