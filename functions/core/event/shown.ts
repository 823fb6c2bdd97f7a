// The values of one document, as a sight keeps them, and whether two of them differ.
import { isSameName, type ScheduledEvent, unknownType } from '../../../shared/document.ts'
import { hash } from '../hash.ts'
import type { Facts, Values } from './facts.ts'

/** The values of a document that showed the event. Long texts are digests. */
export interface Shown extends Pick<ScheduledEvent, 'eventType' | 'status'> {
  source?: string
  durationSeconds?: number
  notBeforeAt?: number
  names?: string
  description?: string
}

const longText = 64

function toDigest(text: string): string {
  return text.length > longText ? hash(text).slice(0, 32) : text
}

/** Equal for equal lists: case, order and repetition do not matter. Undefined if no VM is named. */
export function namesDigest(resources: string[], count?: number): string | undefined {
  if (resources.length === 0) return undefined
  const names = [...new Set(resources.map((name) => name.toLowerCase()))].sort()
  return toDigest([...names, ...(count === undefined ? [] : [count])].join('|'))
}

export function toShown(event: Facts & Pick<ScheduledEvent, 'status'>): Shown {
  const { eventType, status, source, durationSeconds, notBeforeAt, description } = event
  const { resources, vmCount } = event
  const names = namesDigest(resources, vmCount)
  return {
    eventType,
    status,
    ...(source !== undefined && { source }),
    ...(durationSeconds !== undefined && { durationSeconds }),
    ...(notBeforeAt !== undefined && { notBeforeAt }),
    ...(description !== undefined && { description: toDigest(description) }),
    ...(names !== undefined && { names }),
  }
}

/** NotBefore has changed if it moved by this much. */
const leastMoveMs = 60_000

/** Whether both have the value, and it is not the same. What is missing or empty differs from nothing. */
export function differs(name: keyof Values, one: Shown, other: Shown): boolean {
  const key = name === 'resources' ? 'names' : name
  const [a, b] = [one[key], other[key]]
  if (a === undefined || b === undefined || a === unknownType || b === unknownType) return false
  if (name === 'notBeforeAt') return Math.abs(Number(a) - Number(b)) >= leastMoveMs
  if (name === 'description') return a !== b
  return !isSameName(String(a), String(b))
}
