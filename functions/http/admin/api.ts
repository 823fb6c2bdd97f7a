// The API for owners and other systems. Every address needs the admin key or a token with a scope.
// Both may decide events without being listed as approvers: they come from the owner, and the
// event's history records their use.
import { type Context, Hono } from 'hono'
import * as z from 'zod'
import { describeIssues } from '../../../shared/errors.ts'
import { parseJson } from '../../../shared/json.ts'
import { channelIn, subscriptionOf } from '../../core/delivery/delivery.ts'
import { drillEndsBy } from '../../core/event/drill.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { publicDelivery, publicHistory, publicView } from '../../core/event/public-view.ts'
import { viewOf } from '../../core/event/view.ts'
import { describeVerdict, tooLarge } from '../../core/message/phrases.ts'
import { deciderOf, isBound, nameOf, seesFleet } from '../../core/rules/access.ts'
import { remedyOf } from '../../schema/checks.ts'
import type { EventKey } from '../../store/store.ts'
import { type Decided, decideEvent } from '../../use-cases/decide-event.ts'
import { readPage, readRecord } from '../../use-cases/list-events.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { drillSchema, startDrill } from '../../use-cases/run-drill.ts'
import { fleetUnknown, limit, named, problem } from '../problem.ts'
import { accessOf, authenticate, fleetsFor, need } from './access.ts'
import type { KeyGuard } from './admin-key.ts'
import { postBackup } from './backup.ts'
import { deleteBeacon, getBeacons } from './beacons.ts'
import { getChannels, postChannelTest } from './channels.ts'
import { streamRoute } from './stream.ts'
import { subscriptionRoutes } from './subscriptions.ts'
import { deleteToken, getToken, getTokens, maxTokenBytes, postToken } from './tokens.ts'

const maxReplayed = 1_000
export const maxBodyBytes = 4_096
export const maxDrillBytes = 65_536

export function adminRoutes(relay: Relay, guard: KeyGuard): Hono {
  const routes = new Hono()
  const guarded = [
    'backup',
    'beacons',
    'channels',
    'deliveries',
    'drills',
    'events',
    'subscriptions',
    'tokens',
  ]
  for (const name of guarded) {
    // this matches `/events` too; a second pattern would check the key twice
    routes.use(`/${name}/*`, authenticate(relay, guard))
  }
  const [reads, decides, manages] = [need('read'), need('decide'), need('manage')]
  const body = limit(maxBodyBytes)
  routes.post('/backup', (c) => postBackup(relay, c))
  routes.get('/beacons', reads, (c) => getBeacons(relay, c))
  // an id may contain slashes, and a proxy may decode those of an address
  routes.delete('/beacons/:fleet/:beacon{.+}', manages, (c) => deleteBeacon(relay, c))
  routes.get('/channels', reads, (c) => getChannels(relay, c))
  routes.post('/channels/:name/test', manages, (c) => postChannelTest(relay, c))
  routes.get('/events', reads, (c) => getEvents(relay, c))
  routes.get('/events/stream', reads, streamRoute(relay))
  routes.get('/events/:fleet/:eventId', reads, (c) => getEvent(relay, c))
  routes.post('/events/:fleet/:eventId/decision', decides, body, (c) => postDecision(relay, c))
  routes.post('/deliveries/replay', manages, body, (c) => replay(relay, c))
  routes.post('/drills', manages, limit(maxDrillBytes), (c) => postDrill(relay, c))
  subscriptionRoutes(relay, routes, manages)
  routes.get('/tokens', manages, (c) => getTokens(relay, c))
  routes.post('/tokens', manages, limit(maxTokenBytes), (c) => postToken(relay, c))
  routes.get('/tokens/:id', manages, (c) => getToken(relay, c))
  routes.delete('/tokens/:id', manages, (c) => deleteToken(relay, c))
  return routes
}

async function getEvents(relay: Relay, c: Context): Promise<Response> {
  const fleet = c.req.query('fleet')
  const fleets = fleetsFor(relay, c)
  if (fleet !== undefined && !fleets.includes(fleet)) return fleetUnknown(c, fleet, fleets)
  const access = accessOf(c)
  // without a filter, the list also has events of fleets that left the configuration
  const all = isBound(access) ? access.fleets : undefined
  const page = await readPage(relay, (name) => c.req.query(name), all)
  if (page.outcome === 'refused') return problem(c, 400, 'query_invalid', page.reason)
  const { events, cursor } = page
  const rest = JSON.stringify({ more: cursor !== undefined, cursor }).slice(1)
  const text = `{"events":[${events.join(',')}],${rest}`
  return c.body(text, 200, { 'content-type': 'application/json' })
}

async function getEvent(relay: Relay, c: Context): Promise<Response> {
  const key = keyIn(c)
  const whole = seesFleet(accessOf(c), key.fleet) ? await readRecord(relay, key) : undefined
  if (whole === undefined) return unknownEvent(c)
  const { record, view, deliveries, seenBy } = whole
  return c.json({
    ...publicView(view),
    history: publicHistory(record),
    deliveries: deliveries.map(publicDelivery),
    seenBy,
  })
}

function keyIn(c: Context): EventKey {
  return { fleet: c.req.param('fleet')!, eventId: c.req.param('eventId')!.toLowerCase() }
}

function unknownEvent(c: Context): Response {
  const { fleet, eventId } = keyIn(c)
  const detail = `fleet ${named(fleet)} has no event ${named(eventId)}; GET /v1/events lists all`
  return problem(c, 404, 'event_unknown', detail)
}

export const decisionSchema = z.strictObject({ decision: z.enum(['approve', 'not_now']) })

async function postDecision(relay: Relay, c: Context): Promise<Response> {
  const wish = decisionSchema.safeParse(parseJson(await c.req.text()))
  if (!wish.success) {
    const detail =
      'the body is not a decision; send {"decision": "approve"} or {"decision": "not_now"}'
    return problem(c, 400, 'decision_malformed', detail)
  }
  const key = keyIn(c)
  const access = accessOf(c)
  const shown = seesFleet(access, key.fleet) ? await relay.store.readEvent(key) : undefined
  if (shown === undefined) return unknownEvent(c)
  const decision = wish.data.decision === 'approve' ? 'approved' : 'declined'
  const { outcome, record } = await decideEvent(relay, shown, { decision, by: deciderOf(access) })
  if (outcome === 'decided') return c.json(publicView(viewOf(record)))
  const detail = `nothing was decided: ${whyNot[outcome](record)}`
  return problem(c, outcome === 'busy' ? 503 : 409, outcome, detail)
}

const whyNot: Record<Exclude<Decided['outcome'], 'decided'>, (record: EventRecord) => string> = {
  already_approved: before,
  already_declined: (record) => `${before(record)}; you can still approve it`,
  started: ({ started }) => `it started at ${new Date(started?.at ?? 0).toISOString()}`,
  ended: ({ ended }) => `it ended at ${new Date(ended?.at ?? 0).toISOString()}: ${ended?.outcome}`,
  too_many_vms: () => tooLarge,
  busy: () => 'too many requests changed this event at once; send the request again',
  // The API never gets these three: it needs no list, and is not bound to a page.
  identity_needed: () => 'only listed approvers can decide this event',
  not_listed: () => 'only listed approvers can decide this event',
  moved_on: () => 'the event has changed; read it again, then decide',
}

function before({ verdict }: EventRecord): string {
  if (verdict === undefined) return 'it was decided before'
  return `${describeVerdict(verdict)} at ${new Date(verdict.at).toISOString()}`
}

export const replaySchema = z.union([
  z.strictObject({ id: z.string().min(1) }),
  z.strictObject({ since: z.iso.datetime({ offset: true }), channel: z.string().optional() }),
])

async function replay(relay: Relay, c: Context): Promise<Response> {
  const wish = replaySchema.safeParse(parseJson(await c.req.text()))
  if (!wish.success) {
    const detail =
      'the body is not a replay; send {"id": "…"}, ' +
      'or {"since": "2026-11-21T00:00:00Z"} and optionally "channel"'
    return problem(c, 400, 'replay_malformed', detail)
  }
  const which =
    'id' in wish.data
      ? wish.data
      : {
          since: Date.parse(wish.data.since),
          ...(wish.data.channel === undefined ? {} : { channel: wish.data.channel }),
        }
  if ('id' in which && isToSubscription(which.id)) {
    const detail = 'this message belongs to a subscription; use POST /v1/subscriptions/:id/replay'
    return problem(c, 400, 'replay_malformed', detail)
  }
  const access = accessOf(c)
  const own = isBound(access) ? { ...which, fleets: access.fleets } : which
  const replayed = await relay.store.replay(own, relay.now(), maxReplayed)
  if (replayed > 0) {
    relay.log.info('replayed', { deliveries: replayed, by: nameOf(access) })
    relay.wake(replayed)
  }
  return c.json({ replayed })
}

function isToSubscription(id: string): boolean {
  return subscriptionOf(channelIn(id)) !== undefined
}

async function postDrill(relay: Relay, c: Context): Promise<Response> {
  const json = parseJson(await c.req.text())
  const wish = drillSchema.safeParse(json, { error: remedyOf })
  if (!wish.success) {
    const detail =
      json === undefined
        ? 'the body is not JSON; send at least {"fleet": "prod", "type": "Reboot"}'
        : describeIssues(wish.error, json).join('\n')
    return problem(c, 400, 'drill_malformed', detail)
  }
  const { fleet } = wish.data
  const fleets = fleetsFor(relay, c)
  if (!fleets.includes(fleet)) return fleetUnknown(c, fleet, fleets)
  const begun = await startDrill(relay, wish.data, crypto.randomUUID())
  if (begun.outcome === 'conflict') {
    return problem(c, 503, 'busy', 'the id of the new drill is in use; send the request again')
  }
  if (begun.outcome === 'too_many') {
    const ids = begun.open.map(({ eventId }) => eventId).join(', ')
    const detail =
      `fleet "${fleet}" has ${begun.open.length} open drills, which is the limit; ` +
      `wait until one of them ends: ${ids}`
    const ends = begun.open.map((drill) => drillEndsBy(drill, drill.drill!))
    const waitMs = Math.min(...ends) - relay.now()
    c.header('retry-after', String(Math.max(1, Math.ceil(waitMs / 1_000))))
    return problem(c, 429, 'too_many_drills', detail)
  }
  const { record } = begun
  const endsBy = new Date(drillEndsBy(record, record.drill!)).toISOString()
  return c.json({ ...publicView(viewOf(record)), endsBy }, 201)
}
