// Standard Webhooks 1.0 signatures, for reports to the relay and for webhooks from it. Uses
// WebCrypto, which every host has; a host can pass a faster HMAC. Callers pass the exact body that
// is sent.
import { FoghornError } from './errors.ts'

export const signatureToleranceMs = 5 * 60_000

const secretPrefix = 'whsec_'
const minSecretBytes = 24
const maxSecretBytes = 64

interface SignatureHeaders {
  /** Message id, the same on every attempt, without a dot. */
  'webhook-id': string
  /** Unix seconds of this attempt. */
  'webhook-timestamp': string
  /** Space-separated `v1,<base64>`, one for each secret in use. */
  'webhook-signature': string
}

export type SignatureCheck =
  | 'valid'
  | 'missing_header'
  | 'malformed_timestamp'
  | 'outside_tolerance'
  | 'no_match'

/** HMAC-SHA256 of a text's UTF-8 bytes. */
export type Hmac = (key: Uint8Array<ArrayBuffer>, text: string) => Promise<Uint8Array> | Uint8Array

/**
 * The key bytes of a `whsec_` secret. Throws FoghornError `secret_malformed`, never with the
 * secret.
 */
export function secretBytes(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = secret.startsWith(secretPrefix)
    ? fromBase64(secret.slice(secretPrefix.length))
    : undefined
  if (bytes === undefined || bytes.length < minSecretBytes || bytes.length > maxSecretBytes) {
    throw new FoghornError(
      'secret_malformed',
      `a secret is "${secretPrefix}" followed by the base64 of ${minSecretBytes} to ${maxSecretBytes} random bytes`,
    )
  }
  return bytes
}

/** Signs one attempt with every secret: during a rotation there are several. */
export async function sign(
  secrets: readonly string[],
  id: string,
  now: number,
  body: string,
  hmac: Hmac = webHmac,
): Promise<SignatureHeaders> {
  const timestamp = String(Math.floor(now / 1000))
  const content = `${id}.${timestamp}.${body}`
  const signatures = await Promise.all(
    secrets.map(async (secret) => `${version}${toBase64(await hmac(importKey(secret), content))}`),
  )
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}

/** Checks a message against every secret in use. */
export async function verify(
  secrets: readonly string[],
  header: (name: string) => string | null | undefined,
  now: number,
  body: string,
  hmac: Hmac = webHmac,
): Promise<SignatureCheck> {
  const id = header('webhook-id')
  const timestamp = header('webhook-timestamp')
  const signatures = header('webhook-signature')
  if (!id || !timestamp || !signatures) return 'missing_header'
  if (!/^\d{1,12}$/.test(timestamp)) return 'malformed_timestamp'
  const content = `${id}.${timestamp}.${body}`
  const matches = await anyMatches(secrets, candidates(signatures), content, hmac)
  if (!matches) return 'no_match'
  const apart = Math.abs(now - Number(timestamp) * 1000)
  return apart > signatureToleranceMs ? 'outside_tolerance' : 'valid'
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

/** Undefined if the text is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.replace(/=+$/, '').length % 4 === 1) {
    return undefined
  }
  return Uint8Array.from(atob(text.replace(/=+$/, '')), (c) => c.charCodeAt(0))
}

const encoder = new TextEncoder()
const maxSignatures = 8
const version = 'v1,'
const maxCachedKeys = 2_048
const keys = new Map<string, Uint8Array<ArrayBuffer>>()
/** Cached, because importing a key costs as much as using it. */
const importedKeys = new WeakMap<Uint8Array, ReturnType<typeof crypto.subtle.importKey>>()

/** The signatures that a header offers, as base64 without its padding. */
function candidates(header: string): string[] {
  return header
    .split(' ', maxSignatures)
    .filter((part) => part.startsWith(version))
    .map((part) => unpadded(part.slice(version.length)))
}

async function anyMatches(
  secrets: readonly string[],
  signatures: string[],
  content: string,
  hmac: Hmac,
): Promise<boolean> {
  for (const secret of secrets) {
    const expected = unpadded(toBase64(await hmac(importKey(secret), content)))
    for (const signature of signatures) if (isSame(signature, expected)) return true
  }
  return false
}

function unpadded(base64: string): string {
  return base64.replace(/={1,2}$/, '')
}

/** Takes the same time for all texts of one length. */
export function isSame(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i)
  return difference === 0
}

/** Cached, because decoding a secret costs as much as using it. */
function importKey(secret: string): Uint8Array<ArrayBuffer> {
  const kept = keys.get(secret)
  if (kept !== undefined) return kept
  if (keys.size >= maxCachedKeys) keys.clear()
  const key = secretBytes(secret)
  keys.set(secret, key)
  return key
}

export async function webHmac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array> {
  let imported = importedKeys.get(key)
  if (imported === undefined) {
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    imported = crypto.subtle.importKey('raw', key, algorithm, false, ['sign'])
    importedKeys.set(key, imported)
  }
  const mac = await crypto.subtle.sign('HMAC', await imported, encoder.encode(text))
  return new Uint8Array(mac)
}
