// Large reports take long, and those of one fleet change the same events. If all of them were
// joined at once, each would decide again and again what another one has just changed, and other fleets
// would wait. So a few are joined at a time, and the others of their fleet wait in a queue.

import type { Report } from '../../shared/report.ts'

/** A VM rarely sees more events. */
const usualSize = 20
/** This many names of VMs take as long as one event. */
const namesPerEvent = 200
/** Of one fleet. */
const maxTogether = 2
const maxWaiting = 50
/** A report that takes longer no longer keeps others waiting: its request may have been cancelled. */
const placeMs = 30_000

interface Place {
  /** Epoch ms. */
  until: number
}

interface Queue {
  places: Set<Place>
  /** Each call lets one report begin. */
  waiting: (() => void)[]
}

/** Waits until `begin` is called. */
type Wait = (register: (begin: () => void) => void) => Promise<void>

/** Each process has its own. */
export interface ReportQueues {
  ofFleet: Map<string, Queue>
  wait: Wait
}

export function createReportQueues(wait: Wait = (register) => new Promise(register)): ReportQueues {
  return { ofFleet: new Map(), wait }
}

type Sized = Pick<Report, 'document' | 'changes'>

/** In events. */
function sizeOf({ document, changes }: Sized): number {
  const shown = document?.events ?? []
  const all = [...shown, ...changes.map(({ event }) => event)]
  const names = all.reduce((sum, { resources }) => sum + resources.length, 0)
  return Math.max(shown.length, changes.length) + names / namesPerEvent
}

/** `busy`: too many wait already. */
export async function queued<Result>(
  { reportQueues: { ofFleet, wait }, now }: { reportQueues: ReportQueues; now(): number },
  { fleet, report }: { fleet: string; report: Sized },
  work: () => Promise<Result>,
): Promise<Result | 'busy'> {
  if (sizeOf(report) <= usualSize) return work()
  const queue = ofFleet.get(fleet) ?? { places: new Set(), waiting: [] }
  ofFleet.set(fleet, queue)
  for (const place of queue.places) if (place.until <= now()) leave(queue, place)
  const place = { until: Number.POSITIVE_INFINITY }
  const take = () => {
    place.until = now() + placeMs
    queue.places.add(place)
  }
  if (queue.places.size < maxTogether) take()
  else if (queue.waiting.length >= maxWaiting) return 'busy'
  else {
    await wait((begin) => {
      queue.waiting.push(() => {
        take()
        begin()
      })
    })
  }
  try {
    return await work()
  } finally {
    leave(queue, place)
    if (queue.places.size === 0) ofFleet.delete(fleet)
  }
}

function leave(queue: Queue, place: Place): void {
  if (queue.places.delete(place)) queue.waiting.shift()?.()
}
