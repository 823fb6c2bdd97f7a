// Fills a SQLite file with a large company: 100,000 events, 100,000 beacons and 1,000,000 deliveries,
// through the store itself, without waiting for the disk.
import { toView } from '../../../functions/core/event/view.ts'
import { RelayStore } from '../../../functions/store/relay-store.ts'
import { SqlRows } from '../../../functions/store/sqlite.ts'
import { openFile } from '../../../functions/store/sqlite-file.ts'
import { beaconOf, commitOf, delivery, facts, notification, record } from '../../support/records.ts'
import { startAt } from '../../support/world.ts'

const counts = { events: 100_000, beacons: 100_000, deliveriesOfEvent: 10, open: 200 }
export const fleets = ['prod', 'payments', 'batch', 'web']
const types = ['Redeploy', 'Freeze', 'Preempt', 'Reboot', 'Reboot']
const channels = ['ops-chat', 'on-call', 'dba-team', 'inventory']
const sets = ['web', 'db', 'cache']
/** Writes of one transaction. */
const together = 500

export async function fill(path: string): Promise<void> {
  const file = openFile(path)
  file.all('PRAGMA synchronous = OFF')
  const rows = new SqlRows(file, { nonce: 'fill', soon: setImmediate })
  const store = new RelayStore({ rows, newId: () => 'fill', random: () => 0 })
  await inSteps(counts.events, (i) => store.commit(eventAt(i)))
  await inSteps(counts.beacons, (i) => store.writeBeacon(beaconAt(i)))
  file.close()
}

async function inSteps(count: number, write: (i: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += together) {
    await Promise.all(Array.from({ length: together }, (_, i) => write(from + i)))
  }
}

function idOf(i: number): string {
  const [first, last] = [i * 7_919, i].map((n) => n.toString(16))
  return `${first!.padStart(8, '0')}-afdc-4513-b24b-${last!.padStart(12, '0')}`
}

/** A minute and a half apart, the newest first: some three months. */
function eventAt(i: number) {
  const isOpen = i < counts.open
  const firstSeenAt = startAt - i * 80_000
  const vm = `${sets[i % 3]}_${i % 30_000}`
  const of = { eventType: types[i % 5]!, resources: [vm] }
  const own = { fleet: fleets[i % 4]!, eventId: idOf(i), firstSeenAt }
  const event = isOpen
    ? record({ ...own, facts: facts({ ...of, notBeforeAt: startAt + i * 600_000 }) })
    : record({
        ...own,
        facts: facts(of),
        phase: 'completed',
        started: { at: 1 },
        ended: { at: firstSeenAt + 900_000, outcome: 'completed' },
      })
  const deliveries = Array.from({ length: counts.deliveriesOfEvent }, (_, k) => {
    const n = i * counts.deliveriesOfEvent + k
    const state = n % 997 === 0 ? 'refused' : n < 2_000 ? 'pending' : 'delivered'
    return delivery(`d${n}`, {
      fleet: own.fleet,
      eventId: own.eventId,
      channel: channels[n % 4]!,
      seq: k,
      plannedAt: firstSeenAt,
      nextAt: firstSeenAt,
      attempts: 1,
      state,
      notification: notification({ event: toView(event) }),
    })
  })
  return commitOf({ record: event, deliveries, now: firstSeenAt })
}

function beaconAt(i: number) {
  const isSilent = i % 16 === 5 && i % 4 === 0
  const silence = { since: startAt - 900_000, from: startAt - 600_000 }
  return beaconOf(`${sets[i % 3]}_${i % 30_000}_${i}`, {
    fleet: fleets[i % 4]!,
    beacon: idOf(i),
    version: '0.1.0',
    sees: [],
    heardAt: isSilent ? startAt - 1_000_000 : startAt - (i % 900_000),
    silentAt: startAt + 900_000,
    ...(isSilent && { silence }),
  })
}
