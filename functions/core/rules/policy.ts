// What the owner wants done with an event: the first rule that matches decides.
import { eventTypes } from '../../../shared/document.ts'
import type { Decide, EventRecord } from '../event/event.ts'
import type { Observer } from '../event/observer.ts'
import { type Match, matchEvent } from './match.ts'

export interface PolicyRule {
  /** `policy[0]`, or the owner's own name. */
  name: string
  match: Match
  decide: Decide
}

export const defaultRule = 'default'

/**
 * The first rule that matches. An approval covers every VM in `Resources`, so *approve* must match
 * all of them with known values. The other decisions need one match. Without a rule, people are
 * asked.
 */
export function judgePolicy(
  rules: PolicyRule[],
  record: EventRecord,
  observers: Observer[],
): EventRecord['policy'] {
  for (const { name, match, decide } of rules) {
    const extent = matchEvent(match, record.fleet, record.facts, observers)
    const unknownType = !eventTypes.some((type) => type === record.facts.eventType)
    const holds = decide === 'approve' ? extent === 'every' && !unknownType : extent !== 'none'
    if (holds) return { decide, rule: name }
  }
  return { decide: 'ask', rule: defaultRule }
}
