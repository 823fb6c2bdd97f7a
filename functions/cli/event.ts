// The event of a dry run, from a file, from options, or from both: what an option says goes before.
import { eventTypes, isSameName, knownType, type ScheduledEvent } from '../../shared/document.ts'
import type { Case } from '../check/dry-run.ts'
import { usualNoticeOf } from '../check/usual-notice.ts'
import type { KnownVm } from '../core/event/event.ts'
import { didYouMean } from '../schema/suggest.ts'
import { type Options, wrong } from './arguments.ts'
import { readEvent } from './event-file.ts'

/** Seconds ahead that an event of a type is announced that nobody knows. */
const noticeOfUnknown = 900
const maxNoticeSeconds = 7 * 86_400
const eventId = 'dry-run'

/** The case; what was probably not meant, and what was assumed where nothing was said, one sentence each. */
export function caseOf(
  options: Options,
  file: string | undefined,
  fleets: string[],
  now: number,
): { case: Case; doubts: string[]; notes: string[] } {
  const read = file === undefined ? undefined : readEvent(file)
  const type = options.type ?? read?.event.eventType
  const types = eventTypes.join(', ')
  if (!type) throw wrong(`the event has no type; write --type and one of ${types}`)
  const known = knownType(type)
  const source = options.source ?? (read === undefined ? 'Platform' : read.event.source)
  const seconds = numberOf('--duration', options.duration, -1) ?? read?.event.durationSeconds
  const names = options.resource?.flatMap(namesIn)
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
  const wanted = numberOf('--notice', options.notice, 0, maxNoticeSeconds)
  const notice = noticeOf(type, read?.event.notBeforeAt, now)
  const meant = didYouMean(type, eventTypes)
  const doubt = `Azure has no type "${type}" today; it has ${types}${meant}`
  const doubts = known === undefined ? [doubt] : []
  const notes: string[] = []
  if (event.resources.length === 0) {
    notes.push('No VM is named, so no rule about VMs holds; --resource names one.')
  } else if (event.resources.some((name) => vms.every(({ vm }) => !isSameName(vm, name)))) {
    notes.push(
      'As for VMs whose beacon has not reported, tags, groups and scale sets are not known; ' +
        '--tag, --resource-group and --scale-set say them.',
    )
  }
  if (options.notice === undefined && event.status === 'Scheduled') {
    notes.push(`NotBefore ${notice.why}; --notice says another.`)
  }
  const noticeSeconds = wanted ?? notice.seconds
  const fleet = fleetOf(options.fleet, fleets)
  return { case: { fleet, event, vms, noticeSeconds }, doubts, notes }
}

/** From first sight to NotBefore, and how we know: as the file says, unless that is over by now. */
function noticeOf(type: string, notBeforeAt: number | undefined, now: number) {
  const usual = usualNoticeOf(type) ?? noticeOfUnknown
  const why = `is taken to be ${usual} s ahead, as is usual`
  if (notBeforeAt === undefined) return { seconds: usual, why }
  const ahead = Math.round((notBeforeAt - now) / 1_000)
  if (ahead >= 0) return { seconds: ahead, why: `is ${ahead} s ahead, as the file says` }
  const over = `of the file, ${new Date(notBeforeAt).toISOString()}, is over, so it ${why}`
  return { seconds: usual, why: over }
}

function namesIn(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  if (!names.includes('')) return names
  throw wrong(`--resource is "${text}", with no name at a comma; write names, such as web_0,web_1`)
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
