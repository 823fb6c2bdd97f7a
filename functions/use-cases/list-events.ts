// Reads one event, or a page of them for the API, newest first. A page ends after a number of events or of
// bytes. The cursor is exact: events that were first seen in one millisecond may be on two pages.
import * as z from 'zod'
import { documentedTypes } from '../../shared/document.ts'
import { parseJson } from '../../shared/json.ts'
import { type Delivery, isSink } from '../core/delivery/delivery.ts'
import { type EventRecord, phases } from '../core/event/event.ts'
import { describeExtent, maxAnswerVmBytes } from '../core/event/hit-vms.ts'
import { listPublicSights, type PublicSight, publicView } from '../core/event/public-view.ts'
import { type EventView, toView } from '../core/event/view.ts'
import { maxOpenOfFleet } from '../core/limits.ts'
import { matchEvent } from '../core/rules/match.ts'
import { fromBase64Url, toBase64Url } from '../links/link.ts'
import { listChoices, wholeNumber } from '../schema/checks.ts'
import type { EventKey } from '../store/store.ts'
import type { Relay } from './relay.ts'

const maxPage = 200
const usualPage = 50
/** Bytes of the events of one page, as JSON. One event may have 40 kB of names. */
const maxPageBytes = 2_000_000
/** Records that are read at once: a record may have 400 kB. The store adds all others of the last one's time. */
const maxRead = 25
/** Records that one request searches for those that match. Then its page ends, even if it is empty. */
const maxSearched = 2_000

/** Longer than the name of a VM may be in Azure. */
const maxGlob = 100

const timeRule = 'write a time such as the firstSeenAt of an event, 2026-11-21T12:00:00Z'
const time = (about: string) =>
  z
    .union([z.iso.datetime({ offset: true }), z.iso.date()], timeRule)
    .optional()
    .describe(about)

export const pageQuery = z
  .strictObject({
    fleet: z.string().optional().describe('Only events of this fleet.'),
    vm: z
      .string()
      .min(1)
      .max(maxGlob)
      .optional()
      .describe('Only events that affect a VM with such a name: `web_*`.'),
    phase: listChoices(phases).optional().describe('Only events in this phase.'),
    type: listChoices(documentedTypes).optional().describe('Only events of this type.'),
    open: z
      .literal('true', 'write open=true, or leave it out')
      .optional()
      .describe(
        'Only open events: first those that nobody has decided, each group by NotBefore. They are one page ' +
          'without a cursor: leave out `since`, `until` and `cursor`.',
      ),
    since: time('Only events that were first seen at this time or later.'),
    until: time('Only events that were first seen before this time.'),
    limit: wholeNumber(1, maxPage)
      .optional()
      .describe(
        `At most so many events, ${usualPage} if absent. ` +
          `A page with more than ${maxPageBytes / 1_000_000} MB ends earlier.`,
      ),
    cursor: z
      .string()
      .refine((text) => readCursor(text) !== undefined, 'write the cursor of the page before')
      .optional()
      .describe('The `cursor` of the page before.'),
  })
  .refine(
    ({ open, since, until, cursor }) =>
      open === undefined || (since ?? until ?? cursor) === undefined,
    'with open=true, leave out since, until and cursor',
  )

/** Where a page ends. */
type Cursor = Pick<EventRecord, 'firstSeenAt' | 'fleet' | 'eventId'>

interface EventPage {
  /** Each as JSON. */
  events: string[]
  /** There are more. */
  more: boolean
  /** The cursor of the next page. Absent for open events, and if there is none. */
  cursor?: string
}

/** Without a fleet in the query, the page has the events of `fleets`, or of all fleets. */
export async function readPage(
  relay: Relay,
  { fleet, open, since, until, limit = usualPage, cursor, ...filter }: z.output<typeof pageQuery>,
  fleets?: string[],
): Promise<EventPage> {
  if (open !== undefined) return readOpen(relay, fleet, filter, limit, fleets)
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const wanted = fleet === undefined ? fleets : [fleet]
  const isFiltered = Object.keys(filter).length > 0
  const count = isFiltered ? maxSearched + 1 : limit + 1
  const range = { since: parseMs(since), until: parseMs(until), after, count }
  return fillPage(readRecords(relay, wanted, range), filter, limit)
}

async function readOpen(
  { store, config }: Relay,
  fleet: string | undefined,
  filter: Filter,
  limit: number,
  fleets = Object.keys(config.fleets),
): Promise<EventPage> {
  const events: string[] = []
  let bytes = 0
  let more = false
  const wanted = fleet === undefined ? fleets : [fleet]
  const isFiltered = Object.keys(filter).length > 0
  const most = isFiltered ? wanted.length * maxOpenOfFleet : limit + 1
  // each becomes text at once: a record may have 400 kB
  await store.listOpen(wanted, most, (record) => {
    if (more || !passes(record, filter)) return false
    const found = JSON.stringify(publicView(toView(record)))
    bytes += new TextEncoder().encode(found).length
    const isFull = events.length >= limit || (events.length > 0 && bytes > maxPageBytes)
    if (isFull) more = true
    else events.push(found)
    return false
  })
  return { events, more }
}

function parseMs(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time)
}

type Filter = Pick<z.output<typeof pageQuery>, 'vm' | 'phase' | 'type'>

function passes({ fleet, phase, facts }: EventRecord, filter: Filter): boolean {
  const { vm, type } = filter
  const match = {
    ...(type !== undefined && { eventType: [type] }),
    ...(vm !== undefined && { resource: [vm] }),
  }
  const isInPhase = filter.phase === undefined || filter.phase === phase
  return isInPhase && matchEvent(match, fleet, facts, []) !== 'none'
}

/** The first event is on the page whatever its size. */
async function fillPage(
  records: AsyncIterable<EventRecord>,
  filter: Filter,
  limit: number,
): Promise<EventPage> {
  const events: string[] = []
  let last: EventRecord | undefined
  let bytes = 0
  let searched = 0
  for await (const record of records) {
    const found = passes(record, filter) ? JSON.stringify(publicView(toView(record))) : undefined
    if (found !== undefined) bytes += new TextEncoder().encode(found).length
    const isFull = events.length >= limit || (events.length > 0 && bytes > maxPageBytes)
    searched += 1
    if (last !== undefined && ((found !== undefined && isFull) || searched > maxSearched)) {
      return { events, more: true, cursor: writeCursor(last) }
    }
    if (found !== undefined) events.push(found)
    last = record
  }
  return { events, more: false }
}

interface Range {
  since: number | undefined
  until: number | undefined
  after: Cursor | undefined
  count: number
}

/** Reads records in the order of the list, at least `count` if there are that many. */
async function* readRecords(
  relay: Relay,
  fleets: string[] | undefined,
  { since = 0, until = Number.MAX_SAFE_INTEGER, after, count }: Range,
): AsyncGenerator<EventRecord> {
  // others of that millisecond may follow
  let to = after === undefined ? until : Math.min(until, after.firstSeenAt + 1)
  for (let left = count; left > 0; ) {
    const page = { fleets, before: to, limit: Math.min(maxRead, left) }
    if (left < count) await relay.host.pause()
    const records = await relay.store.listEvents(page)
    for (const record of records.sort(inOrder)) {
      if (record.firstSeenAt < since) return
      if (after !== undefined && inOrder(after, record) >= 0) continue
      yield record
      left--
    }
    if (records.length < page.limit) return
    to = records.at(-1)!.firstSeenAt
  }
}

function inOrder(a: Cursor, b: Cursor): number {
  if (a.firstSeenAt !== b.firstSeenAt) return b.firstSeenAt - a.firstSeenAt
  if (a.fleet !== b.fleet) return a.fleet < b.fleet ? -1 : 1
  return a.eventId === b.eventId ? 0 : a.eventId < b.eventId ? -1 : 1
}

const cursorSchema = z.tuple([z.int(), z.string(), z.string()])

function writeCursor({ firstSeenAt, fleet, eventId }: Cursor): string {
  return toBase64Url(new TextEncoder().encode(JSON.stringify([firstSeenAt, fleet, eventId])))
}

function readCursor(cursor: string): Cursor | undefined {
  const bytes = fromBase64Url(cursor)
  const read = cursorSchema.safeParse(bytes && parseJson(new TextDecoder().decode(bytes)))
  if (!read.success) return undefined
  const [firstSeenAt, fleet, eventId] = read.data
  return { firstSeenAt, fleet, eventId }
}

interface WholeRecord {
  record: EventRecord
  /** The event with its extent. */
  view: EventView
  deliveries: Delivery[]
  seenBy: PublicSight[]
}

/** Undefined if there is no such event. Ids are stored in lower case. `isWhole`: with what sinks got. */
export async function readRecord(
  relay: Relay,
  { fleet, eventId }: EventKey,
  isWhole: boolean,
): Promise<WholeRecord | undefined> {
  const key = { fleet, eventId: eventId.toLowerCase() }
  const record = await relay.store.readEvent(key)
  if (record === undefined) return undefined
  const all = await relay.store.readDeliveries(key)
  const deliveries = isWhole ? all : all.filter(({ channel }) => !isSink(channel))
  const listening = { now: relay.now(), listeningSince: relay.listeningSince }
  const { vms = [], ...spared } = describeExtent(record, listening, maxAnswerVmBytes)
  const view = { ...toView(record), ...spared, vms }
  return { record, view, deliveries, seenBy: listPublicSights(record) }
}
