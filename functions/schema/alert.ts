// What other systems read about an alert: the schema of `data` in webhooks about Foghorn itself.
import * as z from 'zod'
import type { AlertKind } from '../core/delivery/alert-kind.ts'
import { alertKinds } from '../core/message/alert.ts'
import { time } from './checks.ts'
import { count } from './event.ts'

/** Grows with every change that could break a receiver. New fields do not. */
const version = 1
export const alertSchemaPath = '/schemas/alert.json'
/** An address under the relay's public one: `$id` of the schema, and `dataschema` of webhooks. */
export const alertSchemaAddress = `${alertSchemaPath}?version=${version}`

export const alertDataSchema = z.object({
  fleet: z
    .string()
    .exactOptional()
    .describe('The fleet that it is about. Absent if it is about the relay itself.'),
  kind: z
    .enum(Object.keys(alertKinds) as [AlertKind, ...AlertKind[]])
    .describe('Also in `type`, and the `subject`.'),
  episode: z.int().min(1).describe('How often this alert has begun.'),
  since: time.describe('When the problem began.'),
  title: z.string().describe('The title of the message.'),
  lines: z.array(z.string()).describe('Its sentences.'),
  vms: z
    .array(z.string())
    .exactOptional()
    .describe('The first 50 names: of VMs, subscriptions or channels.'),
  reasons: z.array(z.string()).exactOptional().describe('One sentence each.'),
  form: z
    .enum(['begun', 'over'])
    .exactOptional()
    .describe(
      'Absent in a test of a channel. `over`: the beacons are back or have left, or the problem is over.',
    ),
  count: count.exactOptional().describe('How many beacons, or other things, the alert is about.'),
  remaining: count.exactOptional().describe('How many are still missing or in trouble.'),
  left: z.array(z.string()).exactOptional().describe('Of `over`: VMs that have left.'),
})

export type AlertData = z.infer<typeof alertDataSchema>
