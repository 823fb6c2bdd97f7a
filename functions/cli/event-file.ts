// Reads the event of a dry run from a file, as IMDS shows it or as beacons report it. Stricter than
// the beacon, which must accept all that Azure sends: here a person may have mistyped.
import * as z from 'zod'
import { parseDocument, type ScheduledEvent, scheduledEventSchema } from '../../shared/document.ts'
import { describeIssues } from '../../shared/errors.ts'
import { parseNotBefore } from '../../shared/not-before.ts'
import type { KnownVm } from '../core/event/sight.ts'
import { describeRemedy } from '../schema/checks.ts'
import { wrong } from './command.ts'

const eventId = 'dry-run'

interface FromFile {
  event: ScheduledEvent
  vms?: KnownVm[]
}

const forms =
  'write one entry of Events as IMDS shows it, such as { "EventType": "Reboot", "Resources": ["web_0"] }'

/** Throws FoghornError `arguments_wrong`. */
export function readEvent(text: string): FromFile {
  let json: unknown
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    throw wrong(`--event: the file is not JSON; ${forms}`)
  }
  if (typeof json !== 'object' || json === null)
    throw wrong(`--event: the file contains no JSON object; ${forms}`)
  if ('Events' in json) return { event: asImdsShows(theOnly(json.Events)) }
  if ('document' in json) return ofReport(json)
  if ('EventType' in json) return { event: asImdsShows(json) }
  if ('eventType' in json) return { event: asReported(json) }
  throw wrong(`--event: EventType is missing; ${forms}`)
}

const name = z.string().trim().min(1)
const imdsForm = z.looseObject({
  EventType: name,
  EventStatus: z
    .string()
    .regex(/^(scheduled|started)$/i, 'write "Scheduled" or "Started"')
    .optional(),
  Resources: z.array(name).optional(),
  NotBefore: z
    .string()
    .refine((text) => text.trim() === '' || parseNotBefore(text.trim()) !== undefined, {
      error: 'write a time such as "Sat, 21 Nov 2026 12:15:00 GMT"',
    })
    .optional(),
  DurationInSeconds: z.number().optional(),
  EventSource: z.string().optional(),
  Description: z.string().optional(),
})

function asImdsShows(event: object): ScheduledEvent {
  const { error } = imdsForm.safeParse(event, { error: describeRemedy })
  if (error !== undefined) throw wrong(`--event: ${describeIssues(error, event).join('; ')}`)
  const body = { Events: [{ EventId: eventId, EventStatus: 'Scheduled', ...event }] }
  const document = parseDocument(JSON.stringify(body), '2020-07-01')
  const first = typeof document === 'string' ? undefined : document.events[0]
  // all but the id was checked above
  if (first === undefined)
    throw wrong('--event: EventId is not an id of IMDS; leave it out, or write one')
  return first
}

function asReported(event: object): ScheduledEvent {
  const whole = { eventId, status: 'Scheduled', resources: [], ...event }
  const parsed = scheduledEventSchema.safeParse(whole, { error: describeRemedy })
  if (parsed.success) return parsed.data
  throw wrong(`--event: ${describeIssues(parsed.error, whole).join('; ')}`)
}

/** A report also has the facts about its VM that rules match. */
function ofReport(report: object): FromFile {
  const { document, vm } = report as { document?: { events?: unknown }; vm?: Partial<KnownVm> }
  const event = asReported(theOnly(document?.events))
  const { name, resourceGroup = '', scaleSet = '', tags = {} } = { name: '', ...vm }
  return { event, vms: name === '' ? [] : [{ vm: name, resourceGroup, scaleSet, tags }] }
}

function theOnly(events: unknown): object {
  const all = Array.isArray(events) ? events : []
  const [first] = all
  if (all.length === 1 && typeof first === 'object' && first !== null) return first
  throw wrong(`--event: the document has ${all.length} events, but a dry run takes one; ${forms}`)
}
