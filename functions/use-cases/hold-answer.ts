// Holds the answer to a report while people may be deciding, so that an approval reaches a beacon at
// once. The report is stored before the wait. A held answer never has a directive: it only makes the
// beacon report again, so a connection that broke meanwhile loses nothing.
import type { Report } from '../../shared/report.ts'
import { type Received, receive } from './receive-report.ts'
import type { Relay } from './relay.ts'

/** As `receive`, for a beacon that may wait. */
export async function receiveAndHold(
  relay: Relay,
  fleet: string,
  key: string,
  report: Report,
): Promise<Received> {
  if (report.waitMs === undefined) return receive(relay, fleet, key, report)
  // take it before the events are read: a decision after that ends the wait
  const place = relay.holds.take(fleet, key, idsIn(report))
  try {
    const received = await receive(relay, fleet, key, report)
    if (place === undefined || received.outcome !== 'answered') return received
    const { waitMs, ...answer } = received.answer
    if (waitMs === undefined) return received
    const ended = await place.wait(Math.min(waitMs, report.waitMs))
    const again = ended === 'over' ? { waitMs } : {}
    return { outcome: 'answered', answer: { ...answer, ...again } }
  } finally {
    place?.leave()
  }
}

function idsIn({ document }: Report): string[] {
  return (document?.events ?? []).map(({ eventId }) => eventId)
}
