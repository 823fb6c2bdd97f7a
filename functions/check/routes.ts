// Warns about routes: events without a message, routes that never notify, and reminders that come
// too early.
import { eventTypes, isSameName } from '../../shared/document.ts'
import type { Config } from '../config/config.ts'
import type { Match } from '../core/rules/match.ts'
import type { PolicyRule } from '../core/rules/policy.ts'
import type { Route } from '../core/rules/routes.ts'
import { gapIn } from '../core/rules/time.ts'
import { onConditions, sources } from './conditions.ts'
import { isHidden, isNarrow, mayMatch } from './cover.ts'
import { list } from './policy.ts'

/** Any week will do. */
const aMonday = Date.UTC(2026, 0, 5)

/** Seconds. The schema allows no shorter reminder. */
const shortest = 30

export function adviseOnRoutes(config: Config): string[] {
  const fleets = Object.keys(config.fleets)
  const { routes } = config
  const each = routes.flatMap((route, i) => {
    const at = `routes[${i}]`
    const words = onConditions(at, route.match)
    const remedy = 'move it before them, or remove their "continue": false'
    return isHidden(route, routes.slice(0, i), fleets)
      ? [
          ...words,
          `${at}: never notifies: earlier routes match the same events and stop; ${remedy}`,
        ]
      : [...words, ...onVainReminders(at, route, config), ...onReminders(at, route)]
  })
  const silent = fleets.filter((fleet) => isSilent(fleet, config))
  return [...silent.flatMap(onSilence), ...fleets.flatMap((one) => onGaps(one, config)), ...each]
}

/** Whether the policy ignores all events that Azure itself schedules. */
function isSilent(fleet: string, { policy }: Config): boolean {
  return eventTypes.every((type) => isIgnored(policy, fleet, type, 'Platform'))
}

function onSilence(fleet: string): string {
  const what = `it ignores all events that Azure schedules in fleet "${fleet}"`
  return `policy: ${what}; limit the rule that ignores, or write "decide": "notify"`
}

/** Reminders are sent only if people are asked. */
function onVainReminders(at: string, { match, remindBeforeSeconds }: Route, config: Config) {
  if (remindBeforeSeconds === undefined) return []
  const fleets = match.fleet ?? Object.keys(config.fleets)
  const types = match.eventType ?? [...eventTypes, anyOther]
  const from = match.source ?? [...sources, anyOther]
  const mayAsk = fleets.some((fleet) =>
    types.some((type) => from.some((source) => isEverAsked(config.policy, fleet, type, source))),
  )
  if (mayAsk) return []
  const what = 'the policy asks nobody about events of this route, so no reminder is sent'
  return [`${at}.remindBeforeSeconds: ${what}; write "decide": "ask" for them, or leave this out`]
}

/** A type or source that is unknown or absent. */
const anyOther = ''

function isEverAsked(policy: PolicyRule[], fleet: string, type: string, source: string): boolean {
  for (const { match, decide } of policy) {
    if (!mayMatch(match, fleet, type, source)) continue
    if (decide === 'ask') return true
    const passesOn =
      isNarrow(match) || (decide === 'approve' && !eventTypes.some((one) => one === type))
    if (!passesOn) return false
  }
  return true
}

/** Events that no route matches, or only narrow routes, or only routes for later moments. */
function onGaps(fleet: string, { policy, routes, channels }: Config): string[] {
  const unmatched: string[] = []
  const late: string[] = []
  const narrowly: string[] = []
  const asking = routes.filter(({ moments }) => moments?.includes('scheduled') ?? true)
  for (const type of eventTypes) {
    const open = sources.filter((source) => !isIgnored(policy, fleet, type, source))
    const matching = (source: string) =>
      asking.filter(({ match }) => mayMatch(match, fleet, type, source))
    const missed = open.filter((source) => matching(source).length === 0)
    const part = open.filter((source) =>
      matching(source).every(({ match }) => isNarrow({ ...match, time: undefined })),
    )
    const isMatched = (source: string) =>
      routes.some(({ match }) => mayMatch(match, fleet, type, source))
    const isLater = missed.length > 0 && missed.every(isMatched)
    if (isLater) late.push(`${type}${of(missed)}`)
    else if (missed.length > 0) unmatched.push(`${type}${of(missed)}`)
    else if (part.length > 0) narrowly.push(`${type}${of(part)}`)
  }
  const at = `in fleet "${fleet}"`
  const first = Object.keys(channels)[0]
  const remedy = `such as { "match": {}, "channels": ["${first}"] }`
  const advice: string[] = []
  if (unmatched.length > 0) {
    const what = `nobody is notified when ${list(unmatched, 'or')} is scheduled ${at}`
    advice.push(`routes: ${what}: no route matches; add one, ${remedy}`)
  }
  if (late.length > 0) {
    const what = `nobody is notified when ${list(late, 'or')} is scheduled ${at}`
    const why = 'routes match, but only for later moments'
    advice.push(
      `routes: ${what}: ${why}; add "scheduled" to their "moments", or a route, ${remedy}`,
    )
  }
  const gap = gapIn(
    asking.filter(({ match }) => isOfFleet(match, fleet)).map(describeTime),
    aMonday,
  )
  if (gap !== undefined && unmatched.length + late.length === 0) {
    const clock = new Date(gap).toUTCString()
    const what = `nobody is notified ${at} at some times, such as ${clock.slice(0, 3)} ${clock.slice(17, 22)} UTC`
    advice.push(`routes: ${what}: no route counts then; add a route without "time", ${remedy}`)
  }
  if (narrowly.length > 0) {
    const what = `only routes with conditions on VMs or duration match ${list(narrowly)} ${at}`
    const why = 'other events, and VMs without a beacon, notify nobody'
    advice.push(`routes: ${what}: ${why}; add a route without conditions, ${remedy}`)
  }
  return advice
}

function isOfFleet({ fleet }: Match, name: string): boolean {
  return fleet?.includes(name) ?? true
}

function describeTime({ match }: Route) {
  return match.time
}

function of(some: string[]): string {
  return some.length === sources.length ? '' : ` (source ${some.join()})`
}

function isIgnored(policy: PolicyRule[], fleet: string, type: string, source: string): boolean {
  const rule = policy.find(
    ({ match, decide }) =>
      mayMatch(match, fleet, type, source) && !(isNarrow(match) && decide === 'ignore'),
  )
  return rule?.decide === 'ignore'
}

/** A reminder that is due when the event is first seen skips channels that were just asked. */
function onReminders(at: string, { match, remindBeforeSeconds = [] }: Route): string[] {
  const types = match.eventType ?? [...eventTypes]
  const known = types.flatMap((type) => findUsualNotice(type) ?? [])
  return remindBeforeSeconds.flatMap((seconds) => {
    const early = types.filter((type) => (findUsualNotice(type) ?? Infinity) <= seconds)
    // a route for all types still reminds of types with a longer notice
    const vain = match.eventType === undefined && early.length < types.length ? [] : early
    if (vain.length === 0) return []
    const notice = Math.max(...vain.map((type) => findUsualNotice(type)!))
    const longest = Math.max(...known)
    const shorter = longest > shortest ? `write less than ${longest}` : 'leave it out'
    const remedy = longest > seconds ? `put ${list(vain)} into a route of its own` : shorter
    return [
      `${at}.remindBeforeSeconds: Azure announces ${list(vain)} about ${notice} s ahead, so channels ` +
        `that were asked get no reminder ${seconds} s ahead; ${remedy}`,
    ]
  })
}

/**
 * Seconds, as Microsoft documents them; in practice sometimes less. Terminate: the owner of the
 * scale set chooses 5 to 15 min. Azure announces failing hardware days ahead, or not at all.
 */
const usualNoticeSeconds: Record<(typeof eventTypes)[number], number> = {
  Freeze: 900,
  Reboot: 900,
  Redeploy: 600,
  Preempt: 30,
  Terminate: 900,
}

/** Undefined for advice, and for a type that Foghorn does not know. */
export function findUsualNotice(eventType: string): number | undefined {
  const type = eventTypes.find((one) => isSameName(one, eventType))
  return type && usualNoticeSeconds[type]
}
