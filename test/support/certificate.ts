// Certificates for a TLS server of a test, made here: X.509 in DER, signed with an authority of the
// test's own.
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

interface Pair {
  /** PEM. */
  certificate: string
  /** PEM. */
  key: string
}

interface Wanted {
  /** Default: an address of this machine. */
  host?: string
  /** When it ends. */
  validUntil?: Date
  /** Its own key. */
  keyType?: 'ec' | 'rsa'
}

const day = 86_400_000

/** An authority, and `issue`, which makes certificates that it vouches for. */
export function createAuthority(name = 'test authority') {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const from = new Date(Date.now() - 30 * day)
  const signed = (parts: Omit<Parts, 'issuer' | 'signer' | 'from'>) =>
    pem(certificate({ ...parts, issuer: name, signer: own.privateKey, from }))
  const until = new Date(Date.now() + 30 * day)
  const authority = { subject: name, publicKey: own.publicKey, until, extensions: [isAuthority] }
  return {
    /** PEM. */
    certificate: signed(authority),
    issue({ host = '127.0.0.1', validUntil = until, keyType = 'ec' }: Wanted = {}): Pair {
      const { publicKey, privateKey } =
        keyType === 'ec'
          ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
          : generateKeyPairSync('rsa', { modulusLength: 2_048 })
      const extensions = [subjectAltName(host)]
      return {
        certificate: signed({ subject: host, publicKey, until: validUntil, extensions }),
        key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      }
    },
  }
}

interface Parts {
  subject: string
  issuer: string
  publicKey: KeyObject
  signer: KeyObject
  from: Date
  until: Date
  extensions: Buffer[]
}

function certificate({ subject, issuer, publicKey, signer, from, until, extensions }: Parts) {
  const body = sequence(
    ...[tagged(0xa0, integer(2)), tagged(0x02, Buffer.from([1, ...randomBytes(8)]))],
    ...[ecdsaWithSha256, commonName(issuer), sequence(time(from), time(until))],
    ...[commonName(subject), publicKey.export({ type: 'spki', format: 'der' })],
    tagged(0xa3, sequence(...extensions)),
  )
  const signature = tagged(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, signer)]))
  return sequence(body, ecdsaWithSha256, signature)
}

function tagged(tag: number, ...content: Buffer[]): Buffer {
  const bytes = Buffer.concat(content)
  const { length } = bytes
  const long = length > 0xff ? [0x82, length >> 8, length & 0xff] : [0x81, length]
  return Buffer.concat([Buffer.from([tag, ...(length > 0x7f ? long : [length])]), bytes])
}

const sequence = (...content: Buffer[]) => tagged(0x30, ...content)
const integer = (value: number) => tagged(0x02, Buffer.from([value]))
const octets = (content: Buffer) => tagged(0x04, content)
const objectId = (hex: string) => tagged(0x06, Buffer.from(hex, 'hex'))
/** UTCTime, as `YYMMDDHHMMSSZ`. */
const time = (at: Date) =>
  tagged(0x17, Buffer.from(`${at.toISOString().replace(/\D/g, '').slice(2, 14)}Z`))

const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'))
const isAuthority = sequence(
  objectId('551d13'),
  octets(sequence(tagged(0x01, Buffer.from([0xff])))),
)

function commonName(text: string): Buffer {
  const name = sequence(objectId('550403'), tagged(0x0c, Buffer.from(text)))
  return sequence(tagged(0x31, name))
}

function subjectAltName(host: string): Buffer {
  const isAddress = /^[\d.]+$/.test(host)
  const name = isAddress
    ? tagged(0x87, Buffer.from(host.split('.').map(Number)))
    : tagged(0x82, Buffer.from(host))
  return sequence(objectId('551d11'), octets(sequence(name)))
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g)!
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
