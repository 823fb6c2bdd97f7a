// Does what time brings to events, such as stuck, lost or a rule's turn, without any request.
import { messageOf } from '../../shared/errors.ts'
import { decideTime } from '../core/event/decide.ts'
import { sweeps } from '../features/jobs.ts'
import type { EventKey } from '../store/store.ts'
import { commitEvent } from './commit-event.ts'
import { learnVms, mustLearnVms } from './learn-vms.ts'
import { reconcile } from './published.ts'
import { buildContext, type Relay } from './relay.ts'
import { takeSlotIfDue } from './take-slot.ts'
import { mustTellAzure, tellAzure } from './tell-azure.ts'

const maxEventsPerSweep = 200
/** Sending waits for the sweep, so after this time the other events wait for the next one. */
const maxSweepMs = 2_000

/**
 * Does what features have to do, then concludes the events that are due, as many as time allows. Logs failures:
 * these stay due, and the others go on. Returns how many failed, and how many events were due.
 */
export async function sweep(relay: Relay): Promise<{ failed: number; due: number }> {
  let failed = 0
  for (const one of sweeps) failed += await attempt(relay, () => one(relay))
  failed += await attempt(relay, () => reconcile(relay).then(() => 0))
  const from = relay.now()
  // what the list has changed is due a moment after it was written
  const due = await relay.store.dueEvents(relay.now(), maxEventsPerSweep)
  for (const key of due) {
    if (relay.now() - from >= maxSweepMs) break
    await relay.host.pause()
    try {
      await concludeOne(relay, key)
    } catch (error) {
      failed += 1
      relay.log.error('conclusion_failed', { ...key, error: messageOf(error) })
    }
  }
  return { failed, due: due.length }
}

/** One step that fails keeps no other from being taken. Returns how many failed. */
async function attempt(relay: Relay, step: () => Promise<number>): Promise<number> {
  try {
    return await step()
  } catch (error) {
    relay.log.error('sweep_failed', { error: messageOf(error) })
    return 1
  }
}

async function concludeOne(relay: Relay, key: EventKey): Promise<void> {
  const known = await relay.store.readEvent(key)
  if (known === undefined) return
  const learns = mustLearnVms(known, relay.now())
  if (learns) await learnVms(relay, key, known)
  const tells = mustTellAzure(relay, known, relay.now())
  if (tells) await tellAzure(relay, key, known)
  await commitEvent(relay, key, {
    ...(!(tells || learns) && { known }),
    readBeside: (before, now) => takeSlotIfDue(relay, before, now),
    decide: (before, now, slot) => decideTime(before, { ...buildContext(relay), slot }, now),
    log: {
      event: 'event_concluded',
      fields: ({ record }) => ({ inferred: record?.ended?.inferred }),
    },
  })
}
