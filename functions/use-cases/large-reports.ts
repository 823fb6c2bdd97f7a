// Reports of many events take long, and those of one fleet change the same events. If all of them were
// joined at once, each would decide again and again what another one has just changed, and other fleets
// would wait. So a few are joined at a time, and the others of their fleet wait in line.

/** Events in a report. A VM rarely sees more. */
const usualEvents = 20
/** Of one fleet. */
const maxTogether = 2
const maxWaiting = 50
/** A report that takes longer no longer keeps others waiting: its request may have been cancelled. */
const placeMs = 30_000

interface Place {
  /** Epoch ms. */
  until: number
}

interface Line {
  places: Set<Place>
  /** Each call lets one report begin. */
  waiting: (() => void)[]
}

/** Waits until `begin` is called. */
type Wait = (register: (begin: () => void) => void) => Promise<void>

/** Each process has its own. */
export interface Lines {
  ofFleet: Map<string, Line>
  wait: Wait
}

export function createLines(wait: Wait = (register) => new Promise(register)): Lines {
  return { ofFleet: new Map(), wait }
}

/** `busy`: too many wait already. */
export async function inLine<Result>(
  { lines: { ofFleet, wait }, now }: { lines: Lines; now(): number },
  { fleet, events }: { fleet: string; events: number },
  work: () => Promise<Result>,
): Promise<Result | 'busy'> {
  if (events <= usualEvents) return work()
  const line = ofFleet.get(fleet) ?? { places: new Set(), waiting: [] }
  ofFleet.set(fleet, line)
  for (const place of line.places) if (place.until <= now()) leave(line, place)
  const place = { until: Number.POSITIVE_INFINITY }
  const take = () => {
    place.until = now() + placeMs
    line.places.add(place)
  }
  if (line.places.size < maxTogether) take()
  else if (line.waiting.length >= maxWaiting) return 'busy'
  else {
    await wait((begin) => {
      line.waiting.push(() => {
        take()
        begin()
      })
    })
  }
  try {
    return await work()
  } finally {
    leave(line, place)
    if (line.places.size === 0) ofFleet.delete(fleet)
  }
}

function leave(line: Line, place: Place): void {
  if (line.places.delete(place)) line.waiting.shift()?.()
}
