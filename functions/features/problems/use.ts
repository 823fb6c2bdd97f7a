// Problems of Foghorn itself. Code that finds one, or its end, notes it here. The sweep notifies the
// owners: a write of the row decides what its next message says, and to whom. Then the deliveries are
// stored, and the row forgets the message.
import { messageOf } from '../../../shared/errors.ts'
import type { Fields } from '../../../shared/log.ts'
import { alertId, alertsTo, reachedBy } from '../../core/delivery/alert.ts'
import type { FleetAlert } from '../../core/delivery/alert-kind.ts'
import { noFleet } from '../../core/delivery/delivery.ts'
import { listOwners } from '../../core/rules/owners.ts'
import { minuteMs } from '../../core/units.ts'
import { channelsInTrouble } from '../../use-cases/channel-health.ts'
import type { Hearer, Trouble } from '../../use-cases/hearer.ts'
import type { Job } from '../../use-cases/job.ts'
import { channelNamed, ownersNow, type Relay } from '../../use-cases/relay.ts'
import { rechecks } from '../rechecks.ts'
import { problemRows } from './load.ts'
import {
  collectMs,
  type NotedProblem,
  nextMessageAt,
  type ProblemChange,
  type ProblemKind,
  type ProblemRow,
  withChange,
  withMessage,
  withoutMessage,
} from './rule.ts'
import { channelProblems, diskProblem } from './rule-own.ts'
import './ability.ts'

/**
 * Notes what is new and what is over, by what is known. Returns the problems of this kind that are
 * not over. Throws if that is not stored.
 */
export async function noteProblems(
  relay: Relay,
  fleet: string,
  kind: ProblemKind,
  find: (known: NotedProblem[]) => ProblemChange | Promise<ProblemChange>,
): Promise<NotedProblem[]> {
  const row = await change(relay, fleet, kind, async (before) => {
    const found = await find(openIn(before))
    return withChange(before, { fleet, kind }, found, relay.now())
  })
  if (row !== undefined) wakeAt(relay, row, nextMessageAt(row))
  return openIn(row)
}

function wakeAt(relay: Relay, { fleet, kind }: ProblemRow, dueAt: number): void {
  if (dueAt === Infinity) return
  relay.work.wake(0, { event: { fleet, eventId: alertId(kind) }, deliveries: 0, dueAt })
}

/** What is wrong now, as noted last. */
export async function readOpenProblems({ store }: Relay, fleet: string, kind: ProblemKind) {
  const row = (await problemRows.read(store, { fleet, kind }))?.row
  return { problems: openIn(row), of: row?.of }
}

/** Notes something that happened. */
async function occurred(
  relay: Relay,
  fleet: string,
  { kind, name, reason }: Trouble,
): Promise<void> {
  const now = relay.now()
  const add = [{ id: name, name, since: now, from: now + collectMs, reason }]
  await noteProblems(relay, fleet, kind, () => ({ add }))
}

function openIn(row: ProblemRow | undefined): NotedProblem[] {
  return row?.problems.filter(({ over }) => over === undefined) ?? []
}

type Decide = (before: ProblemRow | undefined) => Promise<ProblemRow | undefined>

interface Entry {
  run(): Promise<void>
  resume?: () => void
}

/** Changes of one row that come together in this process wait for each other. */
async function change(
  relay: Relay,
  fleet: string,
  kind: ProblemKind,
  decide: Decide,
): Promise<ProblemRow | undefined> {
  const made: { row?: ProblemRow | undefined; error?: unknown } = {
    error: new Error(`an earlier change of ${fleet} ${kind} failed`),
  }
  const own: Entry = {
    async run() {
      try {
        const { after } = await problemRows.edit(relay.store, { fleet, kind }, async (before) => {
          const row = await decide(before?.row)
          return row === before?.row ? before : row && { row }
        })
        made.row = after?.row
        delete made.error
      } catch (error) {
        made.error = error
      }
    },
  }
  await relay.work.changes.make(JSON.stringify(['problems', fleet, kind]), own, async (queue) => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      await (next as Entry).run()
      next.resume?.()
    }
  })
  if (made.error !== undefined) throw made.error
  return made.row
}

/** Notifies owners of what is new and what is over. Logs failures, and returns how many. */
export async function sendProblems(relay: Relay): Promise<number> {
  let failed = 0
  try {
    const rows = await problemRows.list(relay.store)
    for (const { row } of rows) {
      try {
        const dueAt = nextMessageAt(row)
        if (dueAt > relay.now()) wakeAt(relay, row, dueAt)
        else await send(relay, row)
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
  const row = await change(relay, fleet, kind, (before) => withNextMessage(relay, before))
  if (row?.message === undefined) return
  const { about, to } = row.message
  const deliveries = alertsTo(to, { ...key, sequence: row.sent }, about, relay.now())
  if (deliveries.length > 0) await store.addDeliveries(deliveries)
  const after = await change(
    relay,
    fleet,
    kind,
    async (before) => before && withoutMessage(before, row),
  )
  relay.work.wake(deliveries.length, { event: key, deliveries: deliveries.length })
  if (after !== undefined) wakeAt(relay, after, nextMessageAt(after))
  logMessage(relay, fleet, about)
}

/** Decides the message that is due, and who gets it. */
async function withNextMessage(
  relay: Relay,
  before: ProblemRow | undefined,
): Promise<ProblemRow | undefined> {
  const now = relay.now()
  if (before === undefined || before.message !== undefined || nextMessageAt(before) > now)
    return before
  const { fleet, kind } = before
  const ids = openIn(before).map(({ id }) => id)
  const gone = (await rechecks[kind]?.(relay, fleet, ids)) ?? {}
  const { row, about } = withMessage(withChange(before, before, gone, now)!, now)
  if (about === undefined) return row
  const isOver = about.news.form === 'over'
  const existing = isOver ? await relay.store.readDeliveries({ fleet, eventId: alertId(kind) }) : []
  const reached = reachedBy(existing, row.episode).filter((name) => channelNamed(relay, name))
  return { ...row, message: { about, to: [...ownersNow(relay, fleet), ...reached] } }
}

function logMessage(
  relay: Relay,
  fleet: string,
  { alert: kind, names, reasons, news }: FleetAlert,
): void {
  const { log } = relay
  const owners = ownersNow(relay, fleet)
  const { form, count, remaining, left } = news!
  const about: Fields = { ...(fleet !== noFleet && { fleet }), kind, names, count, remaining }
  if (form === 'begun') log.warn('problem_begun', { ...about, reasons, owners })
  else log.info('problem_over', { ...about, left, owners })
}

export const ownChecks: Job = {
  everyMs: { free: 5 * minuteMs, paid: 5 * minuteMs },
  async run(relay) {
    const { disk } = relay.host.abilities
    if (disk) {
      const find = async (known: NotedProblem[]) => diskProblem(await disk(), known, relay.now())
      await checkFor(relay, 'disk_nearly_full', find)
    }
    await checkChannels(relay)
    return 'done'
  },
}

/** Notes which channels are in trouble that owners would not hear of otherwise. Logs failures. */
async function checkChannels(relay: Relay): Promise<void> {
  const { channels } = relay.config
  await checkFor(relay, 'channels_in_trouble', async (known) => {
    const owners = listOwners(relay.config, noFleet)
    return channelProblems(await channelsInTrouble(relay), channels, owners, known, relay.now())
  })
}

export const problemHearer: Hearer = { occurred, healthChanged: checkChannels }

async function checkFor(
  relay: Relay,
  kind: ProblemKind,
  find: (known: NotedProblem[]) => Promise<ProblemChange>,
): Promise<void> {
  try {
    await noteProblems(relay, noFleet, kind, find)
  } catch (error) {
    relay.log.error('own_check_failed', { kind, error: messageOf(error) })
  }
}
