// `/v1/events`: lists, reads and decides events. The admin key and tokens decide without being listed
// as approvers: they come from the owner, and the event's history records their use.
import type { Context } from 'hono'
import * as z from 'zod'
import { makeStamp } from '../../core/event/approval.ts'
import type { EventRecord } from '../../core/event/event.ts'
import {
  type PublicSight,
  publicDelivery,
  publicHistory,
  publicView,
} from '../../core/event/public-view.ts'
import { toView } from '../../core/event/view.ts'
import { maxReasonLength } from '../../core/limits.ts'
import { describeDecided, whyUndecidable } from '../../core/message/phrases.ts'
import { isBound, seesFleet, toDecider } from '../../core/rules/access.ts'
import { listChoices, object, time } from '../../schema/checks.ts'
import { eventDataSchema, hookRun, publicEventSchema } from '../../schema/event.ts'
import type { EventKey } from '../../store/store.ts'
import { type Decided, decideEvent } from '../../use-cases/decide-event.ts'
import { pageQuery, readPage, readRecord } from '../../use-cases/list-events.ts'
import { fleetUnknown, named, problem } from '../problem.ts'
import { type Route, route } from '../route.ts'
import { fleetsFor, readAccess } from './access.ts'
import { deliveryAnswer } from './deliveries.ts'

const listEvents = route({
  method: 'get',
  path: '/v1/events',
  name: 'listEvents',
  summary: 'Lists events, newest first.',
  group: 'Events',
  caller: 'read',
  query: pageQuery,
  answers: {
    200: {
      about: 'One page.',
      schema: z.object({
        events: z.array(publicEventSchema).describe('A page may be shorter than `limit`.'),
        more: z.boolean(),
        cursor: z
          .string()
          .exactOptional()
          .describe('For the next page, if there is one. Never with `open`.'),
      }),
    },
  },
  handler:
    ({ relay }) =>
    async (c, { query }) => {
      const fleets = fleetsFor(relay, c)
      if (query.fleet !== undefined && !fleets.includes(query.fleet)) {
        return fleetUnknown(c, query.fleet, fleets)
      }
      const access = readAccess(c)
      // without a filter, the list also has events of fleets that left the configuration
      const all = isBound(access) ? access.fleets : undefined
      const { events, ...more } = await readPage(relay, query, all)
      const rest = JSON.stringify(more).slice(1)
      const text = `{"events":[${events.join(',')}],${rest}`
      return c.body(text, 200, { 'content-type': 'application/json' })
    },
})

const publicSight = z.object({
  vm: z.string(),
  hit: z.boolean().describe('The event affects this VM.'),
  firstSeenAt: time,
  lastSeenAt: time,
  goneAt: time.exactOptional(),
  hooks: z
    .object({ prepare: hookRun.exactOptional(), restore: hookRun.exactOptional() })
    .exactOptional(),
}) satisfies z.ZodType<PublicSight>

const historyEntry = z.object({
  at: time,
  what: z.string().describe('seen, changed, approved, directed, azure_accepted, started, …'),
  note: z.string().exactOptional(),
  reason: z.string().exactOptional().describe('Of a decision.'),
})

const wholeEvent = z
  .object({
    ...publicEventSchema.shape,
    vms: eventDataSchema.shape.vms,
    history: z.array(historyEntry).describe('At most 200 entries. The first one always stays.'),
    deliveries: z.array(deliveryAnswer),
    seenBy: z.array(publicSight).describe('Affected VMs come first. Of the others, at most four.'),
  })
  .meta({ id: 'WholeEvent' })

const getEvent = route({
  method: 'get',
  path: '/v1/events/{fleet}/{eventId}',
  name: 'getEvent',
  summary: 'Reads one event, with its history, its deliveries and the VMs that saw it.',
  about:
    'The header `ETag` changes with what people decide about. `decideEvent` takes it as `If-Match`.',
  group: 'Events',
  caller: 'read',
  answers: { 200: { about: 'The event.', schema: wholeEvent } },
  problems: [404],
  handler:
    ({ relay }) =>
    async (c, { params }) => {
      const key = keyIn(params)
      const whole = seesFleet(readAccess(c), key.fleet)
        ? await readRecord(relay, key, !isBound(readAccess(c)))
        : undefined
      if (whole === undefined) return unknownEvent(c, key)
      const { record, view, deliveries, seenBy } = whole
      c.header('etag', `"${makeStamp(record)}"`)
      return c.json({
        ...publicView(view),
        history: publicHistory(record),
        deliveries: deliveries.map(publicDelivery),
        seenBy,
      })
    },
})

const decisions = {
  approve: 'approved',
  not_now: 'declined',
  take: 'take',
  give_back: 'give_back',
} as const
/** With these, nothing is decided. */
const undecided = ['take', 'give_back']

const postDecision = route({
  method: 'post',
  path: '/v1/events/{fleet}/{eventId}/decision',
  name: 'decideEvent',
  summary:
    'Decides an event: approve or not now. Or takes it or gives it back: others see who looks at it.',
  about:
    'The history records `admin`, or the token. With the `ETag` of the event in the header `If-Match`, a decision ' +
    'counts only for what was read: if the event has become another one, the answer is 412.',
  group: 'Events',
  caller: 'decide',
  json: {
    schema: object({
      decision: listChoices(['approve', 'not_now', 'take', 'give_back']).describe(
        '`take` and `give_back` decide nothing.',
      ),
      reason: z
        .string()
        .max(maxReasonLength)
        .exactOptional()
        .describe('Stays with the decision, and people read it. Only with a decision.'),
    }).refine(({ decision, reason }) => !undecided.includes(decision) || reason === undefined, {
      error: 'this decides nothing; send it without a reason',
      path: ['reason'],
    }),
    maxBytes: 4_096,
    code: 'decision_malformed',
    example: '{"decision": "approve"} or {"decision": "not_now", "reason": "the backup runs"}',
  },
  answers: { 200: { about: 'The event, decided.', schema: publicEventSchema } },
  problems: [404, 409, 412, 503],
  handler:
    ({ relay }) =>
    async (c, { params, body }) => {
      const key = keyIn(params)
      const seen = readStamp(c.req.header('if-match'))
      const access = readAccess(c)
      const shown = seesFleet(access, key.fleet) ? await relay.store.readEvent(key) : undefined
      if (shown === undefined) return unknownEvent(c, key)
      const { decision, ...reason } = body
      const wish = {
        ...{ decision: decisions[decision], by: toDecider(access), ...reason },
        ...(seen !== undefined && { seen }),
      }
      const { outcome, record } = await decideEvent(relay, shown, wish)
      if (outcome === 'decided') return c.json(publicView(toView(record)))
      const detail = `nothing was decided: ${whyNot[outcome](record)}`
      return problem(c, refusals[outcome] ?? 409, outcome, detail)
    },
})

const refusals: Partial<Record<Decided['outcome'], number>> = { busy: 503, moved_on: 412 }
/** What `If-Match` names. A proxy that compresses makes an ETag weak. */
function readStamp(ifMatch: string | undefined): string | undefined {
  if (ifMatch === undefined || ifMatch === '*') return undefined
  return /^(?:W\/)?"(.*)"$/.exec(ifMatch)?.[1] ?? ifMatch
}

const whyNot: Record<Exclude<Decided['outcome'], 'decided'>, (record: EventRecord) => string> = {
  already_approved: before,
  already_declined: (record) => `${before(record)}; you can still approve it`,
  started: ({ started }) => `it started at ${new Date(started?.at ?? 0).toISOString()}`,
  ended: ({ ended }) => `it ended at ${new Date(ended?.at ?? 0).toISOString()}: ${ended?.outcome}`,
  too_many_vms: () => whyUndecidable.too_many_vms,
  nothing_to_decide: () => whyUndecidable.nothing_to_decide,
  busy: () => 'too many requests changed this event at once; send the request again',
  // the API never gets these two: it needs no list
  identity_needed: () => 'only listed approvers can decide this event',
  not_listed: () => 'only listed approvers can decide this event',
  moved_on: () => 'the event has changed; read it again, then decide',
}

function before({ decided }: EventRecord): string {
  if (decided === undefined) return 'it was decided before'
  return `${describeDecided(decided)} at ${new Date(decided.at).toISOString()}`
}

function keyIn({ fleet, eventId }: EventKey): EventKey {
  return { fleet, eventId: eventId.toLowerCase() }
}

function unknownEvent(c: Context, { fleet, eventId }: EventKey): Response {
  const detail = `fleet ${named(fleet)} has no event ${named(eventId)}; GET /v1/events lists all`
  return problem(c, 404, 'event_unknown', detail)
}

export const eventRoutes: Route[] = [listEvents, getEvent, postDecision]
