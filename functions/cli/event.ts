// The event of a dry run, from a file, from options, or from both: what an option says goes before.
import {
  eventTypes,
  parseDocument,
  type ScheduledEvent,
  scheduledEventSchema,
} from '../../shared/document.ts'
import { describeIssues } from '../../shared/errors.ts'
import { didYouMean } from '../config/suggest.ts'
import type { KnownVm } from '../core/event.ts'
import { usualNoticeOf } from '../core/notice.ts'
import type { Case } from '../dry-run.ts'
import { type Options, wrong } from './arguments.ts'

/** Seconds ahead that an event of a type is announced that nobody knows. */
const noticeOfUnknown = 900
const maxNoticeSeconds = 7 * 86_400
const eventId = 'dry-run'

/** The case, and what was assumed where nothing was said, one sentence each. */
export function caseOf(
  options: Options,
  file: string | undefined,
  fleets: string[],
): { case: Case; notes: string[] } {
  const read = file === undefined ? undefined : readEvent(file)
  const type = options.type ?? read?.event.eventType
  const types = eventTypes.join(', ')
  if (!type) throw wrong(`the event has no type; write --type and one of ${types}`)
  const known = eventTypes.find((one) => one.toLowerCase() === type.toLowerCase())
  const source = options.source ?? (read === undefined ? 'Platform' : read.event.source)
  const seconds = numberOf('--duration', options.duration, -1) ?? read?.event.durationSeconds
  const names = options.resource?.flatMap((text) => text.split(',').map((name) => name.trim()))
  const event: ScheduledEvent = {
    eventId,
    status: read?.event.status ?? 'Scheduled',
    eventType: known ?? type,
    resources: names ?? read?.event.resources ?? [],
    ...(source && { source }),
    ...(seconds !== undefined && { durationSeconds: seconds }),
    ...(read?.event.description && { description: read.event.description }),
  }
  const vms = vmsOf(options, event.resources) ?? read?.vms ?? []
  const usual = usualNoticeOf(type) ?? noticeOfUnknown
  const noticeSeconds = numberOf('--notice', options.notice, 0, maxNoticeSeconds) ?? usual
  const notes: string[] = []
  if (known === undefined) {
    const meant = didYouMean(type, eventTypes)
    notes.push(`Azure has no type "${type}" today; it has ${types}${meant}`)
  }
  if (event.resources.length === 0) {
    notes.push('No VM is named, so no rule about VMs holds; --resource names one.')
  } else if (event.resources.some((name) => vms.every(({ vm }) => !isSame(vm, name)))) {
    notes.push(
      'As for VMs whose beacon has not reported, tags, groups and scale sets are not known; ' +
        '--tag, --resource-group and --scale-set say them.',
    )
  }
  if (options.notice === undefined && event.status === 'Scheduled') {
    notes.push(`NotBefore is taken to be ${usual} s ahead, as is usual; --notice says another.`)
  }
  return { case: { fleet: fleetOf(options.fleet, fleets), event, vms, noticeSeconds }, notes }
}

function fleetOf(wanted: string | undefined, fleets: string[]): string {
  const names = fleets.join(', ')
  const only = fleets.length === 1 ? fleets[0] : undefined
  const fleet = wanted ?? only
  if (fleet === undefined)
    throw wrong(`there are several fleets; write --fleet and one of ${names}`)
  if (fleets.includes(fleet)) return fleet
  const meant = didYouMean(fleet, fleets)
  throw wrong(`--fleet: there is no fleet "${fleet}"; there are ${names}${meant}`)
}

/** What the options say of all VMs alike; undefined where they say nothing. */
function vmsOf(options: Options, names: string[]): KnownVm[] | undefined {
  const { tag, 'scale-set': scaleSet, 'resource-group': resourceGroup } = options
  if (tag === undefined && scaleSet === undefined && resourceGroup === undefined) return undefined
  const pairs = (tag ?? []).map((one) => {
    const [name = '', ...value] = one.split('=')
    return [name, value.join('=')]
  })
  const tags = Object.fromEntries(pairs)
  const vm = { resourceGroup: resourceGroup ?? '', scaleSet: scaleSet ?? '', tags }
  return names.map((name) => ({ vm: name, ...vm }))
}

function numberOf(
  flag: string,
  text: string | undefined,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  if (text === undefined) return undefined
  const number = Number(text)
  if (text.trim() !== '' && number >= least && number <= most) return number
  const upTo = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
  throw wrong(`${flag} is "${text}"; write a number of seconds, from ${least}${upTo}`)
}

interface FromFile {
  event: ScheduledEvent
  vms?: KnownVm[]
}

const forms =
  'write one entry of Events as IMDS shows it, such as { "EventType": "Reboot", "Resources": ["web_0"] }'

function readEvent(text: string): FromFile {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw wrong(`--event: the file is not JSON; ${forms}`)
  }
  if (typeof json !== 'object' || json === null) throw wrong(`--event: no object; ${forms}`)
  if ('Events' in json) return { event: asImdsShows(theOnly(json.Events)) }
  if ('document' in json) return ofReport(json)
  if ('EventType' in json) return { event: asImdsShows(json) }
  if ('eventType' in json) return { event: asReported(json) }
  throw wrong(`--event: there is no EventType; ${forms}`)
}

function asImdsShows(event: object): ScheduledEvent {
  const body = { Events: [{ EventId: eventId, EventStatus: 'Scheduled', ...event }] }
  const document = parseDocument(JSON.stringify(body), '2020-07-01')
  const first = typeof document === 'string' ? undefined : document.events[0]
  if (first === undefined) throw wrong(`--event: ${document}; ${forms}`)
  return first
}

function asReported(event: object): ScheduledEvent {
  const whole = { eventId, status: 'Scheduled', resources: [], ...event }
  const parsed = scheduledEventSchema.safeParse(whole)
  if (parsed.success) return parsed.data
  throw wrong(`--event: ${describeIssues(parsed.error, whole).join('; ')}`)
}

/** A whole report says of its own VM what rules may ask for. */
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
  throw wrong(`--event: the document has ${all.length} events, and a dry run takes one; ${forms}`)
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
