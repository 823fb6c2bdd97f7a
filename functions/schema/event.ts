// What other systems read about an event: the schema of webhooks' `data`, and of the API's answers.
// The compiler checks that it agrees with `PublicEvent`, which the core makes.
import * as z from 'zod'
import { documentedTypes } from '../../shared/document.ts'
import { decisions, inferences, phases, startKinds } from '../core/event/event.ts'
import { ruled } from '../core/event/facts.ts'
import { vmStates, waitFailures } from '../core/event/hook-state.ts'
import { moments } from '../core/event/moment.ts'
import { proofs } from '../core/event/proof.ts'
import type { PublicEvent } from '../core/event/public-view.ts'
import { type EventData, eventSchemaVersion } from '../core/message/cloud-event.ts'
import { eventFields } from '../features/schemas.ts'
import { time } from './checks.ts'

export const schemaQuery = z.strictObject({
  version: z
    .literal(String(eventSchemaVersion))
    .optional()
    .describe('The version of the schema. There is one so far.'),
})

export const count = z.int().min(0)
const runStates = ['planned', 'running', 'succeeded', 'failed', 'refused'] as const

const hitVm = z.object({
  name: z.string().describe('`compute.name`, as in `resources`.'),
  vmId: z.string().exactOptional().describe('`compute.vmId`.'),
  subscriptionId: z.string().exactOptional(),
  resourceGroup: z.string().exactOptional(),
  scaleSet: z.string().exactOptional(),
  placementGroup: z.string().exactOptional(),
  zone: z.string().exactOptional(),
  tags: z
    .record(z.string(), z.string())
    .exactOptional()
    .describe('Empty if the VM has none. Absent if they are unknown or were cut.'),
  node: z.string().exactOptional().describe('The name of the node of Kubernetes.'),
  workloads: z
    .array(z.string())
    .exactOptional()
    .describe('What the node ran before it was drained, such as `shop/web`: at most 20.'),
  readiness: z
    .enum(vmStates)
    .exactOptional()
    .describe('Of its hook `prepare`. Absent if no affected VM has a hook and no rule waits.'),
})

const noted = {
  since: time.exactOptional(),
  exitCode: z.int().exactOptional(),
  note: z.string().exactOptional().describe("The hook's last line, or why it did not run."),
}

/** The last run of a hook. */
export const hookRun = z.object({ state: z.enum(runStates), ...noted })

const readiness = z
  .object({
    counts: z.partialRecord(z.enum(vmStates), count).describe('Affected VMs by state.'),
    unready: z
      .array(z.object({ vm: z.string(), state: z.enum(vmStates), ...noted }))
      .describe('The first 20 VMs that are not ready.'),
    restore: z
      .object({
        counts: z.partialRecord(z.enum(runStates), count),
        failed: z.array(
          z.object({ vm: z.string(), state: z.enum(['failed', 'refused']), ...noted }),
        ),
      })
      .exactOptional()
      .describe('The same for the hook `restore`, once it has run.'),
  })
  .describe('Absent if no affected VM has a hook and no rule waits for one.')

const decider = {
  how: z.enum(proofs).describe('How the relay knows who it was.'),
  who: z
    .string()
    .describe(
      'A channel, `team/user`, `tenant/object id`, `admin`, `id/name` of a token, or a rule.',
    ),
  name: z
    .string()
    .exactOptional()
    .describe(
      'What the service or Entra calls the person. For `link` and `admin`: what the person wrote, unproved.',
    ),
}

const policy = z.object({
  decide: z.enum(decisions),
  rule: z.string(),
  whenReady: z.literal(true).exactOptional().describe('The rule waits until all VMs are ready.'),
  prepareBeforeSeconds: z.int().exactOptional().describe('VMs prepare from then on.'),
  maxConcurrent: z.int().exactOptional().describe('The rule waits for its turn.'),
  runbook: z.string().exactOptional().describe('The address that the rule gives people.'),
})

const approval = z.object({
  decision: z.enum(['approved', 'declined']),
  ...decider,
  at: time,
  reason: z.string().exactOptional().describe('What the person wrote, at most 200 characters.'),
  expiredAt: time.exactOptional().describe('The event became more than was approved.'),
})

export const publicEventSchema = z
  .object({
    fleet: z.string().describe('The fleet of the VMs.'),
    eventId: z
      .string()
      .describe("Azure's id in lower case. `drill-…` for a drill, `test-…` for a test event."),
    epoch: z.int().min(1).describe('Grows if an event that seemed over is alive.'),
    sequence: count.describe(
      'Grows with every change. Ignore a body with a lower value than you have handled.',
    ),
    phase: z.enum(phases).describe('How far the event is. A lost event keeps its last phase.'),
    drill: z.literal(true).exactOptional().describe('Only for a drill.'),
    eventType: z
      .string()
      .describe(`${documentedTypes.join(', ')}, or a type that Azure adds later.`),
    source: z.string().exactOptional().describe('`Platform` or `User`.'),
    resources: z.array(z.string()).describe('The affected VMs, at most 200.'),
    resourcesTotal: count.exactOptional().describe('How many there are, if `resources` was cut.'),
    vms: z.array(hitVm).exactOptional().describe('What is known of the affected VMs.'),
    observers: count
      .exactOptional()
      .describe(
        'How many other VMs see the event. Absent for the first 10 s, while VMs still report.',
      ),
    notBefore: time
      .exactOptional()
      .describe('Azure starts it then or later. Remains after the start.'),
    durationSeconds: z.number().exactOptional().describe('-1: Azure does not know.'),
    description: z.string().exactOptional().describe('As Azure says.'),
    policy: policy.describe('The decision of the policy.'),
    readiness: readiness.exactOptional(),
    slot: z
      .enum(['held', 'waits', 'unknown'])
      .exactOptional()
      .describe('Under a rule with `maxConcurrent`.'),
    notReady: z
      .object({
        at: time,
        rule: z.string(),
        why: z.enum(waitFailures),
        values: z
          .array(z.enum(ruled))
          .exactOptional()
          .describe('Only of `vms_disagree`: the values on which the VMs disagree.'),
      })
      .exactOptional()
      .describe('A rule waited in vain, so people were asked, and no rule approves the event.'),
    prepareNow: z
      .object({ ...decider, at: time })
      .exactOptional()
      .describe('A person asked the VMs to prepare at once.'),
    taken: z
      .object({ ...decider, at: time })
      .exactOptional()
      .describe('Who said last that they look at it. Nobody has decided by that.'),
    stuckSince: time.exactOptional().describe('Approved, and Azure has not acted on it since.'),
    unheard: z
      .object({ since: time, vms: z.array(z.string()), count })
      .exactOptional()
      .describe(
        'Nobody can tell Azure now: none of the VMs that see the event has reported since.',
      ),
    ...eventFields,
    firstSeenAt: time.describe("By the relay's clock, as all times but `notBefore`."),
    startedAt: time.exactOptional().describe('When Azure started it.'),
    startKind: z.enum(startKinds).exactOptional().describe('Why, if it was first seen as Started.'),
    endedAt: time.exactOptional().describe('When it ended.'),
    outcome: z
      .enum(['completed', 'cancelled', 'lost'])
      .exactOptional()
      .describe('`lost`: no VM is left that could see the end.'),
    inferred: z
      .enum(inferences)
      .exactOptional()
      .describe('Why the relay concludes the outcome. Absent if a VM saw it.'),
    approvals: z.array(approval).describe('Decisions of this epoch.'),
    azureAccepted: z
      .object({ vm: z.string(), at: time, through: z.literal('resource_manager').exactOptional() })
      .exactOptional()
      .describe(
        'The VM that told Azure to start the event. With `through`, the relay told it for this scale set, VM or availability set.',
      ),
  })
  .meta({ id: 'Event' }) satisfies z.ZodType<PublicEvent>

const links = z.object({
  page: z.string().exactOptional().describe("The event's page in the console. It decides nothing."),
  api: z.string().describe('The event in the API.'),
  decide: z
    .string()
    .exactOptional()
    .describe('The page that decides. Only if the channel has `"links": "decide"`.'),
})

const about = z.object({
  channel: z.string(),
  moment: z.enum([...moments, 'alert']).describe('Of the message that failed.'),
  state: z.string(),
  reason: z.string(),
  health: z
    .enum(['refusing', 'unreachable'])
    .exactOptional()
    .describe('If the channel itself is in trouble.'),
})

export const eventDataSchema = z.object({
  moment: z
    .enum([...moments, 'alert'])
    .describe('Also in `type`. `alert`: another channel is in trouble, this one is its fallback.'),
  test: z
    .literal(true)
    .exactOptional()
    .describe(
      'Only for a test event: the relay made it up for `POST /v1/subscriptions/{id}/test`.',
    ),
  ...publicEventSchema.shape,
  vms: z.array(hitVm).describe('The affected VMs. Those with more facts than the name come first.'),
  vmsTotal: count.exactOptional().describe('How many there are, if `vms` was cut.'),
  about: about.exactOptional().describe('Only if `moment` is `alert`: the message that failed.'),
  links: links.describe(
    'Addresses of the event. They decide nothing, unless the channel has "links": "decide".',
  ),
}) satisfies z.ZodType<EventData, EventData>
