// `/console/events`: the search, its downloads, and one event with all its steps and messages.

import type { Context } from 'hono'
import * as z from 'zod'
import { iso } from '../../../shared/json.ts'
import { visible } from '../../../shared/presentable.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { publicDelivery } from '../../core/event/public-view.ts'
import { type EventSummary, endedSteps, openSteps, steps } from '../../core/event/summary.ts'
import { drillMark } from '../../core/message/message.ts'
import { describeSubject } from '../../core/message/phrases.ts'
import { isBound, may, seesFleet } from '../../core/rules/access.ts'
import { dayMs } from '../../core/units.ts'
import { eventBody } from '../../pages/console/event.ts'
import { type HistoryFilter, historyBody } from '../../pages/console/history.ts'
import { listChoices } from '../../schema/checks.ts'
import type { EventSearch } from '../../store/store.ts'
import { readRecord } from '../../use-cases/list-events.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { tokenFor } from '../api/console-form.ts'
import type { Pressed } from '../decision-answers.ts'
import type { Door } from '../door.ts'
import { readQuery } from '../query.ts'
import { answerMessage, answerPage, buildBase, refuse, wrongAddress } from './answer.ts'
import { decideByForm, mayDecide, seenIn } from './decide.ts'
import type { Snapshots } from './snapshot.ts'
import type { Visitor } from './visitor.ts'

const pageSize = 50
const refreshSeconds = 10
const maxText = 200

const day = z.union([z.literal(''), z.iso.date()], 'write a day such as 2026-11-21').optional()
const text = z.string().max(maxText).optional()
const historyQuery = z.strictObject({
  fleet: text,
  q: text,
  type: text,
  /** Left out or empty: those that ended. */
  step: z.union([z.literal(['', 'all', 'not_over']), listChoices(steps)]).optional(),
  since: day,
  until: day,
  after: text,
})

interface Found {
  filter: HistoryFilter
  after: string | undefined
  events: EventSummary[]
  next?: string
  partial?: true
}

function chooseSteps(step: Exclude<z.output<typeof historyQuery>['step'], 'all' | undefined>) {
  if (step === '') return endedSteps
  return step === 'not_over' ? openSteps : [step]
}

/** `refusal`: the address is wrong, and this is the answer. */
async function find(
  relay: Relay,
  c: Context,
  visitor: Visitor,
): Promise<Found | { refusal: string }> {
  const read = readQuery(c, historyQuery)
  if ('refusal' in read) return read
  const { fleet = '', q = '', type = '', step = '', since = '', until = '', after } = read.query
  const filter = { fleet, q: q.trim(), type, step, since, until }
  const search: EventSearch = {
    // a fleet that does not exist for the visitor has no events
    fleets: fleet === '' ? visitor.fleets : visitor.fleets.filter((one) => one === fleet),
    limit: pageSize,
    ...(q.trim() !== '' && { prefix: q.trim() }),
    ...(type !== '' && { eventType: type }),
    ...(step !== 'all' && { steps: chooseSteps(step) }),
    ...(since !== '' && { since: Date.parse(since) }),
    ...(until !== '' && { until: Date.parse(until) + dayMs }),
    ...(after && { after }),
  }
  return { filter, after: after || undefined, ...(await relay.store.findEvents(search)) }
}

export async function showHistory(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  const found = await find(relay, c, visitor)
  if ('refusal' in found) return wrongAddress(relay, c, visitor, found.refusal)
  const { after, next, ...rest } = found
  const body = historyBody({
    base: buildBase(relay),
    fleets: visitor.fleets,
    ...rest,
    ...(after === undefined ? {} : { after }),
    ...(next === undefined ? {} : { next }),
  })
  return answerPage(relay, c, visitor, { title: 'History', tab: 'history', body })
}

/** What the page shows, as a file. */
export async function download(
  relay: Relay,
  c: Context,
  visitor: Visitor,
  kind: 'csv' | 'json',
): Promise<Response> {
  const found = await find(relay, c, visitor)
  if ('refusal' in found) return wrongAddress(relay, c, visitor, found.refusal)
  const rows = found.events.map(toRow)
  const headers = {
    'content-disposition': `attachment; filename="foghorn-events.${kind}"`,
    'content-type': kind === 'csv' ? 'text/csv; charset=utf-8' : 'application/json',
  }
  const json = { events: rows, ...(found.next === undefined ? {} : { next: found.next }) }
  return c.body(kind === 'csv' ? composeCsv(rows) : JSON.stringify(json), 200, headers)
}

type Cell = string | number | boolean | string[] | null
type Row = Record<(typeof columns)[number], Cell>

const columns = [
  'fleet',
  'eventId',
  'eventType',
  'state',
  'inferred',
  'drill',
  'vmCount',
  'vms',
  'firstSeenAt',
  'notBefore',
  'startedAt',
  'endedAt',
  'decidedAt',
  'decidedBy',
] as const

function toRow(event: EventSummary): Row {
  const { fleet, eventId, eventType, step, vms, vmCount } = event
  return {
    fleet,
    eventId,
    eventType,
    state: step,
    inferred: event.inferred === true,
    drill: event.drill === true,
    vmCount,
    vms,
    firstSeenAt: iso(event.firstSeenAt),
    notBefore: iso(event.notBeforeAt) ?? null,
    startedAt: iso(event.startedAt) ?? null,
    endedAt: iso(event.endedAt) ?? null,
    decidedAt: iso(event.decidedAt) ?? null,
    decidedBy: event.decidedHow ?? null,
  }
}

function composeCsv(rows: Row[]): string {
  const lines = rows.map((row) => columns.map((name) => cell(row[name])).join(','))
  return `${[columns.join(','), ...lines].join('\r\n')}\r\n`
}

/**
 * A spreadsheet would run a text that begins like a formula, also after what it takes for a separator or
 * a quote, and with the signs of full width.
 */
function cell(value: Cell): string {
  const whole = visible(inWords(value))
  const safe = whole.replace(/(^|[;,|\t"])(?=\s*[=+\-@＝＋－＠])/g, "$1'")
  return `"${safe.replaceAll('"', '""')}"`
}

function inWords(value: Cell): string {
  if (Array.isArray(value)) return value.join(' ')
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return String(value ?? '')
}

export function showEvent(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  const key = { fleet: c.req.param('fleet')!, eventId: c.req.param('eventId')! }
  return show(relay, c, visitor, key)
}

/** Answers the form of an event's page with that page. */
export async function decideEventPage(
  relay: Relay,
  snapshots: Snapshots,
  eventDoor: Door,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const done = await decideByForm(relay, eventDoor, c, visitor)
  snapshots.drop()
  if (done.outcome !== 'answered') return refuse(relay, c, visitor, done.outcome)
  const [pressed] = done.pressed as [Pressed]
  return show(relay, c, visitor, pressed.record, pressed)
}

async function show(
  relay: Relay,
  c: Context,
  visitor: Visitor,
  key: Pick<EventRecord, 'fleet' | 'eventId'>,
  pressed?: Pressed,
): Promise<Response> {
  // an event of a fleet that left the configuration can still be read
  const isOwn = seesFleet(visitor.access, key.fleet)
  const whole = isOwn ? await readRecord(relay, key, !isBound(visitor.access)) : undefined
  if (whole === undefined) {
    const text = 'The relay has no such event. It removes events some time after their end.'
    return answerMessage(relay, c, visitor, { status: 404, title: 'Unknown event', text })
  }
  const { record, seenBy } = whole
  const seen = await seenIn(relay, c, visitor, record, pressed !== undefined)
  const replays = may(visitor.access, 'manage')
  const notice = c.req.query('said')
  const body = eventBody(
    {
      base: buildBase(relay),
      seen: { ...seen, ...pressed?.answer },
      deliveries: whole.deliveries.map(publicDelivery),
      seenBy,
      decides: mayDecide(visitor),
      ...(replays ? { replay: await tokenFor(relay, c, 'send') } : {}),
      ...(notice === undefined ? {} : { notice }),
    },
    relay.now(),
  )
  const title = drillMark(record) + describeSubject(record)
  const isOpen = record.ended === undefined
  const live = isOpen ? { refreshSeconds } : {}
  const tab = isOpen ? 'now' : 'history'
  return answerPage(relay, c, visitor, {
    title,
    tab,
    body,
    status: pressed?.status ?? 200,
    ...live,
  })
}
