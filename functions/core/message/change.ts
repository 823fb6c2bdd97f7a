// What *changed* says: for each value from what to what, as far as both are known.
import type { EventView } from '../delivery/delivery.ts'
import type { Disputable, Values } from '../event/event.ts'
import { lastingClock } from '../event/time.ts'
import { lapseLines, unapprovedOf } from './approval.ts'
import { describeDuration, describeNames, plain } from './phrases.ts'

const changes: (keyof Values)[] = [
  'eventType',
  'source',
  'notBeforeAt',
  'resources',
  'durationSeconds',
  'description',
]

/** What the change that came last says otherwise than what was known, a sentence for each value. */
export function describeChange(event: EventView, now: number): string[] {
  const { changedAt = {}, changedFrom = {} } = event
  const [first] = changes.filter((name) => name in changedFrom)
  // a late word of one value may come after another one has changed
  const newest = first ? changedAt[first] : Math.max(...Object.values(changedAt))
  return changes
    .filter((name) => changedAt[name] === newest)
    .flatMap((name) => describeChanged(name, event, now))
}

/** What was replaced is not known of a value that had been unknown before. */
function describeChanged(name: keyof Values, event: EventView, now: number): string[] {
  const { facts, changedFrom: from = {}, drill } = event
  switch (name) {
    case 'eventType': {
      const { eventType: before } = from
      const to = plain(facts.eventType)
      if (before === undefined) return [`Its type is now ${to}.`]
      return [`Azure changed its type from ${plain(before)} to ${to}.`]
    }
    case 'source': {
      const before = from.source === undefined ? '' : `; before, by ${requester(from.source)}`
      return [`It is now requested by ${requester(facts.source)}${before}.`]
    }
    case 'notBeforeAt': {
      const to = lastingClock(facts.notBeforeAt ?? now, now)
      if (from.notBeforeAt === undefined) return [`Azure set its time to ${to}.`]
      const before = lastingClock(from.notBeforeAt, now).replace(/ UTC$/, '')
      return [`${drill ? 'The drill moved' : 'Azure moved it'} from ${before} to ${to}.`]
    }
    case 'resources': {
      const { resources: before } = from
      if (before === undefined) return ['Azure changed which VMs it hits.']
      // the lines about the approval already name the added VMs
      const isSaid = lapseLines(event, false).length > 0 || unapprovedOf(event).length > 0
      const added = namesBeside(facts.resources, before)
      const spared = namesBeside(before, facts.resources)
      return [
        ...(added.length === 0 || isSaid ? [] : [`Azure added ${describeNames(added)}.`]),
        ...(spared.length === 0 ? [] : [`It no longer hits ${describeNames(spared)}.`]),
      ]
    }
    case 'durationSeconds':
      return [describeLength(facts.durationSeconds, from.durationSeconds)]
    case 'description':
      return ['Azure changed its reason.']
  }
}

const disputes: Record<Disputable, string> = {
  eventType: 'its type',
  resources: 'the affected VMs',
  source: 'who requested it',
  durationSeconds: 'its duration',
}

/** Why no rule may decide the event. */
export function describeDispute({ disputed = [] }: EventView): string[] {
  if (disputed.length === 0) return []
  const what = disputed.map((name) => disputes[name]).join(' and ')
  return [`The VMs report different values for ${what}. Check the event before you approve it.`]
}

function requester(source = ''): string {
  const known: Record<string, string> = { user: 'a user', platform: 'Azure' }
  return known[source.toLowerCase()] ?? `"${plain(source)}"`
}

function namesBeside(names: string[], others: string[]): string[] {
  const known = others.map((name) => name.toLowerCase())
  return names.filter((name) => !known.includes(name.toLowerCase()))
}

function describeLength(to = -1, from = -1): string {
  const before = from < 0 ? 'that was not known' : describeWait(from)
  if (to < 0) return `Azure no longer says how long it takes; before, ${before}.`
  if (to === 0) return `No interruption is expected any more; before, ${before}.`
  return `It now takes ${describeDuration(to)}; before, ${before}.`
}

function describeWait(seconds: number): string {
  return seconds === 0 ? 'no interruption was expected' : `it was ${describeDuration(seconds)}`
}
