// The request of `foghorn-beacon check`, and the relay's answer. The relay authenticates it as it
// does a report, and stores nothing.
import * as z from 'zod/mini'
import { limits } from './document.ts'
import { vmSchema } from './report.ts'

export const checkPath = '/v1/beacons/check'
/** Room for a VM with all its tags. */
export const maxCheckBytes = 64 * 1024

export const checkSchema = z.object({
  version: z.literal(1),
  /** Null if IMDS did not say who the VM is. */
  vm: z.nullable(vmSchema),
})
export type CheckRequest = z.infer<typeof checkSchema>

export const checkAnswerSchema = z.object({
  fleet: z.string().check(z.maxLength(limits.name)),
  /** The relay's clock, epoch ms. */
  time: z.number(),
  /** The name under which the relay keeps this VM's beacon. Absent if the request had no VM. */
  beacon: z.optional(z.string()),
  /** When the beacon was heard last, by the relay's clock. Absent if it never was. */
  heardAt: z.optional(z.number()),
  /** Absent if the beacon never was heard. `left`: it said goodbye. */
  state: z.optional(z.enum(['heard', 'silent', 'left'])),
  /** How far the relay's clock is ahead of most VMs', in ms. Absent if they do not agree so. */
  relayAheadMs: z.optional(z.number()),
})
export type CheckAnswer = z.infer<typeof checkAnswerSchema>
