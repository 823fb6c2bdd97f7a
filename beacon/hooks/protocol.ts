// What the beacon and the runner of hooks say to each other: one JSON object a line. The beacon asks
// for a run of `prepare` or `restore` for an event. It cannot name a program, a path or an argument.
import * as z from 'zod'
import { limits, scheduledEventSchema } from '../../shared/document.ts'
import { hookSchema, maxHookNote } from '../../shared/report.ts'

/** An event with 1,000 names of 256 characters fits. */
export const maxLineBytes = 2 * 1024 * 1024
/** No hook may run longer, whatever the beacon asks. */
export const longestRunMs = 86_400_000
/** Runs that ended, as the runner remembers them. */
export const maxEnded = 100

const epochMs = z.number().min(0).max(8.64e15)
const runId = z.string().min(1).max(64)

const orderSchema = z.object({
  /** Unique: the same order twice is one run. */
  run: runId,
  hook: hookSchema,
  limitMs: z.number().min(1).max(longestRunMs),
  vm: z.string().min(1).max(limits.name),
  event: scheduledEventSchema,
  firstSeenAt: epochMs,
  /** Only of `restore`. */
  endedAt: epochMs.optional(),
})
export type Order = z.infer<typeof orderSchema>

export const questionSchema = z.discriminatedUnion('ask', [
  z.object({ ask: z.literal('status') }),
  z.object({ ask: z.literal('run'), order: orderSchema }),
])
export type Question = z.infer<typeof questionSchema>

/** Whether the runner would run a hook. */
const presenceSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('ready') }),
  z.object({ state: z.literal('absent') }),
  z.object({ state: z.literal('refused'), note: z.string().max(maxHookNote) }),
])
export type Presence = z.infer<typeof presenceSchema>

const endedSchema = z.object({
  run: runId,
  state: z.enum(['succeeded', 'failed', 'refused']),
  ageMs: z.number().min(0),
  exitCode: z.int().optional(),
  note: z.string().max(maxHookNote).optional(),
})
export type Ended = z.infer<typeof endedSchema>

const statusSchema = z.object({
  prepare: presenceSchema,
  restore: presenceSchema,
  /** The id of the run. */
  running: runId.optional(),
  /** The newest last. */
  ended: z.array(endedSchema).max(maxEnded),
})
export type Status = z.infer<typeof statusSchema>

/** A status, and how many questions of this connection it takes into account. */
export const answerSchema = z.object({ heard: z.int().min(0), status: statusSchema })
