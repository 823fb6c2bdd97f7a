// What a hook learns about its event: JSON with the names of webhooks, and variables. Nothing else
// reaches a hook, so a hook cannot read secrets from the environment of the runner.
import { iso } from '../../shared/json.ts'
import { visible } from '../../shared/presentable.ts'
import type { Environment } from '../variables.ts'
import type { Order } from './protocol.ts'

/** What a program needs to find others. The second list is for Windows. */
const passedOn = ['PATH', 'HOME', 'LANG']
const passedOnWindows = [
  'Path',
  'PATHEXT',
  'ComSpec',
  'SystemRoot',
  'SystemDrive',
  'windir',
  'TEMP',
  'TMP',
  'USERPROFILE',
  'ProgramData',
  'ProgramFiles',
]
/** Where a hook finds programs if the runner has no PATH. */
export const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** Linux allows 128 KB for one variable, Windows 32 KB for all. */
const maxNames = 8_000

/** One JSON object and a line end. */
export function eventJson(order: Order): string {
  const { hook, vm, limitMs, event, firstSeenAt, endedAt } = order
  const { eventId, eventType, status, source, resources, durationSeconds, description } = event
  return `${JSON.stringify({
    hook,
    vm,
    limitSeconds: toSeconds(limitMs),
    eventId,
    phase: status === 'Started' ? 'started' : 'scheduled',
    eventType,
    source,
    resources,
    notBefore: iso(event.notBeforeAt),
    durationSeconds,
    description,
    firstSeenAt: iso(firstSeenAt),
    endedAt: iso(endedAt),
  })}\n`
}

/** The whole environment of a hook. `own` is that of the runner. */
export function listVariables(
  order: Order,
  own: Environment,
  platform: string,
): Record<string, string> {
  const { hook, vm, limitMs, event, endedAt } = order
  const isWindows = platform === 'win32'
  const kept = (isWindows ? passedOnWindows : passedOn).map((name) => [name, own[name]])
  const facts: [string, string | number | undefined][] = [
    ['HOOK', hook],
    ['VM', vm],
    ['LIMIT_SECONDS', toSeconds(limitMs)],
    ['ID', event.eventId],
    ['TYPE', event.eventType],
    ['STATUS', event.status],
    ['SOURCE', event.source],
    ['RESOURCES', joinNames(event.resources)],
    ['NOT_BEFORE', iso(event.notBeforeAt)],
    ['DURATION_SECONDS', event.durationSeconds],
    ['DESCRIPTION', event.description],
    ['ENDED_AT', iso(endedAt)],
  ]
  const told = facts.map(([name, value]) => [`FOGHORN_EVENT_${name}`, value])
  const all = [...(isWindows ? [] : [['PATH', usualPath]]), ...kept, ...told]
  return Object.fromEntries(
    all.filter(([, value]) => value !== undefined).map(([name, value]) => [name, toText(value)]),
  )
}

/** One line: no value may have a NUL, and scripts print these. */
function toText(value: string | number | undefined): string {
  return visible(String(value))
}

/** Joins names by commas: no name of a VM has one. If there is no room, whole names are left out. */
function joinNames(names: readonly string[]): string {
  const joined = names.join(',')
  return joined.length <= maxNames ? joined : joined.slice(0, joined.lastIndexOf(',', maxNames))
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}
