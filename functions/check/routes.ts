// Routes: events that nobody hears of, routes that never tell, and reminders that come too early.
import { eventTypes, knownType } from '../../shared/document.ts'
import type { Config } from '../config/config.ts'
import type { PolicyRule, Route } from '../core/rules/policy.ts'
import { onConditions, sources } from './conditions.ts'
import { isHidden, isNarrow, mayMatch } from './cover.ts'
import { list } from './policy.ts'
import { usualNoticeOf } from './usual-notice.ts'

/** Seconds; the schema takes no shorter reminder. */
const shortest = 30

export function adviseOnRoutes(config: Config): string[] {
  const fleets = Object.keys(config.fleets)
  const { routes } = config
  const each = routes.flatMap((route, i) => {
    const at = `routes[${i}]`
    const words = onConditions(at, route.match)
    const remedy = 'put it before them, or remove their "continue": false'
    return isHidden(route, routes.slice(0, i), fleets)
      ? [...words, `${at}: never tells: earlier routes match all of it and stop; ${remedy}`]
      : [...words, ...onVainReminders(at, route, config), ...onReminders(at, route)]
  })
  const silent = fleets.filter((fleet) => isSilent(fleet, config))
  return [
    ...silent.flatMap(onSilence),
    ...fleets.flatMap((one) => onDeafness(one, config)),
    ...each,
  ]
}

/** Whether the policy ignores whatever Azure itself schedules. */
function isSilent(fleet: string, { policy }: Config): boolean {
  return eventTypes.every((type) => isIgnored(policy, fleet, type, 'Platform'))
}

function onSilence(fleet: string): string {
  const what = `nobody hears of anything that Azure schedules in fleet "${fleet}"`
  return `policy: ${what}: it is ignored; name what to ignore, or write "decide": "notify"`
}

/** Only where people are asked, somebody is reminded. */
function onVainReminders(at: string, { match, remindBeforeSeconds }: Route, config: Config) {
  if (remindBeforeSeconds === undefined) return []
  const fleets = match.fleet ?? Object.keys(config.fleets)
  const types = match.eventType ?? [...eventTypes, anyOther]
  const from = match.source ?? [...sources, anyOther]
  const mayAsk = fleets.some((fleet) =>
    types.some((type) => from.some((source) => isEverAsked(config.policy, fleet, type, source))),
  )
  if (mayAsk) return []
  const what = 'the policy asks nobody about what this route matches, so nobody is reminded'
  return [`${at}.remindBeforeSeconds: ${what}; write "decide": "ask" for it, or leave this out`]
}

/** Stands for types and sources that Azure may have one day, or does not say. */
const anyOther = ''

function isEverAsked(policy: PolicyRule[], fleet: string, type: string, source: string): boolean {
  for (const { match, decide } of policy) {
    if (!mayMatch(match, fleet, type, source)) continue
    if (decide === 'ask') return true
    const passesOn = isNarrow(match) || (decide === 'approve' && knownType(type) === undefined)
    if (!passesOn) return false
  }
  return true
}

/** Events that no route matches, and events that only narrow routes match. */
function onDeafness(fleet: string, { policy, routes, channels }: Config): string[] {
  const unheard: string[] = []
  const late: string[] = []
  const narrowly: string[] = []
  const asking = routes.filter(({ moments }) => moments?.includes('scheduled') ?? true)
  for (const type of eventTypes) {
    const open = sources.filter((source) => !isIgnored(policy, fleet, type, source))
    const matching = (source: string) =>
      asking.filter(({ match }) => mayMatch(match, fleet, type, source))
    const deaf = open.filter((source) => matching(source).length === 0)
    const part = open.filter((source) => matching(source).every(({ match }) => isNarrow(match)))
    const isMatched = (source: string) =>
      routes.some(({ match }) => mayMatch(match, fleet, type, source))
    const isLater = deaf.length > 0 && deaf.every(isMatched)
    if (isLater) late.push(`${type}${of(deaf)}`)
    else if (deaf.length > 0) unheard.push(`${type}${of(deaf)}`)
    else if (part.length > 0) narrowly.push(`${type}${of(part)}`)
  }
  const at = `in fleet "${fleet}"`
  const first = Object.keys(channels)[0]
  const remedy = `such as { "match": {}, "channels": ["${first}"] }`
  const advice: string[] = []
  if (unheard.length > 0) {
    const what = `nobody hears when ${list(unheard, 'or')} is scheduled ${at}`
    advice.push(`routes: ${what}: no route matches; add one, ${remedy}`)
  }
  if (late.length > 0) {
    const what = `nobody hears when ${list(late, 'or')} is scheduled ${at}`
    const why = 'routes match, but tell later moments only'
    advice.push(
      `routes: ${what}: ${why}; add "scheduled" to their "moments", or a route, ${remedy}`,
    )
  }
  if (narrowly.length > 0) {
    const what = `only routes with conditions on VMs or duration tell of ${list(narrowly)} ${at}`
    const who = 'what meets none of them, or has no beacon, nobody hears of'
    advice.push(`routes: ${what}: ${who}; add a route without, ${remedy}`)
  }
  return advice
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

/** A reminder that is due when the event is first seen reaches only who was not asked just now. */
function onReminders(at: string, { match, remindBeforeSeconds = [] }: Route): string[] {
  const types = match.eventType ?? [...eventTypes]
  const known = types.flatMap((type) => usualNoticeOf(type) ?? [])
  return remindBeforeSeconds.flatMap((seconds) => {
    const early = types.filter((type) => (usualNoticeOf(type) ?? Infinity) <= seconds)
    // a route for all types reminds of those that it can
    const said = match.eventType === undefined && early.length < types.length ? [] : early
    if (said.length === 0) return []
    const notice = Math.max(...said.map((type) => usualNoticeOf(type)!))
    const longest = Math.max(...known)
    const shorter = longest > shortest ? `write less than ${longest}` : 'leave it out'
    const remedy = longest > seconds ? `name ${list(said)} in a route of its own` : shorter
    return [
      `${at}.remindBeforeSeconds: ${seconds} s is no later than Azure announces ${list(said)} ` +
        `(about ${notice} s ahead), so whoever was asked is not reminded; ${remedy}`,
    ]
  })
}
