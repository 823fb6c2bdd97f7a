// The job that removes what ended long ago, and what failed writes left.
import { dayMs, hourMs } from '../core/units.ts'
import { forgottenRow } from '../store/small-rows.ts'
import type { Job } from './job.ts'
import type { Relay } from './relay.ts'

const maxPerStep = 500
/** A deleted VM stays silent. A VM that was only switched off comes back under the same name. */
const beaconDays = 7

/**
 * Takes one step. Unless the clocks of VMs say that the relay's is right, one run forgets at most what one day
 * makes old: a clock that is wrong for a moment must not delete the history.
 */
export async function forgetOld({
  store,
  log,
  config,
  now: clock,
  clockWatch,
}: Relay): Promise<'done' | 'more'> {
  const now = clock()
  const last = await forgottenRow.read(store)
  // the clock is wrong now, or was at the last run
  if (last !== undefined && now < last.asOf) return 'done'
  const isSure = last === undefined || clockWatch.isRight()
  const asOf = isSure ? now : Math.min(now, last.asOf + dayMs)
  const before = asOf - config.retentionDays * dayMs
  const forgotten = await store.forget(before, maxPerStep, asOf - beaconDays * dayMs)
  if (forgotten > 0) log.info('forgotten', { rows: forgotten })
  const isMore = forgotten >= maxPerStep
  if (isMore) return 'more'
  // in a conflict, another worker has just noted the same
  await forgottenRow.write(store, { asOf }, last?.version ?? 0)
  await store.tidy(Object.keys(config.fleets), now)
  return 'done'
}

export const forgetting: Job = { everyMs: { free: hourMs, paid: hourMs }, run: forgetOld }
