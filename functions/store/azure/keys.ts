// Keys of Azure Tables, which must not contain `/ \ # ?` or control characters, nor exceed 1 KiB.
// Parts are joined by `|` and escaped byte by byte, so that ranges work.
import { createHash } from 'node:crypto'

/** Longer parts are cut and end with their digest. */
const maxPartLength = 200
const kept = /[A-Za-z0-9_.-]/

/** `Prod/1` becomes `Prod=2F1`. */
export function keyOf(...parts: (string | number)[]): string {
  return parts.map((part) => escapePart(String(part))).join('|')
}

/** The end of the range of all keys that begin with these parts. */
export function endOf(...parts: (string | number)[]): string {
  return `${keyOf(...parts)}|~`
}

/** The beginning of that range. */
export function startOf(...parts: (string | number)[]): string {
  return `${keyOf(...parts)}|`
}

/** The next possible key: no character of a key sorts before a blank. */
export function justAfter(key: string): string {
  return `${key} `
}

const timeDigits = 15
const maxTime = 10 ** timeDigits - 1

/** Epoch ms as text that sorts by time. */
export function timeKey(at: number): string {
  return String(Math.min(Math.max(0, Math.floor(at)), maxTime)).padStart(timeDigits, '0')
}

/** As `timeKey`, but the latest time sorts first. */
export function newestFirst(at: number): string {
  return timeKey(maxTime - Math.max(0, Math.floor(at)))
}

/** 64 hexadecimal digits. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** A number from 0 to below `shards`, the same for the same text. */
export function shardOf(text: string, shards: number): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) % shards
}

function escapePart(text: string): string {
  let escaped = ''
  for (const byte of Buffer.from(text)) {
    const letter = String.fromCharCode(byte)
    const hex = byte.toString(16).toUpperCase().padStart(2, '0')
    escaped += kept.test(letter) ? letter : `=${hex}`
  }
  if (escaped.length <= maxPartLength) return escaped
  // only cut parts contain a `!`
  return `${escaped.slice(0, maxPartLength - 65)}!${digestOf(text)}`
}
