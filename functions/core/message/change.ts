// Texts of *changed*: which values changed, and from what to what, if both are known.

import type { Values } from '../event/facts.ts'
import { lastingClock } from '../event/time.ts'
import type { EventView } from '../event/view.ts'
import { expiryLines, listUnapproved } from './approval.ts'
import { describeDuration, describeNames, plain } from './phrases.ts'

const changes: (keyof Values)[] = [
  'eventType',
  'source',
  'notBeforeAt',
  'resources',
  'durationSeconds',
  'description',
]

/** A sentence for each value that the newest change replaced. */
export function describeChange(event: EventView, now: number): string[] {
  const { names = [] } = event.changed ?? {}
  return changes
    .filter((name) => names.includes(name))
    .flatMap((name) => describeChanged(name, event, now))
}

function describeChanged(name: keyof Values, event: EventView, now: number): string[] {
  const { facts, changed, drill } = event
  const { from = {} } = changed ?? {}
  switch (name) {
    case 'eventType': {
      const { eventType: before } = from
      const to = plain(facts.eventType)
      if (before === undefined) return [`Its type is now ${to}.`]
      return [`Azure changed its type from ${plain(before)} to ${to}.`]
    }
    case 'source': {
      const before = from.source === undefined ? '' : ` instead of ${requester(from.source)}`
      return [`It is now requested by ${requester(facts.source)}${before}.`]
    }
    case 'notBeforeAt': {
      const to = lastingClock(facts.notBeforeAt ?? now, now)
      if (from.notBeforeAt === undefined) return [`Azure set its time to ${to}.`]
      const before = lastingClock(from.notBeforeAt, now).replace(/ UTC$/, '')
      return [`${drill ? 'The drill moved' : 'Azure moved it'} from ${before} to ${to}.`]
    }
    case 'resources':
      return describeVms(from.resources, event)
    case 'durationSeconds':
      return [
        'Azure changed its expected duration ' +
          `from ${describeDuration(from.durationSeconds)} to ${describeDuration(facts.durationSeconds)}.`,
      ]
    case 'description':
      return ['Azure changed the reason that it gives.']
  }
}

function describeVms(before: string[] | undefined, event: EventView): string[] {
  if (before === undefined) return ['Azure changed the affected VMs.']
  // the lines about the approval already name the added VMs
  const isNamed = expiryLines(event, false).length > 0 || listUnapproved(event).length > 0
  const added = namesBeside(event.facts.resources, before)
  const spared = namesBeside(before, event.facts.resources)
  return [
    ...(added.length === 0 || isNamed ? [] : [`Azure added ${describeNames(added)}.`]),
    ...(spared.length === 0 ? [] : [`It no longer affects ${describeNames(spared)}.`]),
  ]
}

function requester(source = ''): string {
  const known: Record<string, string> = { user: 'a user', platform: 'Azure' }
  return known[source.toLowerCase()] ?? `"${plain(source)}"`
}

function namesBeside(names: string[], others: string[]): string[] {
  const known = others.map((name) => name.toLowerCase())
  return names.filter((name) => !known.includes(name.toLowerCase()))
}
