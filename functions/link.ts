// The approve link: a token that names event and channel under an HMAC. Holding it is all that it
// proves. It carries no state: what was decided stands on the event.
import { fromBase64, toBase64 } from '../shared/signature.ts'
import type { Delivery } from './core/delivery.ts'
import type { EventRecord } from './core/event.ts'
import type { Relay } from './relay.ts'

/** No token lives longer; failing hardware is announced up to 7 days ahead. */
export const maxTokenMs = 9 * 86_400_000
/** After the event's end the page still shows what happened. */
export const tokenAfterEndMs = 86_400_000

export interface LinkToken {
  fleet: string
  eventId: string
  /** The channel that the link was sent to. */
  channel: string
  issuedAt: number
}

export async function pageLink(
  relay: Relay,
  delivery: Pick<Delivery, 'fleet' | 'eventId' | 'channel'>,
  now: number,
): Promise<string> {
  const { fleet, eventId, channel } = delivery
  const token = await createToken(relay.linkKeys, { fleet, eventId, channel, issuedAt: now })
  return `${relay.config.publicUrl}/approve/${token}`
}

export async function createToken(keys: Relay['linkKeys'], token: LinkToken): Promise<string> {
  const key = keys[0]!
  const { fleet, eventId, channel, issuedAt } = token
  const content = encoder.encode(JSON.stringify([fleet, eventId, channel, issuedAt]))
  const payload = `${await keyId(key)}.${toBase64Url(content)}`
  const mac = await crypto.subtle.sign('HMAC', await hmacKey(key), encoder.encode(payload))
  return `${payload}.${toBase64Url(new Uint8Array(mac))}`
}

/** The token's content, or undefined where no key of ours signed it. */
export async function readToken(
  keys: Relay['linkKeys'],
  text: string,
): Promise<LinkToken | undefined> {
  const [id = '', content = '', mac = '', ...rest] = text.split('.')
  const macBytes = fromBase64Url(mac)
  const bytes = fromBase64Url(content)
  if (rest.length > 0 || macBytes === undefined || bytes === undefined) return undefined
  for (const key of keys) {
    if ((await keyId(key)) !== id) continue
    const signed = encoder.encode(`${id}.${content}`)
    if (await crypto.subtle.verify('HMAC', await hmacKey(key), macBytes, signed)) {
      const [fleet, eventId, channel, issuedAt] = JSON.parse(new TextDecoder().decode(bytes))
      return { fleet, eventId, channel, issuedAt }
    }
  }
  return undefined
}

export function isExpired(token: LinkToken, record: EventRecord, now: number): boolean {
  const { ended } = record
  return (
    now > token.issuedAt + maxTokenMs || (ended !== undefined && now > ended.at + tokenAfterEndMs)
  )
}

const encoder = new TextEncoder()

/** Says which key signed, and nothing about the key. */
async function keyId(key: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', key))
  return toBase64Url(digest.slice(0, 6))
}

function hmacKey(key: Uint8Array<ArrayBuffer>) {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return crypto.subtle.importKey('raw', key, algorithm, false, ['sign', 'verify'])
}

function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  return /[+/=]/.test(text) ? undefined : fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'))
}
