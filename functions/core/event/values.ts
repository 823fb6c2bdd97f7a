// What a document changes of an event's values. Laws 1 and 3: the values are those that the speakers
// show, and a value changes when a speaker's own document changes it.
import { unknownType } from '../../../shared/document.ts'
import type { EventRecord, OpenRecord } from './event.ts'
import { countVms, type Facts, ruled, type Values, withVms } from './facts.ts'
import { addHistory } from './history.ts'
import { differs, toShown } from './shown.ts'
import {
  eventGrid,
  isAffected,
  isSeeing,
  type Listening,
  lagMs,
  type Reporter,
  resourceGraph,
  type Sight,
} from './sight.ts'
import { isMostShown, outweighs } from './weight.ts'
import {
  addsItself,
  hasSpoken,
  keepsVms,
  mayNameVms,
  selfNamedAfter,
  speaksForIt,
  type Word,
  withListed,
  withName,
  withSelfNamed,
} from './whose.ts'

const valueNames = [...ruled, 'notBeforeAt', 'description'] as const

/** The record after this document, before its sight is replaced. An unchanged record is the same object. */
export function withValues(
  record: OpenRecord,
  reporter: Reporter,
  shown: Facts & Pick<Sight['shows'], 'status'>,
  listening: Listening,
): OpenRecord {
  const facts = knownBeside(record, reporter, shown)
  const { polledAt } = reporter
  const isAdded = addsItself(record, reporter, shown)
  const isWeightier = outweighs(record, reporter, shown, listening)
  const names = takenFrom(record, reporter, shown, { isAdded, isWeightier }, listening)
  const all = isAdded ? { ...shown, ...withName(facts, reporter.vm) } : shown
  const taken = Object.fromEntries(names.map((name) => [name, all[name]])) as Partial<Values>
  const valued = {
    ...(mayFill(record, reporter, listening) ? filled(facts, shown) : facts),
    ...taken,
  }
  const takesVms = names.includes('resources') || facts.resources.length === 0
  const named = withSelfNamed(
    withVms(valued, takesVms ? all : facts),
    selfNamedAfter(record, reporter, shown, { isAdded, isWeightier }, listening),
  )
  const merged = reporter.beacon === resourceGraph ? withListed(named, shown) : named
  if (JSON.stringify(merged) === JSON.stringify(record.facts)) return record
  const learned = { ...record, facts: merged }
  // Azure sets the time of an event that had none
  const isTimed = facts.notBeforeAt === undefined && merged.notBeforeAt !== undefined
  const news = isTimed ? [...names, 'notBeforeAt' as const] : names
  if (news.length === 0) return learned
  const from = Object.fromEntries(Object.entries(facts).filter(([name]) => name in taken))
  const isSure = isWeightier || reporter.beacon === resourceGraph || isAffected(merged, reporter)
  const change = { at: polledAt, names: news, from, ...(isSure && { corrects: true as const }) }
  const changed = { ...learned, changed: change }
  const noted = addHistory(changed, {
    at: polledAt,
    what: 'changed',
    note: describeValues(merged, news),
  })
  // a moved NotBefore starts new reminders
  return news.includes('notBeforeAt') ? { ...noted, reminders: { passed: [] } } : noted
}

const optional = ['source', 'durationSeconds', 'notBeforeAt', 'description'] as const

/**
 * The facts without what only outsiders said, once an affected VM's document lacks it. Azure's list is no outsider. A
 * document without a duration is of an older api-version, which shows less.
 */
function knownBeside(
  { facts, sights }: EventRecord,
  reporter: Reporter,
  shown: Facts & Pick<Sight['shows'], 'status'>,
): Facts {
  const knows =
    shown.status === 'Scheduled' &&
    shown.durationSeconds !== undefined &&
    isAffected(facts, reporter)
  if (!knows) return facts
  const known = toShown({ ...facts, status: shown.status })
  const knowing = sights.filter(
    (one) =>
      one.beacon !== reporter.beacon && (one.beacon === resourceGraph || isAffected(facts, one)),
  )
  const unsaid = optional.filter(
    (name) =>
      !(name in shown) &&
      !knowing.some(({ shows }) => name in shows && !differs(name, known, shows)),
  )
  if (unsaid.every((name) => facts[name] === undefined)) return facts
  const kept = Object.entries(facts).filter(([name]) => !(unsaid as string[]).includes(name))
  return Object.fromEntries(kept) as Facts
}

/**
 * A speaker's document changes what it showed otherwise before, and what no other speaker shows any
 * more. So the first affected VM replaces the values of onlookers, and a VM that lags changes nothing.
 * A VM that only itself names adds its name, and changes nothing else.
 */
function takenFrom(
  record: EventRecord,
  reporter: Reporter,
  shown: Facts & Pick<Sight['shows'], 'status'>,
  { isAdded, isWeightier }: Word,
  listening: Listening,
): (keyof Values)[] {
  const { facts, sights } = record
  const { beacon } = reporter
  const { others, affected } = seenBeside(record, reporter, listening)
  // one that is not known as affected adds its name, and changes nothing that an affected VM shows
  const isOfAffected = isWeightier || speaksForIt(record, reporter, shown, listening)
  if (!isOfAffected && (affected.length > 0 || isAdded)) return isAdded ? ['resources'] : []
  const before = sights.find((one) => one.beacon === beacon)?.shows
  const [known, own] = [toShown({ ...facts, status: shown.status }), toShown(shown)]
  const keepsType = !mayChangeType(record, reporter, listening)
  const differing = valueNames.filter(
    (name) => differs(name, known, own) && !(name === 'eventType' && keepsType),
  )
  if (isWeightier) return differing
  return differing.filter((name) => {
    if (name === 'resources' && isAdded) return true
    if (isLate(name, record, reporter, { before, own })) return false
    if (name === 'resources' && !mayChangeVms(record, reporter, shown, isOfAffected, listening))
      return false
    if (!isOfAffected) return isMostShown(name, record, others, reporter, { known, own }, listening)
    // one that is not known as affected, and changes its word, does not outweigh those that keep theirs
    const isKnown = isAffected(facts, reporter)
    const hasChanged = isKnown && before !== undefined && differs(name, before, own)
    return hasChanged || affected.every(({ shows }) => differs(name, known, shows))
  })
}

/** A silent VM may be down, and what takes a VM frees its slot: others do not make such an event of it. */
function mayChangeType(record: EventRecord, reporter: Reporter, listening: Listening): boolean {
  const knows = reporter.beacon === resourceGraph || isAffected(record.facts, reporter)
  return knows || !hasSpoken(record, reporter, listening)
}

/**
 * It shows what was before the last change, so it may lag behind Azure for a minute. It may be the first time that this
 * VM shows it, if the document is older than that change.
 */
function isLate(
  name: keyof Values,
  { facts, changed }: EventRecord,
  { polledAt }: Reporter,
  { before, own }: { before: Sight['shows'] | undefined; own: Sight['shows'] },
): boolean {
  if (changed === undefined || !changed.names.includes(name) || polledAt >= changed.at + lagMs)
    return false
  const isNewer = polledAt >= changed.at
  if (isNewer && before !== undefined && differs(name, before, own)) return false
  // a VM that only itself names is no change by Azure
  if (name === 'resources' && facts.selfNamed !== undefined) return false
  return !differs(name, toShown({ ...facts, ...changed.from, status: own.status }), own)
}

function mayChangeVms(
  record: EventRecord,
  reporter: Reporter,
  shown: Facts,
  isOfAffected: boolean,
  listening: Listening,
): boolean {
  const mayName = isOfAffected || mayNameVms(record, reporter, shown, listening)
  return mayName && !keepsVms(record, reporter, shown, listening)
}

/** Who else shows the event now, as far as that is known by documents or by Azure's list. */
function seenBeside(
  { facts, sights }: Pick<EventRecord, 'facts' | 'sights'>,
  { beacon }: Reporter,
  listening: Listening,
) {
  const others = sights.filter(
    (one) =>
      ![beacon, eventGrid].includes(one.beacon) &&
      one.missing === undefined &&
      isSeeing(one, listening),
  )
  return { others, affected: others.filter((one) => isAffected(facts, one)) }
}

/**
 * Whether it may say what is unknown. Where an affected VM shows the event, others know no more than its document,
 * but for Azure's list.
 */
function mayFill(record: EventRecord, reporter: Reporter, listening: Listening): boolean {
  if (reporter.beacon === resourceGraph || isAffected(record.facts, reporter)) return true
  return seenBeside(record, reporter, listening).affected.length === 0
}

/** Adds values that were unknown. Keys keep their order, so that equal facts are equal text. */
function filled(known: Facts, shown: Facts): Facts {
  const unknown = valueNames.filter((name) => known[name] === undefined && name in shown)
  return {
    ...known,
    ...Object.fromEntries(unknown.map((name) => [name, shown[name]])),
    eventType: known.eventType === unknownType ? shown.eventType : known.eventType,
    resources: known.resources.length === 0 ? shown.resources : known.resources,
  }
}

/** If more VMs changed, the history gives their number instead of their names. */
const maxNamedVms = 5

function describeValues(facts: Facts, names: (keyof Values)[]): string {
  return names
    .map((name) => {
      const value = facts[name]
      if (name === 'notBeforeAt') return `NotBefore ${new Date(Number(value)).toISOString()}`
      if (Array.isArray(value) && value.length > maxNamedVms) {
        return `${name}: ${countVms(facts)} VMs`
      }
      return `${name} ${JSON.stringify(value)}`
    })
    .join(', ')
}
