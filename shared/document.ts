// One canonical form of a Scheduled Events document, read from every api-version there has been.
// Lenient on purpose: a field that is missing, empty or odd must not hide an event from people.
import { z } from 'zod'
import { listOf } from './bounded.ts'

/** Newest first; the first is asked for, and a 400 falls back to the next. */
export const apiVersions = [
  '2020-07-01',
  '2019-08-01',
  '2019-04-01',
  '2019-01-01',
  '2017-11-01',
  '2017-08-01',
  '2017-03-01',
] as const

export type ApiVersion = (typeof apiVersions)[number]

export const eventTypes = ['Freeze', 'Reboot', 'Redeploy', 'Preempt', 'Terminate'] as const

/** Scheduled and Started are all that Azure documents; anything else is shown, and never approved. */
export type EventStatus = 'Scheduled' | 'Started' | 'Unknown'

/** Limits of what is kept of one event; longer values are cut, never refused. */
export const limits = { text: 4_000, name: 256, resources: 1_000, events: 500 }

const name = z.string().max(limits.name)

/** One Scheduled Event in canonical form. Absent means that the document did not say. */
export const scheduledEventSchema = z.object({
  /** Lower case: Azure sends either case. */
  eventId: z.string().min(1).max(limits.name).toLowerCase(),
  /** One of `eventTypes`, or whatever Azure invents next. */
  eventType: name.min(1),
  status: z.enum(['Scheduled', 'Started', 'Unknown']),
  /** `compute.name` of each VM hit, without the preview's underscore. */
  resources: listOf(name.min(1), limits.resources),
  /** Epoch ms. */
  notBeforeAt: z.int().optional(),
  description: z.string().max(limits.text).optional(),
  /** `Platform` or `User`. */
  source: name.optional(),
  /** Expected interruption; 0 none, -1 "Azure does not know". */
  durationSeconds: z.number().optional(),
})
export type ScheduledEvent = z.infer<typeof scheduledEventSchema>

export interface EventsDocument {
  /** Compare with `!=`, on one VM only. */
  incarnation?: number
  events: ScheduledEvent[]
  /** What was odd, one sentence each, for the log. */
  oddities: string[]
}

/** Without `optional` a missing key would refuse the whole document. */
const rawValue = z.unknown().optional()
const rawText = rawValue.transform((value) => (typeof value === 'string' ? value.trim() : ''))
const rawNumber = rawValue.transform((value) => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
})

const rawEvent = z.object({
  EventId: z.string().trim().min(1),
  EventType: rawText,
  EventStatus: rawText,
  Resources: rawValue,
  NotBefore: rawText,
  Description: rawText,
  EventSource: rawText,
  DurationInSeconds: rawNumber,
})

const rawDocument = z.object({
  DocumentIncarnation: rawNumber,
  Events: z.array(z.unknown()).max(limits.events),
})

/**
 * Reads the text of a document. An empty body, text that is no JSON, a value without `Events`, or an
 * event without an id is a failed poll, said as a sentence: it must never pass for "no events".
 */
export function parseDocument(text: string, apiVersion: ApiVersion): EventsDocument | string {
  if (text.trim() === '') return 'the body is empty'
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return `the body is not JSON: ${cut(text, 60)}`
  }
  const document = rawDocument.safeParse(json)
  if (!document.success) return `no document with an Events array: ${cut(text, 60)}`
  const oddities: string[] = []
  const events: ScheduledEvent[] = []
  for (const value of document.data.Events) {
    const event = parseEvent(value, apiVersion, oddities)
    if (event === undefined) return `an event without an EventId: ${cut(JSON.stringify(value), 60)}`
    if (!events.some((known) => known.eventId === event.eventId)) events.push(event)
  }
  const incarnation = document.data.DocumentIncarnation
  return { ...(incarnation === undefined ? {} : { incarnation }), events, oddities }
}

/**
 * Epoch ms of `Mon, 19 Sep 2016 18:29:47 GMT` or an ISO 8601 time (UTC where it names no zone). The
 * weekday is ignored: Microsoft's own examples have wrong ones, and some parsers would refuse them.
 */
export function parseNotBefore(text: string): number | undefined {
  const rfc = /^(?:[a-z]+,\s*)?(\d{1,2} [a-z]{3} \d{4} \d{2}:\d{2}:\d{2}) (?:GMT|UTC)$/i.exec(text)
  const iso = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$/i.exec(text)
  if (rfc === null && iso === null) return undefined
  const at = Date.parse(rfc ? `${rfc[1]} GMT` : iso?.[3] === undefined ? `${text}Z` : text)
  return Number.isNaN(at) ? undefined : at
}

function parseEvent(
  value: unknown,
  apiVersion: ApiVersion,
  oddities: string[],
): ScheduledEvent | undefined {
  const raw = rawEvent.safeParse(value)
  if (!raw.success) return undefined
  const { data } = raw
  const notBeforeAt = parseNotBefore(data.NotBefore)
  const status = statusOf(data.EventStatus)
  const eventId = cut(data.EventId.toLowerCase(), limits.name)
  const odd = (what: string) => oddities.push(`event ${eventId}: ${what}`)
  if (status === 'Unknown') odd(`unknown EventStatus "${cut(data.EventStatus, 60)}"`)
  if (data.NotBefore !== '' && notBeforeAt === undefined) {
    odd(`NotBefore "${cut(data.NotBefore, 60)}" is no date`)
  }
  return {
    eventId,
    eventType: typeOf(data.EventType),
    status,
    resources: resourcesOf(data.Resources, apiVersion),
    ...(notBeforeAt === undefined ? {} : { notBeforeAt }),
    ...(data.Description === '' ? {} : { description: cut(data.Description, limits.text) }),
    ...(data.EventSource === '' ? {} : { source: cut(data.EventSource, limits.name) }),
    ...(data.DurationInSeconds === undefined ? {} : { durationSeconds: data.DurationInSeconds }),
  }
}

function statusOf(text: string): EventStatus {
  const lower = text.toLowerCase()
  return lower === 'scheduled' ? 'Scheduled' : lower === 'started' ? 'Started' : 'Unknown'
}

function typeOf(text: string): string {
  const known = eventTypes.find((type) => type.toLowerCase() === text.toLowerCase())
  return known ?? (cut(text, limits.name) || 'Unknown')
}

function resourcesOf(value: unknown, apiVersion: ApiVersion): string[] {
  const names = Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
  const trimmed = names.map((item) => item.trim()).filter((item) => item !== '')
  const plain = trimmed.map((item) => (apiVersion === '2017-03-01' ? item.replace(/^_/, '') : item))
  return [...new Set(plain.map((item) => cut(item, limits.name)))].slice(0, limits.resources)
}

/** Cut to `length` UTF-16 units without splitting a character, with a visible `…`. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text
  const end = /[\uD800-\uDBFF]/.test(text[length - 2] ?? '') ? length - 2 : length - 1
  return `${text.slice(0, end)}…`
}
