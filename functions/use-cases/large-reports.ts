// Reports of many events take long, and those of one fleet change the same events. So a few of them
// are joined at a time, and the others wait: otherwise they would decide again and again, and keep
// other fleets waiting.

/** Events in a report. A VM rarely sees more than a few. */
const usualEvents = 20
/** Of one fleet. */
const maxTogether = 2
const maxWaiting = 50

interface Line {
  working: number
  waiting: (() => void)[]
}

/** By relay: each process has one. */
const lines = new WeakMap<object, Map<string, Line>>()

/** `busy`: too many wait already. */
export async function inLine<Result>(
  relay: object,
  fleet: string,
  events: number,
  work: () => Promise<Result>,
): Promise<Result | 'busy'> {
  if (events <= usualEvents) return work()
  const own = lines.get(relay) ?? new Map<string, Line>()
  lines.set(relay, own)
  const line = own.get(fleet) ?? { working: 0, waiting: [] }
  own.set(fleet, line)
  if (line.working >= maxTogether) {
    if (line.waiting.length >= maxWaiting) return 'busy'
    // who ends gives its place to the next one
    await new Promise<void>((resolve) => line.waiting.push(resolve))
  } else line.working += 1
  try {
    return await work()
  } finally {
    const next = line.waiting.shift()
    if (next === undefined) line.working -= 1
    else next()
    if (line.working === 0) own.delete(fleet)
  }
}
