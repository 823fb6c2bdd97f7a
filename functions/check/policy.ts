// Warns about the policy: rules that are never reached, unlimited approvals, and user events that
// have to wait.
import { eventTypes } from '../../shared/document.ts'
import type { Config } from '../config/config.ts'
import type { Decide } from '../core/event/event.ts'
import { defaultRule } from '../core/event/event.ts'
import type { PolicyRule } from '../core/rules/policy.ts'
import { onConditions } from './conditions.ts'
import { isNarrow, mayMatch, preempts } from './cover.ts'

/** If a user requests such an event, Azure delays it until it is approved. */
const userTypes = ['Reboot', 'Redeploy']

/** Messages and records name the rule. */
function onTwinNames(policy: PolicyRule[]): string[] {
  return policy.flatMap(({ name }, i) => {
    const twin = policy.findIndex((earlier) => earlier.name === name)
    if (twin === i) return []
    const what = `policy[${twin}] has the same name, so no message tells them apart`
    return [`policy[${i}].name: ${what}; rename one`]
  })
}

export function adviseOnPolicy(config: Config): string[] {
  const fleets = Object.keys(config.fleets)
  const { policy } = config
  const onRules = policy.flatMap((rule, i) => {
    const at = `policy[${i}]`
    const by = policy.slice(0, i).findIndex((earlier) => preempts(earlier, rule, fleets))
    const unknown = onConditions(at, rule.match)
    if (by === -1) return [...unknown, ...onUnlimited(at, rule)]
    const earlier = `policy[${by}]${named(policy[by]!, by)}`
    const what = `never reached: ${earlier} comes first and matches the same events`
    return [...unknown, `${at}${named(rule, i)}: ${what}; move it before that rule, or remove it`]
  })
  return [...onUserEvents(policy, fleets), ...onTwinNames(policy), ...onRules]
}

/** Rules that approve more than a Freeze, whatever its source and duration. */
function onUnlimited(at: string, { match, decide, whenReady }: PolicyRule): string[] {
  const byPeople = match.source?.every((one) => one.toLowerCase() === 'user')
  const isLimited =
    byPeople || match.maxDurationSeconds !== undefined || match.time !== undefined || whenReady
  if (decide !== 'approve' || isLimited) return []
  const types = eventTypes.filter(
    (type) => type !== 'Freeze' && mayMatch({ eventType: match.eventType }, '', type, ''),
  )
  if (types.length === 0) return []
  const { fleet: _f, eventType: _t, source: _s, ...rest } = match
  const of = Object.keys(rest).length > 0 ? ` of VMs that match its ${list(Object.keys(rest))}` : ''
  const remedy =
    'limit it by "source": "User", "maxDurationSeconds" or "time", or write "whenReady": true or "decide": "ask"'
  return [`${at}: approves every ${list(types)}${of}, at any time; ${remedy}`]
}

/** A reboot that a user requests waits until it is approved. */
function onUserEvents(policy: PolicyRule[], fleets: string[]): string[] {
  const found = new Map<string, string[]>()
  for (const fleet of fleets) {
    for (const type of userTypes) {
      const { decide, by } = decisionFor(policy, fleet, type)
      if (decide !== 'approve') found.set(by, [...(found.get(by) ?? []), `${type} in "${fleet}"`])
    }
  }
  const why =
    'once beacons poll, Azure delays such events until they are approved, by up to 15 minutes'
  const remedy = 'put { "match": { "source": "User" }, "decide": "approve" } first'
  return [...found].map(
    ([by, what]) =>
      `policy: events that users request are not approved at once (${what.join(', ')}: ${by}); ` +
      `${why}; ${remedy}`,
  )
}

/** The decision on an event that a user requested. A narrow rule decides only some events. */
function decisionFor(policy: PolicyRule[], fleet: string, type: string) {
  for (const [i, rule] of policy.entries()) {
    if (!mayMatch(rule.match, fleet, type, 'User')) continue
    const narrow = isNarrow(rule.match)
    if (narrow && rule.decide === 'approve') continue
    const some = narrow ? ' for some' : ''
    const by = `policy[${i}]${named(rule, i)} decides "${rule.decide}"${some}`
    return { decide: rule.decide, by }
  }
  const ask: Decide = 'ask'
  return { decide: ask, by: `no rule matches all of them, so the ${defaultRule} is "ask"` }
}

function named({ name }: PolicyRule, i: number): string {
  return name === `policy[${i}]` ? '' : ` ("${name}")`
}

export function list(words: readonly string[], last = 'and'): string {
  const [end = '', ...before] = words.toReversed()
  return before.length === 0 ? end : `${before.toReversed().join(', ')} ${last} ${end}`
}
