// The event of a dry run, from a file, from options, or from both. Options override the file.
import { eventTypes, isSameName, knownType, type ScheduledEvent } from '../../shared/document.ts'
import type { Case } from '../check/dry-run.ts'
import { findUsualNotice } from '../check/routes.ts'
import type { KnownVm } from '../core/event/sight.ts'
import { didYouMean } from '../schema/suggest.ts'
import { type Given, parseSeconds, tagsIn, text, texts, wrong } from './command.ts'
import { readEvent } from './event-file.ts'

export const eventOptions = {
  event: text,
  type: text,
  source: text,
  resource: texts,
  duration: text,
  notice: text,
  at: text,
  fleet: text,
  tag: texts,
  'scale-set': text,
  'resource-group': text,
} as const
export type EventOptions = Given<typeof eventOptions>['options']

/** Assumed notice of an unknown type, in seconds. */
const noticeOfUnknown = 900
const maxNoticeSeconds = 7 * 86_400
const eventId = 'dry-run'

/** `doubts`: what was probably not intended. `notes`: what was assumed. One sentence each. */
export function readCase(
  options: EventOptions,
  file: string | undefined,
  fleets: string[],
  now: number,
): { case: Case; doubts: string[]; notes: string[] } {
  const read = file === undefined ? undefined : readEvent(file)
  const type = options.type ?? read?.event.eventType
  const types = eventTypes.join(', ')
  if (!type) throw wrong(`the event has no type; write --type and one of ${types}`)
  const known = knownType(type)
  const event = readTriedEvent(options, known ?? type, read?.event)
  const vms = readVms(options, event.resources) ?? read?.vms ?? []
  const wanted = parseSeconds('--notice', options.notice, 0, maxNoticeSeconds)
  const notice = readNotice(type, read?.event.notBeforeAt, now)
  const meant = didYouMean(type, eventTypes)
  const doubt = `Azure has no type "${type}" today; it has ${types}${meant}`
  const doubts = known === undefined ? [doubt] : []
  const notes = notesOnVms(event, vms)
  if (options.notice === undefined && event.status === 'Scheduled') {
    notes.push(`NotBefore ${notice.why}. Change it with --notice.`)
  }
  const noticeSeconds = wanted ?? notice.seconds
  const fleet = chooseFleet(options.fleet, fleets)
  return {
    case: { fleet, event, vms, noticeSeconds, at: parseTime(options.at) ?? now },
    doubts,
    notes,
  }
}

function parseTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const at = Date.parse(text)
  if (!Number.isNaN(at)) return at
  throw wrong(`--at is "${text}"; write a time such as 2026-11-21T22:30:00Z`)
}

function readTriedEvent(
  options: EventOptions,
  eventType: string,
  read: ScheduledEvent | undefined,
): ScheduledEvent {
  const source = options.source ?? (read === undefined ? 'Platform' : read.source)
  const seconds = parseSeconds('--duration', options.duration, -1) ?? read?.durationSeconds
  const names = options.resource?.flatMap(namesIn)
  return {
    eventId,
    status: read?.status ?? 'Scheduled',
    eventType,
    resources: names ?? read?.resources ?? [],
    ...(source && { source }),
    ...(seconds !== undefined && { durationSeconds: seconds }),
    ...(read?.description && { description: read.description }),
  }
}

function notesOnVms(event: ScheduledEvent, vms: KnownVm[]): string[] {
  if (event.resources.length === 0) {
    return ['No VM is named, so no condition on VMs matches. Set one with --resource.']
  }
  const isKnown = event.resources.every((name) => vms.some(({ vm }) => isSameName(vm, name)))
  if (isKnown) return []
  return [
    'Tags, groups and scale sets are unknown, as for VMs whose beacon has not reported. ' +
      'Set them with --tag, --resource-group and --scale-set.',
  ]
}

/** Seconds from first sight to NotBefore, and why. A NotBefore in the past does not count. */
function readNotice(type: string, notBeforeAt: number | undefined, now: number) {
  const usual = findUsualNotice(type) ?? noticeOfUnknown
  const why = `is assumed to be ${usual} s ahead, as usual`
  if (notBeforeAt === undefined) return { seconds: usual, why }
  const ahead = Math.round((notBeforeAt - now) / 1_000)
  if (ahead >= 0) return { seconds: ahead, why: `is ${ahead} s ahead, as in the file` }
  const over = `in the file, ${new Date(notBeforeAt).toISOString()}, is over, so it ${why}`
  return { seconds: usual, why: over }
}

function namesIn(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  if (!names.includes('')) return names
  throw wrong(`--resource is "${text}", with an empty name; write names such as web_0,web_1`)
}

function chooseFleet(wanted: string | undefined, fleets: string[]): string {
  const names = fleets.join(', ')
  const only = fleets.length === 1 ? fleets[0] : undefined
  const fleet = wanted ?? only
  if (fleet === undefined)
    throw wrong(`the configuration has several fleets; write --fleet and one of ${names}`)
  if (fleets.includes(fleet)) return fleet
  const meant = didYouMean(fleet, fleets)
  throw wrong(`--fleet: there is no fleet "${fleet}"; write one of ${names}${meant}`)
}

/** The VMs, all with the same facts from the options. Undefined without such options. */
function readVms(options: EventOptions, names: string[]): KnownVm[] | undefined {
  const { tag, 'scale-set': scaleSet, 'resource-group': resourceGroup } = options
  if (tag === undefined && scaleSet === undefined && resourceGroup === undefined) return undefined
  const tags = tagsIn(tag ?? [])
  const vm = { resourceGroup: resourceGroup ?? '', scaleSet: scaleSet ?? '', tags }
  return names.map((name) => ({ vm: name, ...vm }))
}
