// Keeps the alerts about absent beacons up to date: silent ones, and those that never reported.
import { messageOf } from '../../../shared/errors.ts'
import { silentPaces } from '../../core/event/beacon-state.ts'
import { maxProblems } from '../../core/limits.ts'
import type { Fleet } from '../../core/rules/config.ts'
import { hourMs, minuteMs } from '../../core/units.ts'
import { listFleet, type Missing, missingIn } from '../../use-cases/beacons.ts'
import type { Job } from '../../use-cases/job.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { noteProblems } from './needs.ts'
import { noLongerSilent } from './recheck.ts'

/** It reads whole fleets. */
export const absences: Job = {
  everyMs: { free: 5 * minuteMs, paid: hourMs },
  async run(relay) {
    const listensLong =
      relay.now() - relay.listeningSince >= silentPaces * relay.host.heartbeats.paceMs
    for (const [name, fleet] of Object.entries(relay.config.fleets)) {
      try {
        await checkSilent(relay, name)
        if (listensLong) await checkMissing(relay, name, fleet)
      } catch (error) {
        relay.log.error('absences_failed', { fleet: name, error: messageOf(error) })
      }
    }
    return 'done'
  },
}

async function checkMissing(relay: Relay, name: string, fleet: Fleet): Promise<void> {
  const listed = fleet.expectedBeacons === undefined ? [] : await listFleet(relay, name)
  const missing = missingIn(fleet, listed) ?? { expected: 0, missing: 0, names: [] }
  const now = relay.now()
  const ids = listIds(missing)
  const isExpected = isExpectedBy(fleet)
  await noteProblems(relay, name, 'beacons_missing', (known) => {
    const gone = known.map(({ id }) => id).filter((id) => !ids.has(id))
    return {
      add: [...ids].map(([id, name]) => ({ id, name, since: now, from: now })),
      back: gone.filter(isExpected),
      left: gone.filter((id) => !isExpected(id)),
      of: missing.expected,
    }
  })
}

/**
 * Names of VMs by their id in the alert. If only a number is expected, the ids are places: with 38
 * of 40, the 39th and the 40th are missing.
 */
function listIds({ expected, missing, names }: Missing): Map<string, string> {
  if (names.length > 0)
    return new Map(names.slice(0, maxProblems).map((name) => [name.toLowerCase(), name]))
  const places = Array.from(
    { length: Math.min(missing, maxProblems) },
    (_, i) => `#${expected - i}`,
  )
  return new Map(places.map((place) => [place, '']))
}

function isExpectedBy({ expectedBeacons: expected }: Fleet): (id: string) => boolean {
  if (typeof expected === 'number') return (id) => Number(id.slice(1)) <= expected
  const names = new Set((expected ?? []).map((name) => name.toLowerCase()))
  return (id) => names.has(id)
}

/** Corrects the row about silent beacons of a fleet, if it names one that is not silent. */
async function checkSilent(relay: Relay, fleet: string): Promise<void> {
  const find = (known: { id: string }[]) =>
    noLongerSilent(
      relay,
      fleet,
      known.map(({ id }) => id),
    )
  await noteProblems(relay, fleet, 'beacons_silent', find)
}
