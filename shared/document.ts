// One canonical form of a Scheduled Events document, read from every api-version there has been.
// Lenient on purpose: a field that is missing, empty or odd must not hide an event from people.
import * as z from 'zod/mini'
import { readList } from './bounded.ts'
import { parseNotBefore, plausible } from './not-before.ts'
import { cut } from './text.ts'

/**
 * A preview of Azure's, with events of `adviceType`. Where it is not rolled out, it answers 404, which says
 * nothing about the other versions.
 */
export const previewVersion = '2024-07-09'

/** Generally available, newest first. */
export const apiVersions = [
  '2020-07-01',
  '2019-08-01',
  '2019-04-01',
  '2019-01-01',
  '2017-11-01',
  '2017-08-01',
  '2017-03-01',
] as const

export type ApiVersion = (typeof apiVersions)[number] | typeof previewVersion

export const eventTypes = ['Freeze', 'Reboot', 'Redeploy', 'Preempt', 'Terminate'] as const

/** Advice: Azure may reclaim a Spot VM soon, or never. Acknowledging it has no effect. */
export const adviceType = 'SpotRebalanceRecommendation'

/** All types that Azure documents. */
export const documentedTypes = [...eventTypes, adviceType] as const

/** Documents of older versions omit events of these types. */
const typeSince: Record<string, ApiVersion> = {
  Preempt: '2017-11-01',
  Terminate: '2019-01-01',
  [adviceType]: previewVersion,
}

const sources = ['Platform', 'User']

/** The documented type that the text names, in either case. */
export function knownType(text: string): (typeof documentedTypes)[number] | undefined {
  return documentedTypes.find((type) => isSameName(type, text))
}

/** Nothing happens to the VM, so there is nothing to decide. */
export function isAdvice({ eventType }: Pick<ScheduledEvent, 'eventType'>): boolean {
  return eventType === adviceType
}

/** Azure compares names without regard to case. */
export function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/**
 * Scheduled and Started are all that Azure documents; anything else is shown, and never approved.
 */
type EventStatus = 'Scheduled' | 'Started' | 'Unknown'

/** Limits of what is kept of one event; longer values are cut, never refused. */
export const limits = { text: 4_000, name: 256, resources: 1_000, events: 500 }
/** How much of unreadable entries is kept, for the log and to tell new entries from old ones. */
const maxSamples = 50
const maxSample = 200
/** The type of an event whose document names none. */
export const unknownType = 'Unknown'
/** If two entries of one event differ, the first of these statuses counts. */
const ranks = ['Started', 'Scheduled', 'Unknown'] as const

/** The prefix of drill ids. A drill is the relay's own event; Azure's ids are GUIDs. */
export const drillPrefix = 'drill-'
/** The prefix of alert ids. An alert is about the relay itself. */
export const alertPrefix = 'alert-'
/** The prefix of the ids of test events, which are made up for one message. */
export const testPrefix = 'test-'
/** No id of IMDS has one of these prefixes. */
export const ownPrefixes = [drillPrefix, alertPrefix, testPrefix]

/** No interruption of a VM takes longer: a larger value is not known. */
const longestSeconds = 30 * 86_400

function plausibleDuration(seconds: number | undefined): number | undefined {
  if (seconds === undefined || seconds < -1 || seconds > longestSeconds) return undefined
  return seconds
}

const name = z.string().check(z.maxLength(limits.name))

/** No address can have them as a part of its path, so such an event could not be opened. */
const dotSegments = ['.', '..']

/** Lower case: Azure sends either case. */
export const eventIdSchema = z.string().check(
  z.minLength(1),
  z.maxLength(limits.name),
  z.toLowerCase(),
  z.refine((id) => !dotSegments.includes(id)),
)

/** Only for JSON Schema. A check of the whole report refuses ids of the relay's own. */
const notOurs = `^(?!${ownPrefixes.map(inEitherCase).join('|')})`

function inEitherCase(text: string): string {
  return text.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`)
}

/** One Scheduled Event in canonical form. Absent means that the document did not say. */
export const scheduledEventSchema = z.object({
  eventId: eventIdSchema.check(z.meta({ pattern: notOurs })),
  /** One of `documentedTypes`, or whatever Azure invents next. */
  eventType: name.check(z.minLength(1)),
  status: z.enum(['Scheduled', 'Started', 'Unknown']),
  /** `compute.name` of each VM hit, without the preview's underscore. */
  resources: readList(name.check(z.minLength(1)), limits.resources),
  /** Epoch ms. An impossible date is dropped: older beacons send .NET's placeholders. */
  notBeforeAt: z.optional(z.pipe(z.number(), z.transform(plausible))),
  description: z.optional(z.string().check(z.maxLength(limits.text))),
  /** One of `sources`, or whatever Azure invents next. */
  source: z.optional(name),
  /** Expected interruption; 0 none, -1 "Azure does not know". */
  durationSeconds: z.optional(
    z.pipe(
      z.number(),
      z.transform((seconds: number) => plausibleDuration(seconds)),
    ),
  ),
})
export type ScheduledEvent = z.infer<typeof scheduledEventSchema>

/** Entries of `Events` that cannot be read, or that exceed `limits.events`. */
export interface Unreadable {
  count: number
  /** How the texts of the first entries begin. */
  samples: string[]
}

export interface EventsDocument {
  /** Compare with `!=`, on one VM only. */
  incarnation?: number
  events: ScheduledEvent[]
  unreadable: Unreadable
  /** What was odd, one sentence each, for the log. */
  oddities: string[]
}

/** Without `optional` a missing key would refuse the whole document. */
const rawValue = z.optional(z.unknown())
const rawText = z.pipe(
  rawValue,
  z.transform((value) => (typeof value === 'string' ? value.trim() : '')),
)
const rawNumber = z.pipe(
  rawValue,
  z.transform((value) => {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    return typeof number === 'number' && Number.isFinite(number) ? number : undefined
  }),
)

const rawEvent = z.object({
  EventId: z.string().check(
    z.trim(),
    z.minLength(1),
    z.refine((id) => !ownPrefixes.some((prefix) => id.toLowerCase().startsWith(prefix))),
    z.refine((id) => !dotSegments.includes(id)),
  ),
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
  Events: z.array(z.unknown()),
})

/**
 * Reads the text of a document. An empty body, invalid JSON, or a value without `Events` is a
 * failed poll, returned as a sentence: it must never pass for "no events". An unreadable entry is
 * counted, and the others are read. If there are more than `limits.events`, those that hit `vmName`
 * come first.
 */
export function parseDocument(
  text: string,
  apiVersion: ApiVersion,
  vmName?: string,
): EventsDocument | string {
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
  const unreadable: Unreadable = { count: 0, samples: [] }
  const events = new Map<string, ScheduledEvent>()
  for (const value of document.data.Events) {
    const event = parseEvent(value, apiVersion, oddities)
    if (event === undefined) count(unreadable, () => toText(value))
    else events.set(event.eventId, joined(events.get(event.eventId), event))
  }
  const incarnation = document.data.DocumentIncarnation
  return {
    ...(incarnation === undefined ? {} : { incarnation }),
    events: first([...events.values()], vmName, unreadable),
    unreadable,
    oddities,
  }
}

/** Whether the event hits the VM. Whole names are compared: `vm1` is not `vm10`. */
export function hits({ resources }: Pick<ScheduledEvent, 'resources'>, vmName: string): boolean {
  const wanted = vmName.toLowerCase()
  if (resources.length > few) return lowerNames(resources).has(wanted)
  return resources.some((resource) => resource.toLowerCase() === wanted)
}

/** So many names are compared as fast as they are looked up. */
const few = 8
/** The names of longer lists, which nobody changes. */
const known = new WeakMap<readonly string[], Set<string>>()

function lowerNames(names: readonly string[]): Set<string> {
  const lower = known.get(names) ?? new Set(names.map((name) => name.toLowerCase()))
  known.set(names, lower)
  return lower
}

/** Sorts the events: those that hit the VM come first, then the others. */
export function hitsFirst(events: readonly ScheduledEvent[], vmName: string): ScheduledEvent[] {
  const isHit = (event: ScheduledEvent) => hits(event, vmName)
  return [...events.filter(isHit), ...events.filter((event) => !isHit(event))]
}

/** Whether documents of this version can show events of this type. */
export function shows(apiVersion: ApiVersion, eventType: string): boolean {
  return apiVersion >= (typeSince[eventType] ?? apiVersion)
}

function count(unreadable: Unreadable, describe: () => string): void {
  unreadable.count += 1
  if (unreadable.samples.length < maxSamples) unreadable.samples.push(cut(describe(), maxSample))
}

/** JSON.stringify can overflow the stack on a value that JSON.parse accepted. */
function toText(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return 'a value of too many levels'
  }
}

/** Merges two entries with the same id: all VMs, and for each other value the first known one. */
function joined(one: ScheduledEvent | undefined, other: ScheduledEvent): ScheduledEvent {
  if (one === undefined) return other
  const known = new Set(one.resources.map((resource) => resource.toLowerCase()))
  const more = other.resources.filter((resource) => !known.has(resource.toLowerCase()))
  const statuses = [one.status, other.status]
  return {
    ...other,
    ...one,
    eventType: one.eventType === unknownType ? other.eventType : one.eventType,
    status: ranks.find((status) => statuses.includes(status)) ?? one.status,
    resources: [...one.resources, ...more].slice(0, limits.resources),
  }
}

/** Keeps as many events as a report holds. If there are more, those that hit the VM come first. */
function first(
  events: ScheduledEvent[],
  vmName: string | undefined,
  unreadable: Unreadable,
): ScheduledEvent[] {
  if (events.length <= limits.events) return events
  const sorted = vmName === undefined ? events : hitsFirst(events, vmName)
  for (const { eventId } of sorted.slice(limits.events)) {
    count(unreadable, () => `event ${eventId}, beyond the first ${limits.events}`)
  }
  return sorted.slice(0, limits.events)
}

/** One event by itself. Undefined if it has no usable id. */
export function readEvent(value: unknown): ScheduledEvent | undefined {
  return parseEvent(value, apiVersions[0], [])
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
  const durationSeconds = plausibleDuration(data.DurationInSeconds)
  const status = readStatus(data.EventStatus)
  const eventId = cut(data.EventId.toLowerCase(), limits.name)
  const odd = (what: string) => oddities.push(`event ${eventId}: ${what}`)
  if (status === 'Unknown') odd(`unknown EventStatus "${cut(data.EventStatus, 60)}"`)
  if (data.NotBefore !== '' && notBeforeAt === undefined) {
    odd(`NotBefore "${cut(data.NotBefore, 60)}" is no date`)
  }
  if (data.DurationInSeconds !== undefined && durationSeconds === undefined) {
    odd(`DurationInSeconds ${data.DurationInSeconds} is no duration`)
  }
  return {
    eventId,
    eventType: readType(data.EventType),
    status,
    resources: readResources(data.Resources, apiVersion),
    ...(notBeforeAt === undefined ? {} : { notBeforeAt }),
    ...(data.Description === '' ? {} : { description: cut(data.Description, limits.text) }),
    ...(data.EventSource === '' ? {} : { source: readSource(data.EventSource) }),
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
  }
}

function readStatus(text: string): EventStatus {
  const lower = text.toLowerCase()
  return lower === 'scheduled' ? 'Scheduled' : lower === 'started' ? 'Started' : 'Unknown'
}

function readType(text: string): string {
  return knownType(text) ?? (cut(text, limits.name) || unknownType)
}

function readSource(text: string): string {
  return sources.find((source) => isSameName(source, text)) ?? cut(text, limits.name)
}

function readResources(value: unknown, apiVersion: ApiVersion): string[] {
  const names = Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
  const trimmed = names.map((item) => item.trim())
  const plain = trimmed
    .map((item) => (apiVersion === '2017-03-01' ? item.replace(/^_/, '') : item))
    .filter((item) => item !== '')
  return [...new Set(plain.map((item) => cut(item, limits.name)))].slice(0, limits.resources)
}
