// Whose message a channel sends next. Fleets take turns, so a fleet with many messages delays
// another fleet by one message. Within a fleet, the message that is due longest goes first, but VMs that told of many
// have every second turn alone.

/** The messages of one fleet that wait for a channel, the longest due first. */
export interface Queue<Message> {
  fleet: string
  waiting: Message[]
}

/**
 * At most `most` messages, one of each fleet in turn. Begins with the fleet after `last`, or in the
 * order of the queues if there is no `last`.
 */
export function roundRobin<Message>(
  queues: Queue<Message>[],
  last: string | undefined,
  most: number,
): Message[] {
  const rest = fromNext(queues, last).map(({ waiting }) => [...waiting])
  const taken: Message[] = []
  while (taken.length < most && rest.some((waiting) => waiting.length > 0)) {
    for (const waiting of rest) {
      if (waiting.length > 0 && taken.length < most) taken.push(waiting.shift()!)
    }
  }
  return taken
}

function fromNext<Message>(queues: Queue<Message>[], last: string | undefined): Queue<Message>[] {
  if (last === undefined || queues.length < 2) return queues
  const byName = queues.toSorted((a, b) => (a.fleet < b.fleet ? -1 : 1))
  const after = byName.filter(({ fleet }) => fleet > last)
  return [...after, ...byName.filter(({ fleet }) => fleet <= last)]
}
