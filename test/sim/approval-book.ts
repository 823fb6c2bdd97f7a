// The book of approvals: nothing is decided but by a person who pressed, may do so and saw what they decided, or by
// a rule; and what people are answered is what came of it.

import { makeStamp } from '../../functions/core/event/approval.ts'
import type { Decided, Decider, EventRecord } from '../../functions/core/event/event.ts'
import { isWithin } from '../../functions/core/event/scope.ts'
import type { ScheduledEvent } from '../../shared/document.ts'
import type { Docket } from './docket.ts'
import { mayDecide, ruleBefore } from './permits.ts'
import { answers, type Said } from './ways-in.ts'

/** A button that somebody pressed. */
export interface Press {
  /** Of the event, with its fleet. */
  key: string
  eventId: string
  /** Which one of the people, whatever they are known as. */
  person: number
  by: Decider
  decision: Decided['decision']
  /** Of what they saw; see `makeStamp`. */
  stamp: string
  /** Where the button was: of a page, as browsers send its form, or without the HTTP face. */
  at: 'form' | 'page' | 'slack'
}

interface Noted extends Press {
  said: Said | undefined
  from: number
  until: number
}

/** What an approval covers, from the record at the time of the approval. */
interface Cover {
  eventType: string
  resources: string[]
  /** Only for a rule's approval, as far as it was known. */
  source?: string | undefined
  durationSeconds?: number | undefined
  /** When it stopped being valid. */
  until: number
}

/** A directive arrives within 10 s of its report, after those that were given before it. */
const directiveMs = 20_000

export class ApprovalBook {
  readonly #docket: Docket
  readonly #approved = new Map<string, Cover[]>()
  readonly #presses: Noted[] = []
  readonly #decided = new Set<string>()

  constructor(docket: Docket) {
    this.#docket = docket
  }

  /** Whether the event was approved in any epoch. */
  isApproved(key: string): boolean {
    return this.#approved.has(key)
  }

  /**
   * Why no approval covers what a VM sees. An approval that ended just now counts: a directive
   * takes time.
   */
  whyUncovered(key: string, own: ScheduledEvent): string | undefined {
    const valid = (this.#approved.get(key) ?? []).filter(
      ({ until }) => until > this.#docket.now - directiveMs,
    )
    if (valid.length === 0) return 'nobody approved it'
    const reasons = valid.map((cover) => whyBeyond(cover, own))
    return reasons.includes(undefined) ? undefined : reasons.join('; ')
  }

  /**
   * Whether a VM sees what the approval covers. If not, its beacon must not start the event: it has
   * changed since the others fell silent, or an old api-version shows no duration.
   */
  canCheck(key: string, own: ScheduledEvent | undefined): boolean {
    const cover = this.#approved.get(key)?.at(-1)
    if (cover !== undefined && own !== undefined && whyBeyond(cover, own)) return false
    return (
      (cover?.source === undefined || own?.source !== undefined) &&
      (cover?.durationSeconds === undefined || own?.durationSeconds !== undefined)
    )
  }

  committed(key: string, before: EventRecord | undefined, record: EventRecord): void {
    const { decided, epoch } = record
    const earlier = before?.decided
    const broke = (text: string) => this.#docket.broke('unasked', `${key} ${text}`)
    const sameEpoch = before?.epoch === epoch
    const revoked = earlier?.decision === 'approved' && decided?.decision !== 'approved'
    // unless it grew beyond what was approved
    const grown =
      record.overruled.at(-1)?.expiredAt !== undefined &&
      (!isWithin(earlier?.scope, record.facts) || earlier?.how === 'policy')
    if (sameEpoch && revoked && !grown && decided === undefined) broke('is unapproved')
    if (sameEpoch && revoked && decided !== undefined) broke('is declined after it was approved')
    if (revoked && record.azure.acceptedBefore !== undefined)
      this.#docket.met.add('an approval that Azure accepted expires')
    if (revoked) for (const cover of this.#approved.get(key) ?? []) this.#end(cover)
    if (decided === undefined || isSame(decided, earlier)) return
    this.#decided.add(`${key} ${wayOf(decided.decision, decided)}`)
    if (decided.decision === 'approved') {
      this.#approved.set(key, [...(this.#approved.get(key) ?? []), coverOf(record)])
    }
    if (decided.how !== 'policy') this.#checkPerson(key, record, decided, earlier)
    else this.#checkPolicy(record, decided, earlier, broke)
  }

  #end(cover: Cover): void {
    cover.until = Math.min(cover.until, this.#docket.now)
  }

  #checkPolicy(
    record: EventRecord,
    decided: Decided,
    earlier: Decided | undefined,
    broke: (text: string) => void,
  ) {
    if (earlier?.decision === 'declined') broke('is approved by policy after "not now"')
    const rule = this.#docket.parts.plan.config.policy.find(({ name }) => name === decided.who)
    if (rule?.decide !== 'approve') broke(`is approved by "${decided.who}", which does not`)
    // with a fleet's key, a liar who speaks as another VM can also change its tags
    const { mistaken, parts } = this.#docket
    const before = mistaken.has(record.fleet)
      ? undefined
      : ruleBefore(parts.plan, record, decided.who)
    if (before !== undefined) broke(`is approved by "${decided.who}", and "${before}" comes before`)
  }

  #checkPerson(
    key: string,
    record: EventRecord,
    decided: Decided,
    earlier: Decided | undefined,
  ): void {
    const way = wayOf(decided.decision, decided)
    const broke = (text: string) => this.#docket.broke('unasked', `${key} is ${way}, ${text}`)
    const own = this.#presses.filter(
      (press) => press.key === key && wayOf(press.decision, press.by) === way,
    )
    if (own.length === 0) broke('who never pressed')
    else if (!own.some(({ stamp }) => stamp === makeStamp(seenBefore(record, earlier))))
      broke('who saw something else')
    // with a fleet's key, a liar who speaks as another VM can also change its tags
    const isKnown = !this.#docket.mistaken.has(record.fleet)
    if (isKnown && !mayDecide(this.#docket.parts.plan, record, decided)) broke('without permission')
  }

  pressed(press: Press): Noted {
    const { now } = this.#docket
    const noted = { ...press, said: undefined, from: now, until: Number.POSITIVE_INFINITY }
    this.#presses.push(noted)
    return noted
  }

  /** `said`: nothing where the relay died before it answered. */
  answered(noted: Noted, said: Said | undefined, record: EventRecord | undefined): void {
    noted.said = said
    noted.until = this.#docket.now
    const { key, by, decision } = noted
    const broke = (text: string) => this.#docket.broke('answered', `${key}: ${by.who} ${text}`)
    if (said === undefined || record === undefined) return
    if (!answers.some((one) => one === said)) broke(`presses a button and gets "${said}"`)
    if (said === 'decided' && !this.#decided.has(`${key} ${wayOf(decision, by)}`))
      broke(`is told that it is ${decision}, which is not on record`)
    this.#count(noted, said, record)
  }

  #count(press: Noted, said: Said, record: EventRecord): void {
    const { met, parts } = this.#docket
    const { by, at } = press
    const may = (who: Decider) => mayDecide(parts.plan, record, who)
    const refused = ['identity_needed', 'not_listed', 'outsider'].includes(said)
    if (said === 'moved_on') met.add('a press for what has changed is refused')
    if (refused && !may(by)) met.add('an unlisted person is refused')
    if (said === 'already_approved' && record.decided?.how === 'policy')
      met.add('a person and a policy decide')
    if (said === 'decided' && at === 'slack') met.add('a press in Slack decides')
    if (said === 'decided' && at === 'form') met.add('a form of the page decides')
    if (said === 'decided' && by.how !== 'link' && !may({ how: 'link', who: '' }))
      met.add('a listed person decides')
    if (this.#presses.some((other) => isRace(press, other) || isRace(other, press)))
      met.add('two people decide at once')
  }
}

/** The event as it was before the decision. */
function seenBefore({ epoch, facts }: EventRecord, decided: Decided | undefined) {
  return { epoch, facts, ...(decided && { decided }) }
}

function coverOf({ facts, decided }: EventRecord): Cover {
  const { eventType, source, durationSeconds } = facts
  const resources = facts.resources.map((name) => name.toLowerCase())
  const byRule = decided?.how === 'policy' ? { source, durationSeconds } : {}
  return { eventType, resources, ...byRule, until: Number.POSITIVE_INFINITY }
}

function whyBeyond(cover: Cover, own: ScheduledEvent): string | undefined {
  if (own.eventType !== cover.eventType) return `it is a ${own.eventType}`
  const further = own.resources.filter((name) => !cover.resources.includes(name.toLowerCase()))
  if (further.length > 0) return `${further} was not approved`
  for (const name of ['source', 'durationSeconds'] as const) {
    if (cover[name] !== undefined && cover[name] !== own[name])
      return `a rule approved it with ${name} ${cover[name]}, not ${own[name]}`
  }
  return undefined
}

/** One of two people was first, while the other's press was under way. */
function isRace(won: Noted, lost: Noted): boolean {
  return (
    won.key === lost.key &&
    won.person !== lost.person &&
    won.said === 'decided' &&
    (lost.said?.startsWith('already_') ?? false) &&
    won.from <= lost.until &&
    lost.from <= won.until
  )
}

function isSame(one: Decided, other: Decided | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function wayOf(decision: Decided['decision'], { how, who }: Decider): string {
  return `${decision} by ${how}:${who}`
}
