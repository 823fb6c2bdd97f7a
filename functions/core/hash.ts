// The hash of the core. Attackers may try to forge some of the values: approvals, ids, keys.
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/** SHA-256 of the text as UTF-8, 64 hexadecimal digits. */
export function hash(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)))
}
