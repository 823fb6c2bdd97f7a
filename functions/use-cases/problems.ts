// Problems of Foghorn itself. Code that finds one, or its end, notes it here. The sweep notifies the
// owners. The message is stored before its row: after a crash in between, the same message is planned
// again under the same id.
import { messageOf } from '../../shared/errors.ts'
import type { Fields } from '../../shared/log.ts'
import { alertId, alertsTo, reachedBy } from '../core/delivery/alert.ts'
import { type FleetAlert, noFleet, type ProblemKind } from '../core/delivery/delivery.ts'
import {
  collectMs,
  nextMessageAt,
  type Problem,
  type ProblemChange,
  type ProblemRow,
  withChange,
  withMessage,
} from '../core/delivery/problem.ts'
import { isBack } from '../core/event/silence.ts'
import type { Config } from '../core/rules/config.ts'
import { listProblems, readProblems, writeProblems } from '../store/memos.ts'
import { channelNamed, type Relay } from './relay.ts'

/** Each attempt loses to another worker that writes the same row. */
const maxAttempts = 20

/**
 * Notes what is new and what is over, by what is known. Returns the problems of this kind that are
 * not over. Throws if that is not stored.
 */
export async function noteProblems(
  relay: Relay,
  fleet: string,
  kind: ProblemKind,
  find: (known: Problem[]) => ProblemChange | Promise<ProblemChange>,
): Promise<Problem[]> {
  const row = await change(relay, fleet, kind, async (before) => {
    const found = await find(openIn(before))
    return withChange(before, { fleet, kind }, found, relay.now())
  })
  if (row !== undefined) wakeAt(relay, row, nextMessageAt(row))
  return openIn(row)
}

function wakeAt(relay: Relay, { fleet, kind }: ProblemRow, dueAt: number): void {
  if (dueAt === Infinity) return
  relay.wake(0, { event: { fleet, eventId: alertId(kind) }, deliveries: 0, dueAt })
}

/** Notes something that happened. Never throws: if the store fails, it will happen again. */
export async function noteOccurrence(
  relay: Relay,
  fleet: string,
  kind: ProblemKind,
  { name, reason }: { name: string; reason: string },
): Promise<void> {
  const now = relay.now()
  try {
    const add = [{ id: name, name, since: now, from: now + collectMs, reason }]
    await noteProblems(relay, fleet, kind, () => ({ add }))
  } catch (error) {
    relay.log.error('alert_failed', { fleet, kind, error: messageOf(error) })
  }
}

function openIn(row: ProblemRow | undefined): Problem[] {
  return row?.problems.filter(({ over }) => over === undefined) ?? []
}

/** Decides again each time another worker has written the row meanwhile. */
async function change(
  { store }: Relay,
  fleet: string,
  kind: ProblemKind,
  decide: (before: ProblemRow | undefined) => Promise<ProblemRow | undefined>,
): Promise<ProblemRow | undefined> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { version = 0, row: before } = (await readProblems(store, fleet, kind)) ?? {}
    const after = await decide(before)
    if (after === undefined || after === before) return after
    if ((await writeProblems(store, after, version)) === 'written') return after
  }
  throw new Error(`too many workers write the problems "${kind}" of fleet "${fleet}" at once`)
}

/** Notifies owners of what is new and what is over. Logs failures, and returns how many. */
export async function sendProblems(relay: Relay): Promise<number> {
  let failed = 0
  try {
    const rows = await listProblems(relay.store)
    for (const row of rows) {
      const dueAt = nextMessageAt(row)
      if (dueAt > relay.now()) {
        wakeAt(relay, row, dueAt)
        continue
      }
      try {
        await send(relay, row)
      } catch (error) {
        failed += 1
        const { fleet, kind } = row
        relay.log.error('alert_failed', { fleet, kind, error: messageOf(error) })
      }
    }
  } catch (error) {
    failed += 1
    relay.log.error('alert_failed', { error: messageOf(error) })
  }
  return failed
}

async function send(relay: Relay, { fleet, kind }: ProblemRow): Promise<void> {
  const { store } = relay
  const key = { fleet, eventId: alertId(kind) }
  const owners = ownersNow(relay, fleet)
  let said: FleetAlert | undefined
  let count = 0
  await change(relay, fleet, kind, async (before) => {
    const now = relay.now()
    said = undefined
    if (before === undefined || nextMessageAt(before) > now) return before
    const gone = await noLongerSilent(relay, fleet, kind, openIn(before))
    const { row, about } = withMessage(withChange(before, before, gone, now)!, now)
    if (about === undefined) return row
    const isOver = about.news.form === 'over'
    const reached = isOver ? reachedBy(await store.readDeliveries(key), row.episode) : []
    const channels = [...owners, ...reached.filter((name) => channelNamed(relay, name))]
    const deliveries = alertsTo(channels, { ...key, sequence: row.sent }, about, now)
    if (deliveries.length > 0) await store.addDeliveries(deliveries)
    said = about
    count = deliveries.length
    return row
  })
  if (said === undefined) return
  relay.wake(count, { event: key, deliveries: count })
  logMessage(relay, fleet, said, owners)
}

/** Corrects the row about silent beacons of a fleet, if it names one that is not silent. */
export async function checkSilent(relay: Relay, fleet: string): Promise<void> {
  const kind = 'beacons_silent'
  await noteProblems(relay, fleet, kind, (known) => noLongerSilent(relay, fleet, kind, known))
}

/**
 * Reads each beacon that the row names: a report may have come while its silence was noted, and the
 * relay may have forgotten the beacon.
 */
async function noLongerSilent(
  { store }: Relay,
  fleet: string,
  kind: ProblemKind,
  known: Problem[],
): Promise<ProblemChange> {
  const [back, left]: [string[], string[]] = [[], []]
  if (kind !== 'beacons_silent') return {}
  for (const { id } of known) {
    const beacon = await store.readBeacon(fleet, id)
    if (beacon === undefined || beacon.left !== undefined) left.push(id)
    else if (beacon.silence === undefined || isBack(beacon)) back.push(id)
  }
  return { back, left }
}

function logMessage(
  { log }: Relay,
  fleet: string,
  { alert: kind, names, reasons, news }: FleetAlert,
  owners: string[],
): void {
  const { form, count, remaining, left } = news!
  const about: Fields = { ...(fleet !== noFleet && { fleet }), kind, names, count, remaining }
  if (form === 'begun') log.warn('problem_begun', { ...about, reasons, owners })
  else log.info('problem_over', { ...about, left, owners })
}

/** The channels for a fleet's alerts: the fleet's own owners, else those of the configuration. */
export function ownersOf({ fleets, owners = [] }: Config, fleet: string): string[] {
  const own = Object.hasOwn(fleets, fleet) ? fleets[fleet]!.owners : undefined
  return [...new Set(own ?? owners)]
}

/** Those that the configuration still has as channels. */
export function ownersNow(relay: Relay, fleet: string): string[] {
  return ownersOf(relay.config, fleet).filter((name) => channelNamed(relay, name))
}
