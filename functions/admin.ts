// What an admin reads and does: the events API. Everything here needs the admin key.
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import { describeIssues } from '../shared/errors.ts'
import { quoted, remedyOf } from './config/checks.ts'
import { didYouMean } from './config/suggest.ts'
import { viewOf } from './core/delivery.ts'
import { drillEndsBy } from './core/drill.ts'
import { publicDelivery, publicHistory, publicView } from './core/public-view.ts'
import { drillSchema, startDrill } from './drill.ts'
import { outagesOf, tryAgain } from './outage.ts'
import { limit, parseJson, problem } from './problem.ts'
import type { Relay } from './relay.ts'

const maxPage = 200
const maxReplayed = 1_000
const maxBodyBytes = 4_096
const maxDrillBytes = 65_536

export function adminRoutes(relay: Relay): Hono {
  const routes = new Hono()
  for (const path of ['/channels', '/events', '/events/*', '/deliveries/*', '/drills']) {
    routes.use(path, (c, next) => requireAdmin(relay, c, next))
  }
  routes.get('/channels', (c) => getChannels(relay, c))
  routes.get('/events', (c) => getEvents(relay, c))
  routes.get('/events/:fleet/:eventId', (c) => getEvent(relay, c))
  routes.post('/deliveries/replay', limit(maxBodyBytes), (c) => replay(relay, c))
  routes.post('/drills', limit(maxDrillBytes), (c) => postDrill(relay, c))
  return routes
}

async function requireAdmin(relay: Relay, c: Context, next: () => Promise<void>) {
  if (relay.adminKey === undefined) {
    const detail = 'the events API is off: the relay was started without FOGHORN_ADMIN_KEY'
    return problem(c, 403, 'api_off', detail)
  }
  const given = (c.req.header('authorization') ?? '').replace(/^Bearer /i, '')
  if (!(await isSame(given, relay.adminKey))) {
    const detail = 'send "Authorization: Bearer <FOGHORN_ADMIN_KEY>"'
    return problem(c, 401, 'unauthorized', detail)
  }
  return next()
}

async function getEvents(relay: Relay, c: Context): Promise<Response> {
  const fleet = c.req.query('fleet')
  const size = Number(c.req.query('limit') ?? 50)
  const since = c.req.query('before')
  const before = since === undefined ? undefined : Date.parse(since)
  if (!Number.isInteger(size) || size < 1 || size > maxPage) {
    return problem(c, 400, 'query_invalid', `limit is a whole number from 1 to ${maxPage}`)
  }
  if (Number.isNaN(before)) {
    return problem(c, 400, 'query_invalid', 'before is a time, as firstSeenAt of an event shows it')
  }
  const events = await relay.store.listEvents({
    limit: size,
    ...(fleet === undefined ? {} : { fleet }),
    ...(before === undefined ? {} : { before }),
  })
  return c.json({ events: events.map((record) => publicView(viewOf(record))) })
}

/** What the owner configured, and what refuses; nothing of an address or a key. */
async function getChannels(relay: Relay, c: Context): Promise<Response> {
  const outages = await outagesOf(relay)
  const channels = Object.entries(relay.config.channels).map(([name, { kind, fallback }]) => {
    const outage = outages.find(({ channel }) => channel === name)
    if (outage === undefined) return { name, kind, fallback, state: 'ok' }
    const { since, nextTryAt, note } = outage
    const times = { since: isoOf(since), nextTryAt: isoOf(nextTryAt) }
    return { name, kind, fallback, state: 'refusing', ...times, note }
  })
  return c.json({ channels })
}

function isoOf(at: number): string {
  return new Date(at).toISOString()
}

async function getEvent(relay: Relay, c: Context): Promise<Response> {
  const key = { fleet: c.req.param('fleet')!, eventId: c.req.param('eventId')!.toLowerCase() }
  const record = await relay.store.readEvent(key)
  if (record === undefined) {
    const detail = `fleet ${JSON.stringify(key.fleet)} has no event ${JSON.stringify(key.eventId)}`
    return problem(c, 404, 'event_unknown', detail)
  }
  const deliveries = await relay.store.readDeliveries(key)
  return c.json({
    ...publicView(viewOf(record)),
    history: publicHistory(record),
    deliveries: deliveries.map(publicDelivery),
  })
}

const replaySchema = z.union([
  z.strictObject({ id: z.string().min(1) }),
  z.strictObject({ since: z.iso.datetime({ offset: true }), channel: z.string().optional() }),
])

async function replay(relay: Relay, c: Context): Promise<Response> {
  const wish = replaySchema.safeParse(parseJson(await c.req.text()))
  if (!wish.success) {
    const detail =
      'send {"id": "…"}, or {"since": "2026-11-21T00:00:00Z"} with or without "channel"'
    return problem(c, 400, 'replay_malformed', detail)
  }
  const which =
    'id' in wish.data
      ? wish.data
      : {
          since: Date.parse(wish.data.since),
          ...(wish.data.channel === undefined ? {} : { channel: wish.data.channel }),
        }
  // whoever asks for them again has mended the channel
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
  if (!fleets.includes(fleet)) {
    const meant = didYouMean(fleet, fleets)
    const detail = `there is no fleet ${JSON.stringify(fleet)}; there are ${quoted(fleets)}${meant}`
    return problem(c, 404, 'fleet_unknown', detail)
  }
  const begun = await startDrill(relay, wish.data, crypto.randomUUID())
  if (begun.outcome === 'conflict') {
    return problem(c, 503, 'busy', 'another event has the id of this drill; send it again')
  }
  if (begun.outcome === 'too_many') {
    const ids = begun.open.map(({ eventId }) => eventId).join(', ')
    const detail =
      `fleet "${fleet}" has ${begun.open.length} open drills, and no more at a time; ` +
      `wait for the end of one: ${ids}`
    return problem(c, 429, 'too_many_drills', detail)
  }
  const { record } = begun
  const endsBy = new Date(drillEndsBy(record, record.drillPlan!)).toISOString()
  return c.json({ ...publicView(viewOf(record)), endsBy }, 201)
}

/** Compares digests, so that the time taken says nothing about where two texts differ. */
async function isSame(given: string, expected: string): Promise<boolean> {
  const digest = async (text: string) =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  const [a, b] = await Promise.all([digest(given), digest(expected)])
  return a.every((byte, i) => byte === b[i])
}
