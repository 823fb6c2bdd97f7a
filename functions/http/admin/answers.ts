// What the API answers to admins, for `GET /openapi.json`. Tests check real answers against it.
import * as z from 'zod'
import { moments } from '../../core/event/moment.ts'
import type { PublicSighting } from '../../core/event/public-view.ts'
import { scopes } from '../../core/rules/access.ts'
import { count, eventDataSchema, hookRun, publicEventSchema, time } from '../../schema/event.ts'
import { beaconStates } from './beacons.ts'

const historyEntry = z.object({
  at: time,
  what: z.string().describe('seen, changed, approved, directed, passed_on, started, …'),
  note: z.string().exactOptional(),
})

const deliveryAnswer = z
  .object({
    id: z.string(),
    channel: z.string(),
    moment: z.enum([...moments, 'alert']),
    epoch: z.int(),
    state: z
      .enum(['pending', 'delivered', 'refused', 'superseded', 'given_up'])
      .describe(
        '`refused`: the channel rejected it. `superseded`: a later message says more. `given_up`: after 24 h.',
      ),
    attempts: count,
    note: z.string().describe('The result of the last attempt.'),
    insteadOf: z.string().exactOptional().describe('The channel that a fallback message replaces.'),
    plannedAt: time,
    nextAttemptAt: time.exactOptional(),
    settledAt: time.exactOptional(),
  })
  .meta({ id: 'Delivery' })

const sighting = z.object({
  vm: z.string(),
  hit: z.boolean().describe('The event affects this VM.'),
  firstSeenAt: time,
  lastSeenAt: time,
  goneAt: time.exactOptional(),
  hooks: z
    .object({ prepare: hookRun.exactOptional(), restore: hookRun.exactOptional() })
    .exactOptional(),
}) satisfies z.ZodType<PublicSighting>

export const eventAnswer = z
  .object({
    ...publicEventSchema.shape,
    vms: eventDataSchema.shape.vms,
    history: z.array(historyEntry).describe('At most 200 entries. The first one always stays.'),
    deliveries: z.array(deliveryAnswer),
    seenBy: z.array(sighting).describe('Affected VMs come first. Of the others, at most four.'),
  })
  .meta({ id: 'WholeEvent' })

const aToken = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(scopes)),
  fleets: z.array(z.string()).exactOptional().describe('Absent: all fleets.'),
  createdAt: time,
  createdBy: z.string().describe('`admin`, or the token that made this one.'),
  expiresAt: time.exactOptional().describe('Absent: it does not expire.'),
  lastUsedAt: time.exactOptional().describe('To five minutes. Absent: never used.'),
})
export const tokenAnswer = aToken.meta({ id: 'Token' })
export const tokensAnswer = z.object({ tokens: z.array(tokenAnswer) })
export const newTokenAnswer = aToken.extend({
  token: z.string().describe('Only this answer contains it.'),
})

export const streamAnswer = z.object({
  events: z.array(z.looseObject({})).describe('CloudEvents, as webhooks get them.'),
  next: z.string().describe('The cursor for the next request.'),
  more: z.boolean().describe('There may be more to read at once.'),
})

export const eventsAnswer = z.object({
  events: z.array(publicEventSchema).describe('A page may be shorter than `limit`.'),
  more: z.boolean(),
  cursor: z.string().exactOptional().describe('For the next page, if there is one.'),
})

export const drillAnswer = z.object({
  ...publicEventSchema.shape,
  endsBy: time.describe('While a relay runs, the drill is not open later than this.'),
})

export const beaconAnswer = z
  .object({
    fleet: z.string().exactOptional().describe('Only in the answer for one beacon.'),
    beacon: z.string().describe('Its id.'),
    vm: z.string(),
    resourceGroup: z.string(),
    scaleSet: z.string(),
    state: z.enum(beaconStates),
    version: z.string(),
    unsupported: z
      .string()
      .exactOptional()
      .describe('Why this relay does not support the version.'),
    lastHeardAt: time,
    paceSeconds: z.number(),
    seesEvents: count,
    hooks: z.array(z.enum(['prepare', 'restore'])),
    goodbye: z
      .object({ reason: z.enum(['stopped', 'shutdown', 'upgrade', 'removed']), at: time })
      .exactOptional(),
    left: z
      .object({ why: z.enum(['removed', 'terminated', 'replaced', 'owner']), at: time })
      .exactOptional(),
    explainedBy: z
      .string()
      .exactOptional()
      .describe('The event that explains why it is not heard.'),
  })
  .meta({ id: 'Beacon' })

export const beaconsAnswer = z.object({
  fleet: z.string(),
  beacons: z.array(beaconAnswer),
  more: z.boolean(),
  cursor: z.string().exactOptional().describe('For the next page, if there is one.'),
  expected: count.exactOptional().describe('From `expectedBeacons` in the configuration.'),
  missing: z
    .union([count, z.array(z.string())])
    .exactOptional()
    .describe(
      'VMs that never reported: their names, or how many if `expectedBeacons` is a number.',
    ),
})

export const channelsAnswer = z.object({
  channels: z.array(
    z
      .object({
        name: z.string(),
        kind: z.string(),
        by: z.enum(['webhook', 'bot']).exactOptional().describe('Only of Slack.'),
        fallback: z.string().exactOptional(),
        state: z.enum(['ok', 'refusing', 'unreachable']),
        since: time.exactOptional(),
        note: z.string().exactOptional(),
      })
      .meta({ id: 'Channel' }),
  ),
})

export const channelTestAnswer = z.object({ delivery: deliveryAnswer })

export const replayAnswer = z.object({ replayed: count })
