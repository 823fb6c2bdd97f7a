// The admin key: who has it is an admin. Bearer token of the API, and what the pages of the record ask for.
import type { Relay } from '../relay.ts'

export async function isAdminKey({ adminKey }: Relay, given: string): Promise<boolean> {
  return adminKey !== undefined && (await isSame(given, adminKey))
}

/** Compares digests, so that the time taken says nothing about where two texts differ. */
async function isSame(given: string, expected: string): Promise<boolean> {
  const [a, b] = await Promise.all([digestOf(given), digestOf(expected)])
  return a.every((byte, i) => byte === b[i])
}

export async function digestOf(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}
