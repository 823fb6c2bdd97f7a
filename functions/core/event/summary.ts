// An event in one line of a list: what a search shows of it, and what charts count. Small, so that a
// store can keep thousands of them together.

import type { EventRecord } from './event.ts'
import { countVms } from './facts.ts'
import type { Proof } from './proof.ts'

/** How far the event is: undecided, decided, approved in vain, running, or how it ended. */
export const steps = [
  'open',
  'declined',
  'approved',
  'stuck',
  'started',
  'completed',
  'cancelled',
  'lost',
] as const
export type EventStep = (typeof steps)[number]

export const endedSteps = ['completed', 'cancelled', 'lost'] as const satisfies EventStep[]
export const openSteps = steps.filter(
  (step) => !(endedSteps as readonly EventStep[]).includes(step),
)

export interface EventSummary {
  fleet: string
  eventId: string
  eventType: string
  step: EventStep
  drill?: true
  /** No beacon saw the end. */
  inferred?: true
  /** Names of the first affected VMs, and how many there are. */
  vms: string[]
  vmCount: number
  firstSeenAt: number
  notBeforeAt?: number
  startedAt?: number
  endedAt?: number
  /** The last decision. */
  decidedAt?: number
  decidedHow?: Proof
}

/** A list shows the others as a number. */
const maxNames = 8

export function chooseStep({
  ended,
  started,
  decided,
  azure,
}: Pick<EventRecord, 'ended' | 'started' | 'decided' | 'azure'>): EventStep {
  if (ended !== undefined) return ended.outcome
  if (started !== undefined) return 'started'
  return decided?.decision === 'approved' && isStuck(azure)
    ? 'stuck'
    : (decided?.decision ?? 'open')
}

/** An event is stuck until Azure is told. Then Azure starts the event in a minute, or is told again. */
function isStuck({ stuckAt, accepted, directive }: EventRecord['azure']): boolean {
  return stuckAt !== undefined && !(accepted && accepted.at > stuckAt && !directive?.again)
}

export function summarizeEvent(record: EventRecord): EventSummary {
  const { fleet, eventId, facts, firstSeenAt, started, ended, decided, drill } = record
  return {
    fleet,
    eventId,
    eventType: facts.eventType,
    step: chooseStep(record),
    ...(drill && { drill: true as const }),
    ...(ended?.inferred !== undefined && { inferred: true as const }),
    vms: facts.resources.slice(0, maxNames),
    vmCount: countVms(facts),
    firstSeenAt,
    ...known({
      notBeforeAt: facts.notBeforeAt,
      startedAt: started?.at,
      endedAt: ended?.at,
      decidedAt: decided?.at,
      decidedHow: decided?.how,
    }),
  }
}

type Known = { [Name in keyof EventSummary]?: EventSummary[Name] | undefined }

function known(values: Known): Partial<EventSummary> {
  const there = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(there) as Partial<EventSummary>
}

/** The names under which a search finds the event: its VMs and its id, in lower case. */
export function firstNames({ eventId, facts }: Pick<EventRecord, 'eventId' | 'facts'>): string[] {
  return [...new Set([eventId, ...facts.resources].map((name) => name.toLowerCase()))]
}
