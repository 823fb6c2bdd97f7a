// What every kind of sink is: a judge of one request, and what it does with one that it took.

import { z } from 'zod'
import type { Reply } from '../http.ts'

export interface SinkRequest {
  /** POST, unless the kind takes others. */
  readonly method: string
  readonly at: number
  /** With its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Undefined where the body is not JSON. */
  readonly json: unknown
}

export interface Decided {
  /** True, or why the real service would refuse it. */
  readonly valid: true | string
  readonly reply: Reply
}

export interface Sink {
  /** Changes nothing; the answer is the one that the real service would give. */
  judge(request: SinkRequest): Decided
  /** Called once for each request that was taken, even when its answer never leaves. */
  accept(request: SinkRequest): void
}

/** Whether every text in it consists of whole characters: readers refuse, or lose, what does not. */
export function isWhole(json: unknown): boolean {
  if (typeof json === 'string') return json.isWellFormed()
  if (typeof json !== 'object' || json === null) return true
  return Object.entries(json).every(([key, value]) => isWhole(key) && isWhole(value))
}

/** Text of 1 to `max` characters, counted as people do: an emoji is one. */
export function text(max: number) {
  return z
    .string()
    .min(1)
    .refine((value) => [...value].length <= max, `longer than ${max} characters`)
}

export const webUrl = z.url({ protocol: /^https?$/ })
