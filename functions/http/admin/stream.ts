// `GET /v1/events/stream`: every moment of every event for other systems, as server-sent events or, with
// `wait`, as a long poll. Both read the log of moments from a cursor, so nothing is missed in between.
import type { Context } from 'hono'
import { z } from 'zod'
import { eventTypes } from '../../../shared/document.ts'
import { describeIssues } from '../../../shared/errors.ts'
import type { LoggedMoment, MomentFilter } from '../../core/delivery/moment-log.ts'
import { moments as momentNames } from '../../core/event/event.ts'
import { cloudEventBody } from '../../core/message/cloud-event.ts'
import { remedyOf } from '../../schema/checks.ts'
import { lastPosition, readMoments } from '../../use-cases/read-moments.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { fleetUnknown, named, problem } from '../problem.ts'

/** Another process may commit, which rings no bell here. */
const lookEveryMs = 2_000
const heartbeatMs = 15_000
/** Then the reader connects again, with its credential. */
const maxStreamMs = 15 * 60_000
/** In one process. */
const maxStreams = 100
/** Moments in one chunk of a stream. */
const maxChunk = 20
const maxPolled = 100
const maxWaitSeconds = 25
/** In a filter. */
const maxValues = 50
const retryMs = 2_000
const contentType = 'text/event-stream'

const list = z.array(z.string().min(1).max(300)).max(maxValues).optional()
const position = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)

const querySchema = z.strictObject({
  fleet: list,
  type: z.array(z.enum(eventTypes)).max(maxValues).optional(),
  moment: z.array(z.enum(momentNames)).max(maxValues).optional(),
  resource: z.array(z.string().min(1).max(300)).max(1).optional(),
  after: z.tuple([position]).optional(),
  wait: z.tuple([z.coerce.number().int().min(0).max(maxWaitSeconds)]).optional(),
})

/** Where to read, and what. */
interface Wish {
  filter: MomentFilter
  after: number
}

/** How many streams are open. */
interface Streams {
  open: number
}

export function streamRoute(relay: Relay): (c: Context) => Promise<Response> {
  const streams: Streams = { open: 0 }
  return async (c) => {
    const given = c.req.queries()
    const query = querySchema.safeParse(given, { error: remedyOf })
    if (!query.success) {
      return problem(c, 400, 'query_invalid', describeIssues(query.error, given).join('\n'))
    }
    const { fleet, type, moment, resource, after, wait } = query.data
    const unknown = fleet?.find((name) => !Object.hasOwn(relay.config.fleets, name))
    if (unknown !== undefined) {
      return fleetUnknown(c, unknown, Object.keys(relay.config.fleets))
    }
    const filter = { fleets: fleet, eventTypes: type, moments: moment, resource: resource?.[0] }
    const last = await lastPosition(relay)
    const from = cursorIn(c) ?? after?.[0] ?? last
    if (!(from <= last)) return cursorUnknown(c, String(from), last)
    const wish = { filter, after: from }
    if (wait !== undefined) return poll(relay, c, wish, wait[0] * 1_000)
    if (!relay.holdsConnections) return unsupported(c)
    return hold(relay, c, wish, streams)
  }
}

/** A client sends it when it connects again. NaN if it is no cursor of ours. */
function cursorIn(c: Context): number | undefined {
  const id = c.req.header('last-event-id')
  return id === undefined || id === '' ? undefined : /^\d{1,15}$/.test(id) ? Number(id) : Number.NaN
}

/** Otherwise the reader would wait for moments that get lower positions. */
function cursorUnknown(c: Context, from: string, last: number): Response {
  const detail =
    `the cursor ${named(from)} is not from this relay, whose last one is ${last}; ` +
    'leave out the cursor to begin with what happens from now on, or begin with after=0'
  return problem(c, 409, 'cursor_unknown', detail)
}

function unsupported(c: Context): Response {
  const detail =
    'this host cannot keep a connection open; poll instead: ' +
    `GET /v1/events/stream?wait=${maxWaitSeconds}, then with after=<next of the last answer>`
  return problem(c, 406, 'stream_unsupported', detail)
}

/** Answers once there is a moment, or after `waitMs`. */
async function poll(relay: Relay, c: Context, wish: Wish, waitMs: number): Promise<Response> {
  const until = relay.now() + waitMs
  for (;;) {
    const { rung } = relay.bell
    const read = await readMoments(relay, wish.filter, wish.after, maxPolled)
    wish.after = read.next
    const leftMs = until - relay.now()
    if (read.moments.length > 0 || leftMs <= 0 || relay.bell.isClosed) {
      const { next, more } = read
      const text = `{"events":[${read.moments.map(bodyOf).join(',')}],"next":"${next}","more":${more}}`
      return c.body(text, 200, { 'content-type': 'application/json' })
    }
    if (!read.more) await relay.bell.next(rung, Math.min(lookEveryMs, leftMs))
  }
}

function hold(relay: Relay, c: Context, wish: Wish, streams: Streams): Response {
  if (streams.open >= maxStreams) {
    c.header('retry-after', '15')
    const detail = `${maxStreams} streams are open, the most at a time; close one, or poll with wait=`
    return problem(c, 429, 'too_many_streams', detail)
  }
  streams.open += 1
  const body = streamOf(relay, wish, () => {
    streams.open -= 1
  })
  const headers = { 'content-type': contentType, 'x-accel-buffering': 'no' }
  return c.body(body, 200, headers)
}

/** The reader asks for each chunk, so a slow one fills no memory. */
function streamOf(relay: Relay, wish: Wish, onEnd: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const endsAt = relay.now() + maxStreamMs
  let isFirst = true
  let isOver = false
  const end = () => {
    if (!isOver) onEnd()
    isOver = true
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const text = isFirst
          ? `retry: ${retryMs}\n${cursor(wish.after)}\n`
          : await nextChunk(relay, wish, endsAt, () => isOver)
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

/** The next moments, or a heartbeat. Undefined if the stream ends. */
async function nextChunk(
  relay: Relay,
  wish: Wish,
  endsAt: number,
  isOver: () => boolean,
): Promise<string | undefined> {
  const beatAt = Math.min(relay.now() + heartbeatMs, endsAt)
  while (!isOver() && !relay.bell.isClosed && relay.now() < endsAt) {
    const { rung } = relay.bell
    const { moments, next, more } = await readMoments(relay, wish.filter, wish.after, maxChunk)
    wish.after = next
    if (moments.length > 0) return moments.map(asServerSent).join('')
    const leftMs = beatAt - relay.now()
    if (leftMs <= 0) return `: heartbeat\n${cursor(next)}\n`
    if (!more) await relay.bell.next(rung, Math.min(lookEveryMs, leftMs))
  }
  return undefined
}

function asServerSent(moment: LoggedMoment): string {
  return `${cursor(moment.position)}data: ${bodyOf(moment)}\n\n`
}

/** A client remembers it also without data, so a filter does not make it read everything again. */
function cursor(after: number): string {
  return `id: ${after}\n`
}

function bodyOf({ id, telling }: LoggedMoment): string {
  return cloudEventBody(id, telling)
}
