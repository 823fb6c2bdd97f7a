// `GET /v1/events/stream`: every moment of every event for other systems, as server-sent events or, with
// `wait`, as a long poll. Both read the log of moments from a cursor, so nothing is missed in between. To wait
// keeps nobody's place; each read takes its turn at the door.

import type { Context } from 'hono'
import * as z from 'zod'
import { documentedTypes } from '../../../shared/document.ts'
import { inSlices } from '../../../shared/slices.ts'
import type { LoggedMoment, MomentFilter } from '../../core/delivery/moment-log.ts'
import { moments as momentNames } from '../../core/event/moment.ts'
import { cloudEventBody } from '../../core/message/cloud-event.ts'
import { type Access, isBound } from '../../core/rules/access.ts'
import { fleetsFor, readAccess } from '../../http/api/access.ts'
import { refuseBusy } from '../../http/door.ts'
import { fleetUnknown, named, problem } from '../../http/problem.ts'
import { route, type Shared } from '../../http/route.ts'
import { eventLinks } from '../../links/link.ts'
import { listChoices, wholeNumber } from '../../schema/checks.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { stillHolds } from '../../use-cases/verify-token.ts'
import { openCursor, sealCursor } from './link.ts'
import { createStreamShares } from './rule.ts'
import { positionNow, readWanted } from './use.ts'

/** How often to look for commits of other processes: they raise no signal in this one. */
const lookEveryMs = 2_000
const heartbeatMs = 15_000
/** After this time the relay ends a stream, and the reader must authenticate again. */
const maxStreamMs = 15 * 60_000
/** Moments in one chunk of a stream. */
const maxChunk = 20
const maxPolled = 100
const maxWaitSeconds = 25
/** Values of one condition in a filter. */
const maxValues = 50
const retryMs = 2_000
const contentType = 'text/event-stream'

const text = z.string().min(1, 'write a name').max(300, 'write at most 300 characters')
const tooMany = `write at most ${maxValues} values`

/** Who reads, what, and where from. */
interface Wish {
  access: Access
  filter: MomentFilter
  after: number
  /** Asks for one answer, after this time at the latest. Absent: for a stream. */
  waitMs?: number | undefined
}

const streamQuery = z.strictObject({
  fleet: z.array(text).max(maxValues, tooMany).optional().describe('Only events of these fleets.'),
  type: z
    .array(listChoices(documentedTypes))
    .max(maxValues, tooMany)
    .optional()
    .describe('Only these types.'),
  moment: z
    .array(listChoices(momentNames))
    .max(maxValues, tooMany)
    .optional()
    .describe('Only these steps.'),
  resource: text.optional().describe('Only events that hit a VM with such a name: `web_*`.'),
  after: text.optional().describe('A cursor. `0` begins with everything that is stored.'),
  wait: wholeNumber(0, maxWaitSeconds)
    .optional()
    .describe('Seconds. The answer is JSON, once there is a step or the time is over.'),
})

export const streamRoute = route({
  method: 'get',
  path: '/v1/events/stream',
  name: 'followEvents',
  summary: 'Follows every step of every event: server-sent events or, with `wait`, a long poll.',
  about:
    'Without `wait`, the answer is `text/event-stream`: `id` is the cursor, `data` a CloudEvent. ' +
    'The header `Last-Event-ID` counts before `after`.',
  group: 'Events',
  caller: 'read',
  takesTurns: true,
  query: streamQuery,
  answers: {
    200: {
      about: 'With `wait`: the next steps.',
      schema: z.object({
        events: z.array(z.looseObject({})).describe('CloudEvents, as webhooks get them.'),
        next: z.string().describe('The cursor for the next request.'),
        more: z.boolean().describe('There may be more to read at once.'),
      }),
    },
  },
  problems: [404, 406, 409, 429],
  handler(shared) {
    const { relay } = shared
    const shares = createStreamShares()
    return async (c, { query }) => {
      const wish = await readWish(relay, c, query)
      if (wish instanceof Response) return wish
      if (wish.waitMs === undefined && !relay.host.holdsConnections) return unsupported(c)
      const opened = shares.open(wish.access)
      if ('refusal' in opened) return refuseMore(c, opened.refusal)
      return wish.waitMs === undefined
        ? hold(shared, c, wish, opened.close)
        : poll(shared, c, wish, wish.waitMs).finally(opened.close)
    }
  },
})

/** A response refuses what is asked for. */
async function readWish(
  relay: Relay,
  c: Context,
  { fleet, type, moment, resource, after, wait }: z.output<typeof streamQuery>,
): Promise<Wish | Response> {
  const seen = fleetsFor(relay, c)
  const unknown = fleet?.find((name) => !seen.includes(name))
  if (unknown !== undefined) return fleetUnknown(c, unknown, seen)
  const access = readAccess(c)
  // without a filter, the log also has events of fleets that left the configuration
  const fleets = fleet ?? (isBound(access) ? access.fleets : undefined)
  const filter = { fleets, eventTypes: type, moments: moment, resource }
  const last = positionNow(relay)
  const given = c.req.header('last-event-id') || after
  const from = given === undefined ? last : await openCursor(relay.credentials.linkKeys, given)
  if (from === undefined || from > last) return cursorUnknown(c, given)
  return { access, filter, after: from, waitMs: wait && wait * 1_000 }
}

/** Refuses a cursor of another store: new moments here might have lower positions than it has. */
function cursorUnknown(c: Context, given = ''): Response {
  const detail =
    `the cursor ${named(given)} is not from this relay; ` +
    'leave out the cursor to begin with what happens from now on, or begin with after=0'
  return problem(c, 409, 'cursor_unknown', detail)
}

function unsupported(c: Context): Response {
  const detail =
    'this host cannot keep a connection open; poll instead: ' +
    `GET /v1/events/stream?wait=${maxWaitSeconds}, then with after=<next of the last answer>`
  return problem(c, 406, 'stream_unsupported', detail)
}

type Needs = Pick<Shared, 'relay' | 'door'>

/**
 * The next moments that the filter lets through, at most `most`, each with its body. `full`: too many
 * requests of this reader wait.
 */
function readNext({ relay, door }: Needs, wish: Wish, most: number) {
  return door.pass(wish.access, async () => {
    const read = await readWanted(relay, wish.filter, wish.after, most)
    wish.after = read.next
    const events = await inSlices(read.moments, relay.host.pause, (some) =>
      some.map((one) => ({ position: one.position, body: composeStreamBody(relay, one) })),
    )
    return { events, next: read.next, more: read.more }
  })
}

/** Answers once there is a moment, or after `waitMs`. */
async function poll(needs: Needs, c: Context, wish: Wish, waitMs: number): Promise<Response> {
  const { relay } = needs
  const until = Math.min(relay.now() + waitMs, findExpiry(wish.access))
  for (;;) {
    const { raised } = relay.work.commitSignal
    const read = await readNext(needs, wish, maxPolled)
    if (read === 'full') return refuseBusy(c)
    const leftMs = until - relay.now()
    if (read.events.length > 0 || leftMs <= 0 || relay.work.commitSignal.isClosed) {
      if (!(await stillHolds(relay, wish.access))) return noLongerValid(c)
      const next = await sealCursor(relay.credentials.linkKeys, read.next)
      const bodies = read.events.map(({ body }) => body).join(',')
      const text = `{"events":[${bodies}],"next":"${next}","more":${read.more}}`
      return c.body(text, 200, { 'content-type': 'application/json' })
    }
    await relay.work.commitSignal.next(raised, read.more ? 0 : Math.min(lookEveryMs, leftMs))
  }
}

function noLongerValid(c: Context): Response {
  const detail = 'the token was revoked or expired while the request waited; use a new one'
  return problem(c, 401, 'unauthorized', detail)
}

/** Epoch ms. Infinity without an end. */
function findExpiry(access: Access): number {
  return (access.by === 'token' ? access.expiresAt : undefined) ?? Number.POSITIVE_INFINITY
}

function refuseMore(c: Context, refusal: string): Response {
  c.header('retry-after', '15')
  return problem(c, 429, 'too_many_streams', `${refusal}, which is the limit; close one`)
}

function hold(needs: Needs, c: Context, wish: Wish, close: () => void): Response {
  const headers = { 'content-type': contentType, 'x-accel-buffering': 'no' }
  return c.body(openStream(needs, wish, close), 200, headers)
}

/** The reader asks for each chunk, so a slow one fills no memory. */
function openStream(needs: Needs, wish: Wish, onEnd: () => void): ReadableStream<Uint8Array> {
  const { relay } = needs
  const encoder = new TextEncoder()
  const endsAt = Math.min(relay.now() + maxStreamMs, findExpiry(wish.access))
  let isFirst = true
  let isOver = false
  const end = () => {
    if (!isOver) onEnd()
    isOver = true
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const text = await (isFirst
          ? firstChunk(relay, wish.after)
          : nextChunk(needs, wish, endsAt, () => isOver)
        ).catch((error: unknown) => {
          // an errored stream is not cancelled
          end()
          throw error
        })
        isFirst = false
        if (isOver) return
        if (text !== undefined) controller.enqueue(encoder.encode(text))
        else {
          end()
          controller.close()
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}

async function firstChunk(relay: Relay, after: number): Promise<string> {
  return `retry: ${retryMs}\n${await idLine(relay, after)}\n`
}

/** The next moments, or a heartbeat. Undefined if the stream ends: its reader goes on with a new one. */
async function nextChunk(
  needs: Needs,
  wish: Wish,
  endsAt: number,
  isOver: () => boolean,
): Promise<string | undefined> {
  const { relay } = needs
  const beatAt = Math.min(relay.now() + heartbeatMs, endsAt)
  while (!isOver() && !relay.work.commitSignal.isClosed && relay.now() < endsAt) {
    const { raised } = relay.work.commitSignal
    const read = await readNext(needs, wish, maxChunk)
    if (read === 'full') return undefined
    const { events, next, more } = read
    const leftMs = beatAt - relay.now()
    const isDue = events.length > 0 || leftMs <= 0
    if (isDue && !(await stillHolds(relay, wish.access))) return undefined
    if (events.length > 0) return composeChunk(relay, events)
    if (leftMs <= 0) return `: heartbeat\n${await idLine(relay, next)}\n`
    await relay.work.commitSignal.next(raised, more ? 0 : Math.min(lookEveryMs, leftMs))
  }
  return undefined
}

async function composeChunk(
  relay: Relay,
  events: { position: number; body: string }[],
): Promise<string> {
  const blocks = events.map(
    async ({ position, body }) => `${await idLine(relay, position)}data: ${body}\n\n`,
  )
  return (await Promise.all(blocks)).join('')
}

/** A client remembers it also without data, so a filter does not make it read everything again. */
async function idLine({ credentials }: Relay, position: number): Promise<string> {
  return `id: ${await sealCursor(credentials.linkKeys, position)}\n`
}

function composeStreamBody(relay: Relay, moment: LoggedMoment): string {
  const links = eventLinks(relay, moment.notification.event)
  return cloudEventBody(moment, links, relay.config)
}
