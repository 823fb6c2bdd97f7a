// `/v1/azure/events`: Azure Event Grid sends events of subscriptions here, as CloudEvents or in its own
// schema, one by one or in batches. Before that, it shakes hands. `/v1/azure` shows what is switched on.
import type { Context, MiddlewareHandler } from 'hono'
import * as z from 'zod'
import { readList } from '../../../shared/bounded.ts'
import { messageOf } from '../../../shared/errors.ts'
import { parseJson } from '../../../shared/json.ts'
import type { Published } from '../../core/event/published.ts'
import { findFleet } from '../../core/rules/config.ts'
import { readNotice } from '../../schema/azure-event.ts'
import { createAzureCheck } from '../../use-cases/check-azure.ts'
import { joinPublished, noteDoubt } from '../../use-cases/published.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { inTurns, refuseBusy } from '../door.ts'
import { limit, problem } from '../problem.ts'
import { type Route, route } from '../route.ts'
import { fleetsFor, readAccess } from './access.ts'

/** Event Grid sends at most so much. */
export const maxBatchBytes = 1_048_576
const maxEvents = 5_000
/** Subscriptions in a line of the log. */
const maxNamed = 5
export const azureEventsPath = '/v1/azure/events'

/** Bytes of a handshake. Event Grid sends one of less than 1 kB. */
const maxHandshakeBytes = 4_096
const validationType = 'Microsoft.EventGrid.SubscriptionValidationEvent'
const validation = z.tuple([
  z.object({
    eventType: z.literal(validationType),
    data: z.object({ validationCode: z.string().max(256) }),
  }),
])

/**
 * Middleware: answers the handshake of Event Grid's own schema. It may come without a token, so strangers may
 * send it: it is small, and nothing else goes this way.
 */
export const shakeHands: MiddlewareHandler = async (c, next) => {
  const isHandshake = c.req.header('aeg-event-type') === 'SubscriptionValidation'
  if (c.req.method !== 'POST' || !isHandshake) return next()
  return limit(maxHandshakeBytes)(c, async () => {
    const read = validation.safeParse(parseJson(await c.req.text()))
    c.res = read.success
      ? c.json({ validationResponse: read.data[0].data.validationCode })
      : problem(c, 400, 'azure_event_malformed', `the body is no ${validationType}`)
  })
}

/** Event Grid never sends again what was refused, so Azure's list is read soon. */
export function readListAfterRefusal(relay: Relay): MiddlewareHandler {
  return async (c, next) => {
    await next()
    if (c.res.status !== 401 && c.res.status !== 403) return
    noteDoubt(relay, relay.now()).catch((error) => {
      relay.log.warn('azure_list_failed', { error: messageOf(error) })
    })
  }
}

/**
 * Only what an entry says of an event is kept: the request waits for its turns, and what was parsed may take twenty
 * times the memory of its text. This is not `z.record`, which looks at each of its fields.
 */
const entry = z
  .unknown()
  .meta({ type: 'object' })
  .refine((value) => typeof value === 'object' && value !== null && !Array.isArray(value))
  .transform(readNotice)
const example = 'CloudEvents or events in the schema of Event Grid'

const takeEvents = route({
  method: 'post',
  path: azureEventsPath,
  name: 'takeAzureEvents',
  summary: 'Takes events that Azure Event Grid sends.',
  about:
    'CloudEvents or the schema of Event Grid, one or a batch. The relay stores them before it answers.',
  group: 'Beacons',
  caller: 'report',
  takesTurns: true,
  json: {
    schema: z.union([entry.transform((one) => [one]), readList(entry, maxEvents)]),
    maxBytes: maxBatchBytes,
    code: 'azure_event_malformed',
    example,
  },
  answers: {
    200: {
      about: 'The handshake of the schema of Event Grid.',
      schema: z.object({ validationResponse: z.string() }),
    },
    204: { about: 'The events are stored.' },
  },
  problems: [503],
  handler:
    ({ relay, door }) =>
    async (c, { body }) => {
      const now = relay.now()
      const access = readAccess(c)
      const unreadable = body.filter((one) => one === undefined).length
      if (unreadable > 0) relay.log.warn('azure_events_unreadable', { count: unreadable })
      if (unreadable === body.length && unreadable > 0) {
        const detail = `no entry is an event of ${example}`
        return problem(c, 400, 'azure_event_malformed', detail)
      }
      const published = body
        .filter((one) => typeof one === 'object')
        .map(({ at = now, ...one }): Published => ({ ...one, at }))
      const own = ofFleets(relay, c, published)
      if ('refusal' in own) return problem(c, 403, 'azure_subscription_unknown', own.refusal)
      const inOrder = own.placed.sort((a, b) => a.one.at - b.one.at)
      // those of one part share a transaction
      const joined = await inTurns(door, access, inOrder, (some) =>
        Promise.all(some.map(({ one, fleet }) => joinPublished(relay, fleet, one))),
      )
      if (joined === 'full') return refuseBusy(c)
      if (!joined.includes('busy')) return c.body(null, 204)
      return problem(c, 503, 'busy', 'others are changing the event; send it again')
    },
})

interface Placed {
  one: Published
  fleet: string
}

/**
 * Finds the events of the token's fleets. The log names the subscriptions of the others. If there are
 * only others, the request is refused.
 */
function ofFleets(
  relay: Relay,
  c: Context,
  published: Published[],
): { placed: Placed[] } | { refusal: string } {
  const known = fleetsFor(relay, c)
  const placed = published.flatMap((one): Placed[] => {
    const fleet = fleetIn(known, relay.config, one)
    return fleet === undefined ? [] : [{ one, fleet }]
  })
  const own = new Set(placed.map(({ one }) => one))
  const homeless = published.filter((one) => !own.has(one))
  const unknown = [...new Set(homeless.map(({ resource }) => resource.subscriptionId))]
  if (homeless.length > 0 && placed.length === 0) {
    const refusal =
      `no fleet of this token takes events of the subscription ${unknown[0]}; add it to ` +
      '"azure.subscriptions", and to "azureSubscriptions" of a fleet'
    return { refusal }
  }
  if (homeless.length > 0) {
    const subscriptions = unknown.slice(0, maxNamed)
    relay.log.warn('azure_events_homeless', { count: homeless.length, subscriptions })
  }
  return { placed }
}

function fleetIn(known: string[], config: Parameters<typeof findFleet>[0], one: Published) {
  const fleet = findFleet(config, one.resource.subscriptionId)
  return fleet !== undefined && known.includes(fleet) ? fleet : undefined
}

const handshake = route({
  method: 'options',
  path: azureEventsPath,
  name: 'admitEventGrid',
  summary: 'The handshake of CloudEvents: Azure Event Grid asks whether it may send.',
  group: 'Beacons',
  caller: 'anyone',
  answers: { 200: { about: 'It may. The headers say from where, and how often.' } },
  handler: () => (c) => {
    const origin = c.req.header('webhook-request-origin') ?? '*'
    return c.body(null, 200, { 'webhook-allowed-origin': origin, 'webhook-allowed-rate': '*' })
  },
})

const stateAnswer = z.object({
  subscriptionId: z.string(),
  fleet: z.string().exactOptional().describe('If it is absent, the relay takes no events of it.'),
  problem: z.string().exactOptional().describe('Why the relay cannot read the subscription.'),
  publishing: z
    .array(z.string())
    .describe('Sets, and VMs that are in none, whose events Azure publishes: `group/name`.'),
  silent: z.array(z.string()).describe('Those whose events only a beacon sees.'),
  withoutBeacon: z
    .array(z.string())
    .describe('VMs without a beacon, and uniform scale sets that have none.'),
  blind: z.array(z.string()).describe('Of those without a beacon: nobody sees their events.'),
})

const showAzure = route({
  method: 'get',
  path: '/v1/azure',
  name: 'showAzure',
  summary: 'Shows what Azure publishes outside the VMs, and which VMs have no beacon.',
  group: 'Beacons',
  caller: 'read',
  // it waits for Azure
  takesTurns: true,
  answers: {
    200: {
      about: 'The subscriptions under `azure`.',
      schema: z.object({ subscriptions: z.array(stateAnswer) }),
    },
  },
  handler({ relay, door }) {
    const check = createAzureCheck(relay)
    return async (c) => {
      const subscriptions = await check(fleetsFor(relay, c))
      const answered = await door.pass(readAccess(c), async () => c.json({ subscriptions }))
      return answered === 'full' ? refuseBusy(c) : answered
    }
  },
})

export const azureRoutes: Route[] = [takeEvents, handshake, showAzure]
