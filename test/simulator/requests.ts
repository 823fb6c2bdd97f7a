// The bodies that the control API reads. Unknown fields are refused, because a misspelt
// `noticeSeconds` would otherwise run a quite different rehearsal than the one asked for.

import { z } from 'zod'

const seconds = z.number().min(0)
const name = z.string().min(1)
const instant = z
  .string()
  .refine(
    (text) => !Number.isNaN(Date.parse(text)),
    'write a time such as 2026-01-31T10:00:00Z or Sat, 31 Jan 2026 10:00:00 GMT',
  )

const changeable = {
  NotBefore: instant.optional(),
  Resources: z.array(name).min(1).optional(),
  Description: z.string().optional(),
  DurationInSeconds: z.number().int().min(-1).optional(),
}

export const eventRequest = z.strictObject({
  ...changeable,
  EventId: z.guid().optional(),
  EventType: name.optional(),
  EventStatus: z.enum(['Scheduled', 'Started']).optional(),
  EventSource: z.enum(['Platform', 'User']).optional(),
  ResourceType: z.literal('VirtualMachine').optional(),
  /** From now to NotBefore; 0: first seen as Started. */
  noticeSeconds: seconds.optional(),
  /** From Started to gone. */
  impactSeconds: seconds.optional(),
  /** From the approval to Started. */
  startDelayMs: seconds.optional(),
  /** A Reboot or Redeploy whose VMs do not answer while it is Started. */
  takesVmDown: z.boolean().optional(),
})

export const eventPatch = z.strictObject(changeable)

export const faultRequest = z.strictObject({
  vm: name.optional(),
  /** What fails; left out: scheduledevents. The instance document never does. */
  endpoint: z.enum(['scheduledevents', 'identity']).optional(),
  status: z.number().int().min(200).max(599).optional(),
  retryAfterSeconds: z.number().int().min(0).optional(),
  delayMs: seconds.optional(),
  emptyBody: z.boolean().optional(),
  emptyEvents: z.boolean().optional(),
  /**
   * An entry of `Events` that cannot be read: `added` to the others, or `instead` of each of them.
   */
  unreadable: z.enum(['added', 'instead']).optional(),
  /** For how many requests of each VM; left out: until cleared. */
  times: z.number().int().min(1).optional(),
  clear: z.boolean().optional(),
})

export const recordedRequest = z.strictObject({
  vms: z.array(name).min(1),
  /** Served as it is; a string is sent as the raw body, so that it may be broken JSON. */
  document: z.union([z.record(z.string(), z.unknown()), z.string(), z.null()]),
})

export const startRequest = z.object({
  DocumentIncarnation: z.unknown().optional(),
  StartRequests: z.array(z.object({ EventId: name })).min(1),
})

export type EventRequest = z.infer<typeof eventRequest>
export type EventPatch = z.infer<typeof eventPatch>
export type FaultRequest = z.infer<typeof faultRequest>
export type Endpoint = NonNullable<FaultRequest['endpoint']>
type RecordedRequest = z.infer<typeof recordedRequest>
export type RecordedDocument = RecordedRequest['document']

const withEvents = z.object({ Events: z.array(z.object({ EventId: z.string() })) })

export function recordedIds(document: RecordedDocument): string[] {
  return withEvents.safeParse(document).data?.Events.map((event) => event.EventId) ?? []
}

/** Every problem in one sentence: where, and what to write instead. */
export function explain(error: z.ZodError): string {
  return error.issues
    .map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)
    .join('; ')
}
