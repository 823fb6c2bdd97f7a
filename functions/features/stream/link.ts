// Cursors of the log of moments, for readers outside. A position is encrypted: its gaps would show a
// reader that is bound to a fleet how much happens in the others. The same position never looks the same.
import { fromBase64Url, toBase64Url } from '../../links/link.ts'

/** The first key encrypts, all keys are valid: those of the links. */
type Keys = Uint8Array<ArrayBuffer>[]

/** The position before the first moment, as a reader may write it. */
const beginning = '0'
const ivLength = 12
const positionLength = 8
const tagLength = 16
const length = ivLength + positionLength + tagLength
const algorithm = 'AES-GCM'
const purpose = new TextEncoder().encode('foghorn cursor')

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>
const imported = new WeakMap<Uint8Array, Promise<CryptoKey>>()

export async function sealCursor(keys: Keys, position: number): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(ivLength))
  const plain = new Uint8Array(positionLength)
  new DataView(plain.buffer).setBigUint64(0, BigInt(position))
  const sealed = await crypto.subtle.encrypt(
    { name: algorithm, iv },
    await importStreamKey(keys[0]!),
    plain,
  )
  return toBase64Url(new Uint8Array([...iv, ...new Uint8Array(sealed)]))
}

/** Undefined if no relay with one of these keys wrote it. */
export async function openCursor(keys: Keys, cursor: string): Promise<number | undefined> {
  if (cursor === beginning) return 0
  const bytes = fromBase64Url(cursor)
  if (bytes?.length !== length) return undefined
  const [iv, sealed] = [bytes.slice(0, ivLength), bytes.slice(ivLength)]
  for (const key of keys) {
    const plain = await crypto.subtle
      .decrypt({ name: algorithm, iv }, await importStreamKey(key), sealed)
      .catch(() => undefined)
    if (plain !== undefined) return Number(new DataView(plain).getBigUint64(0))
  }
  return undefined
}

/** A key of its own: a cursor must never pass for a link, nor a link for a cursor. */
function importStreamKey(key: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  const known = imported.get(key) ?? derive(key)
  imported.set(key, known)
  return known
}

async function derive(key: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  const hmac = { name: 'HMAC', hash: 'SHA-256' }
  const mac = await crypto.subtle.importKey('raw', key, hmac, false, ['sign'])
  const own = await crypto.subtle.sign('HMAC', mac, purpose)
  return crypto.subtle.importKey('raw', own, algorithm, false, ['encrypt', 'decrypt'])
}
