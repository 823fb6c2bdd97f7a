// Names of partitions, rows and keys. Azure Tables allows none with `/ \ # ?` or control characters,
// nor more than 1 KiB. Parts are joined by `|` and escaped byte by byte, so that ranges work.
import { hash } from '../core/hash.ts'
import type { EventKey } from './store.ts'

/** Longer parts are cut and end with their digest. */
const maxPartLength = 120
const kept = /^[A-Za-z0-9_.-]*$/

/** `Prod/1` becomes `Prod=2F1`. */
export function buildKey(...parts: (string | number)[]): string {
  return parts.map((part) => escapePart(String(part))).join('|')
}

/** The end of the range of all keys that begin with these parts. */
export function findEnd(...parts: (string | number)[]): string {
  return `${buildKey(...parts)}|~`
}

/** The beginning of that range. */
export function findStart(...parts: (string | number)[]): string {
  return `${buildKey(...parts)}|`
}

/** Where a list goes on after this name. */
export function justAfter(name: string): string {
  return `${name}|~`
}

const maxTime = Number.MAX_SAFE_INTEGER
const timeDigits = String(maxTime).length

/** Epoch ms, or another whole number, as text that sorts by it. */
export function timeKey(at: number): string {
  return String(Math.min(Math.max(0, Math.floor(at)), maxTime)).padStart(timeDigits, '0')
}

/** Writes a time as `timeKey` does, but the latest time sorts first. */
export function newestFirst(at: number): string {
  return timeKey(maxTime - Math.max(0, Math.floor(at)))
}

/** The time that `newestFirst` wrote. */
export function timeIn(newest: string): number {
  return maxTime - Number(newest)
}

function escapePart(text: string): string {
  if (text.length <= maxPartLength && kept.test(text)) return text
  let escaped = ''
  for (const byte of new TextEncoder().encode(text)) {
    const letter = String.fromCharCode(byte)
    const hex = byte.toString(16).toUpperCase().padStart(2, '0')
    escaped += kept.test(letter) ? letter : `=${hex}`
  }
  if (escaped.length <= maxPartLength) return escaped
  // only cut parts contain a `!`
  return `${escaped.slice(0, maxPartLength - 65)}!${hash(text)}`
}

export function eventPartition({ fleet, eventId }: EventKey): string {
  return buildKey('event', fleet, eventId)
}
