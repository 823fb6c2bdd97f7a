// The simulator's own Entra: signs tokens of managed identities, and shows its keys as a tenant does. A
// relay whose `authority` is the control port accepts them.

import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Tenant } from './fleet.ts'
import { placeOf, SUBSCRIPTION, stableGuid } from './instance.ts'

/** The one tenant of the simulator, in Entra's sense of the word. */
export const TENANT_ID = stableGuid('directory')
const LIFE_SECONDS = 24 * 60 * 60
const MODULUS_BITS = 2048

interface Key {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export type ClaimSet = Record<string, unknown>

export class Issuer {
  #keys: Key[] = []
  #made = 0

  /** The newest key, made when it is first needed: making one takes a while. */
  get key(): Key {
    if (this.#keys.length === 0) this.rotate()
    return this.#keys.at(-1)!
  }

  /** Signs with a new key from now on; `keep` says how many older ones are still shown. */
  rotate(keep = 1): void {
    const pair = generateKeyPairSync('rsa', { modulusLength: MODULUS_BITS })
    this.#made += 1
    const older = keep === 0 ? [] : this.#keys.slice(-keep)
    this.#keys = [...older, { kid: `simulated-${this.#made}`, ...pair }]
  }

  /** As `<authority>/<tenant>/discovery/v2.0/keys` answers. */
  jwks(): { keys: object[] } {
    const keys = [...this.#keys, ...(this.#keys.length === 0 ? [this.key] : [])]
    return {
      keys: keys.map(({ kid, publicKey }) => ({
        ...publicKey.export({ format: 'jwk' }),
        kid,
        use: 'sig',
      })),
    }
  }

  sign(claims: ClaimSet, header: object = {}): string {
    const { kid, privateKey } = this.key
    const head = { typ: 'JWT', alg: 'RS256', kid, ...header }
    const content = `${encode(JSON.stringify(head))}.${encode(JSON.stringify(claims))}`
    const signature = createSign('sha256').update(content).sign(privateKey)
    return `${content}.${encode(signature)}`
  }
}

export function encode(bytes: string | Buffer): string {
  return Buffer.from(bytes).toString('base64url')
}

/** The claims of a token of version 1, such as IMDS hands out; `clientId` picks an assigned identity. */
export function claimsOf(
  vm: string,
  tenant: Tenant,
  audience: string,
  clientId: string,
  now: number,
): ClaimSet {
  const { group, setId, resourceId } = placeOf(vm, tenant)
  const issuedAt = Math.floor(now / 1000)
  const assigned = `/subscriptions/${SUBSCRIPTION}/resourcegroups/${group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/${clientId}`
  return {
    aud: audience,
    iss: `https://sts.windows.net/${TENANT_ID}/`,
    iat: issuedAt,
    nbf: issuedAt,
    exp: issuedAt + LIFE_SECONDS,
    appid: clientId || stableGuid(`identity ${setId || resourceId}`),
    idtyp: 'app',
    tid: TENANT_ID,
    ver: '1.0',
    xms_az_rid: resourceId,
    xms_mirid: clientId === '' ? setId || resourceId : assigned,
  }
}
