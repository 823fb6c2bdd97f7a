// The approve link: a token that names event and channel under an HMAC; one of a list names the events
// that one message told. Holding it is all that it proves. It carries no state: what was decided
// stands on the event. The form's own token says which link and which state of the event it was for.
import { fromBase64, toBase64 } from '../../shared/signature.ts'
import type { Delivery } from '../core/delivery/delivery.ts'
import type { EventRecord } from '../core/event/event.ts'
import type { EventKey } from '../store/store.ts'

/** No token lives longer; failing hardware is announced up to 7 days ahead. */
const maxTokenMs = 9 * 86_400_000
/** After the event's end the page still shows what happened. */
const tokenAfterEndMs = 86_400_000
/** As many as a channel is told in one message; see `together` of the notifiers. */
const maxListed = 20
/** Slack takes no more than 3 000 in a button, and all of a card in Teams has 20 KB. */
export const maxLinkLength = 2_400
/** What is longer than any token of ours is not looked at. */
const maxTokenLength = 64_000
/** The first element of a list's content; that of a single token is the fleet's name. */
const listVersion = 2

/** The first signs; all are valid. */
type LinkKeys = Uint8Array<ArrayBuffer>[]

/** What makes links. */
interface Linking {
  linkKeys: LinkKeys
  config: { publicUrl: string }
}

export interface LinkToken extends EventKey {
  /** The channel that the link was sent to. */
  channel: string
  issuedAt: number
}

export interface ListToken extends Pick<LinkToken, 'channel' | 'issuedAt'> {
  events: EventKey[]
}

/** One event of a list, by its place as an address or a form says it. */
export function oneOf(
  { events, channel, issuedAt }: ListToken,
  place: string | null,
): LinkToken | undefined {
  const key = /^\d{1,2}$/.test(place ?? '') ? events[Number(place)] : undefined
  return key && { ...key, channel, issuedAt }
}

export async function pageLink(
  relay: Linking,
  delivery: Pick<Delivery, 'fleet' | 'eventId' | 'channel'>,
  now: number,
): Promise<string> {
  const { fleet, eventId, channel } = delivery
  const token = await createToken(relay.linkKeys, { fleet, eventId, channel, issuedAt: now })
  return `${relay.config.publicUrl}/approve/${token}`
}

/** One link for all events of a message; undefined for a single one, and where it would be too long. */
export async function listLink(
  relay: Linking,
  deliveries: Delivery[],
  now: number,
): Promise<string | undefined> {
  const named = deliveries.map(({ fleet, eventId }): EventKey => ({ fleet, eventId }))
  const events = [...new Map(named.map((key) => [JSON.stringify(key), key])).values()]
  if (events.length < 2 || events.length > maxListed) return undefined
  const list = { channel: deliveries[0]!.channel, issuedAt: now, events }
  const link = `${relay.config.publicUrl}/approve/${await createListToken(relay.linkKeys, list)}`
  return link.length > maxLinkLength ? undefined : link
}

export function createToken(keys: LinkKeys, token: LinkToken): Promise<string> {
  const { fleet, eventId, channel, issuedAt } = token
  return seal(keys, [fleet, eventId, channel, issuedAt])
}

export function createListToken(keys: LinkKeys, list: ListToken): Promise<string> {
  const { channel, issuedAt, events } = list
  const fleets = [...new Set(events.map(({ fleet }) => fleet))]
  const places = events.map(({ fleet, eventId }) => [fleets.indexOf(fleet), eventId])
  return seal(keys, [listVersion, channel, issuedAt, fleets, places])
}

async function seal(keys: LinkKeys, content: unknown): Promise<string> {
  const key = keys[0]!
  const payload = `${await keyId(key)}.${toBase64Url(encoder.encode(JSON.stringify(content)))}`
  return `${payload}.${await macOf(key, payload)}`
}

/** The token's content, or undefined where no key of ours signed it. */
export async function readToken(
  keys: LinkKeys,
  text: string,
): Promise<LinkToken | ListToken | undefined> {
  if (text.length > maxTokenLength) return undefined
  const [id = '', content = '', mac = '', ...rest] = text.split('.')
  const bytes = fromBase64Url(content)
  if (rest.length > 0 || bytes === undefined) return undefined
  for (const key of keys) {
    if ((await keyId(key)) !== id || !(await isMacOf(key, `${id}.${content}`, mac))) continue
    return contentOf(JSON.parse(new TextDecoder().decode(bytes)))
  }
  return undefined
}

// what a key of ours signed is what `createToken` or `createListToken` wrote
function contentOf(content: [string, string, string, number] | ListContent): LinkToken | ListToken {
  if (content[0] !== listVersion) {
    const [fleet, eventId, channel, issuedAt] = content as [string, string, string, number]
    return { fleet, eventId, channel, issuedAt }
  }
  const [, channel, issuedAt, fleets, places] = content as ListContent
  const events = places.map(([fleet, eventId]) => ({ fleet: fleets[fleet]!, eventId }))
  return { channel, issuedAt, events }
}

type ListContent = [2, string, number, string[], [number, string][]]

/** What a form says of the page that it was on. */
export interface FormToken {
  /** Which state of the event the page showed, as `stampOf` says it. */
  stamp: string
  /** A press before this was the second half of another one; 0: any counts. */
  countsAt: number
}

/** For the hidden field of a form of this link. It dies with the link, and with the state that it names. */
export async function createFormToken(
  keys: LinkKeys,
  link: string,
  stamp: string,
  countsAt = 0,
): Promise<string> {
  const content = countsAt === 0 ? stamp : `${stamp}~${countsAt}`
  return `${content}.${await macOf(keys[0]!, formContent(link, content))}`
}

/** Undefined where this is not a form of this link. */
export async function readFormToken(
  keys: LinkKeys,
  link: string,
  text: string,
): Promise<FormToken | undefined> {
  const [content = '', mac = '', ...rest] = text.split('.')
  if (rest.length > 0) return undefined
  for (const key of keys) {
    if (!(await isMacOf(key, formContent(link, content), mac))) continue
    const [stamp = '', countsAt = '0'] = content.split('~')
    return { stamp, countsAt: Number(countsAt) }
  }
  return undefined
}

/** No link begins like this, so neither is ever taken for the other. */
function formContent(link: string, content: string): string {
  return `form:${link}:${content}`
}

/** A list has no end of its own: each of its events has. */
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
  /** Says which key signed, and nothing about the key. */
  id: string
  hmac: Awaited<ReturnType<typeof crypto.subtle.importKey>>
}

/** Thousands of made-up tokens a second must cost next to nothing. */
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

async function macOf(key: Uint8Array<ArrayBuffer>, content: string): Promise<string> {
  const { hmac } = await prepare(key)
  const mac = await crypto.subtle.sign('HMAC', hmac, encoder.encode(content))
  return toBase64Url(new Uint8Array(mac))
}

/** Compares in constant time. */
async function isMacOf(key: Uint8Array<ArrayBuffer>, content: string, mac: string) {
  const bytes = fromBase64Url(mac)
  if (bytes === undefined) return false
  const { hmac } = await prepare(key)
  return crypto.subtle.verify('HMAC', hmac, bytes, encoder.encode(content))
}

function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  return /[+/=]/.test(text) ? undefined : fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'))
}
