// The events API for admins. Every address needs the admin key. The key may also decide any event:
// it belongs to the owner, and the event's history records its use.

import { type Context, Hono } from 'hono'
import { z } from 'zod'
import { describeIssues } from '../../../shared/errors.ts'
import { parseJson } from '../../../shared/json.ts'
import { drillEndsBy } from '../../core/event/drill.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { publicDelivery, publicHistory, publicView } from '../../core/event/public-view.ts'
import { viewOf } from '../../core/event/view.ts'
import { describeVerdict } from '../../core/message/message.ts'
import type { Channel } from '../../core/rules/config.ts'
import { remedyOf } from '../../schema/checks.ts'
import type { EventKey } from '../../store/store.ts'
import { channelsInTrouble, tryAgain } from '../../use-cases/channel-health.ts'
import { type Decided, decideEvent } from '../../use-cases/decide-event.ts'
import { readPage, readRecord } from '../../use-cases/read-events.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { drillSchema, startDrill } from '../../use-cases/run-drill.ts'
import { fleetUnknown, limit, named, problem } from '../problem.ts'
import { type KeyGuard, refuseAdmin } from './admin-key.ts'
import { deleteBeacon, getBeacons } from './beacons.ts'

const maxReplayed = 1_000
export const maxBodyBytes = 4_096
export const maxDrillBytes = 65_536

export function adminRoutes(relay: Relay, guard: KeyGuard): Hono {
  const routes = new Hono()
  for (const path of [
    '/beacons',
    '/beacons/*',
    '/channels',
    '/events',
    '/events/*',
    '/deliveries/*',
    '/drills',
  ]) {
    routes.use(path, async (c, next) => (await refuseAdmin(relay, guard, c)) ?? next())
  }
  routes.get('/beacons', (c) => getBeacons(relay, c))
  // an id may contain slashes, and a proxy may decode those of an address
  routes.delete('/beacons/:fleet/:beacon{.+}', (c) => deleteBeacon(relay, c))
  routes.get('/channels', (c) => getChannels(relay, c))
  routes.get('/events', (c) => getEvents(relay, c))
  routes.get('/events/:fleet/:eventId', (c) => getEvent(relay, c))
  routes.post('/events/:fleet/:eventId/decision', limit(maxBodyBytes), (c) =>
    postDecision(relay, c),
  )
  routes.post('/deliveries/replay', limit(maxBodyBytes), (c) => replay(relay, c))
  routes.post('/drills', limit(maxDrillBytes), (c) => postDrill(relay, c))
  return routes
}

async function getEvents(relay: Relay, c: Context): Promise<Response> {
  const page = await readPage(relay, (name) => c.req.query(name))
  if (page.outcome === 'refused') return problem(c, 400, 'query_invalid', page.reason)
  return c.json({ events: page.records.map((record) => publicView(viewOf(record))) })
}

/** The configured channels and their health, without addresses and keys. */
async function getChannels(relay: Relay, c: Context): Promise<Response> {
  const inTrouble = await channelsInTrouble(relay)
  const channels = Object.entries(relay.config.channels).map(([name, { kind, fallback }]) => {
    const health = inTrouble.find(({ channel }) => channel === name)
    const what = { name, ...asConfigured(kind), fallback }
    if (health === undefined) return { ...what, state: 'ok' }
    const { state, since, note } = health
    const next = state === 'refusing' ? { nextTryAt: isoOf(health.nextTryAt) } : {}
    return { ...what, state, since: isoOf(since), note, ...next }
  })
  return c.json({ channels })
}

/** Inside the relay, Slack's webhook and bot are two kinds. In the configuration they are one. */
function asConfigured(kind: Channel['kind']) {
  if (kind === 'slack') return { kind, by: 'webhook' }
  return kind === 'slack_bot' ? { kind: 'slack', by: 'bot' } : { kind }
}

function isoOf(at: number): string {
  return new Date(at).toISOString()
}

async function getEvent(relay: Relay, c: Context): Promise<Response> {
  const whole = await readRecord(relay, keyIn(c))
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
const byAdmin = { how: 'admin', who: 'admin' } as const

async function postDecision(relay: Relay, c: Context): Promise<Response> {
  const wish = decisionSchema.safeParse(parseJson(await c.req.text()))
  if (!wish.success) {
    const detail =
      'the body is not a decision; send {"decision": "approve"} or {"decision": "not_now"}'
    return problem(c, 400, 'decision_malformed', detail)
  }
  const shown = await relay.store.readEvent(keyIn(c))
  // An alert is stored like an event, but there is nothing to decide.
  if (shown === undefined || shown.alert !== undefined) return unknownEvent(c)
  const decision = wish.data.decision === 'approve' ? 'approved' : 'declined'
  const { outcome, record } = await decideEvent(relay, shown, { decision, by: byAdmin })
  if (outcome === 'decided') return c.json(publicView(viewOf(record)))
  const detail = `nothing was decided: ${whyNot[outcome](record)}`
  return problem(c, outcome === 'busy' ? 503 : 409, outcome, detail)
}

const whyNot: Record<Exclude<Decided['outcome'], 'decided'>, (record: EventRecord) => string> = {
  already_approved: before,
  already_declined: (record) => `${before(record)}; you can still approve it`,
  started: ({ startedAt = 0 }) => `it started at ${new Date(startedAt).toISOString()}`,
  ended: ({ ended }) => `it ended at ${new Date(ended?.at ?? 0).toISOString()}: ${ended?.outcome}`,
  busy: () => 'too many requests changed this event at once; send the request again',
  // The admin key never gets these three: it needs no list, and is not bound to a page.
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
  // A replay means that the owner has repaired the channel.
  await tryAgain(relay, 'id' in which ? undefined : which.channel)
  const replayed = await relay.store.replay(which, relay.now(), maxReplayed)
  relay.log.info('replayed', { deliveries: replayed })
  relay.wake(replayed)
  return c.json({ replayed })
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
  const fleets = Object.keys(relay.config.fleets)
  if (!fleets.includes(fleet)) return fleetUnknown(c, fleet, fleets)
  const begun = await startDrill(relay, wish.data, crypto.randomUUID())
  if (begun.outcome === 'conflict') {
    return problem(c, 503, 'busy', 'another event has the id of this drill; send the drill again')
  }
  if (begun.outcome === 'too_many') {
    const ids = begun.open.map(({ eventId }) => eventId).join(', ')
    const detail =
      `fleet "${fleet}" has ${begun.open.length} open drills, the most at a time; ` +
      `wait until one of them ends: ${ids}`
    const ends = begun.open.map((drill) => drillEndsBy(drill, drill.drillPlan!))
    const waitMs = Math.min(...ends) - relay.now()
    c.header('retry-after', String(Math.max(1, Math.ceil(waitMs / 1_000))))
    return problem(c, 429, 'too_many_drills', detail)
  }
  const { record } = begun
  const endsBy = new Date(drillEndsBy(record, record.drillPlan!)).toISOString()
  return c.json({ ...publicView(viewOf(record)), endsBy }, 201)
}
