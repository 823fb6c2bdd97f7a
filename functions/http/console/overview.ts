// Whether Foghorn sees the VMs and reaches people: beacons that report, and channels that work.
import { noFleet } from '../../core/delivery/delivery.ts'
import { findFleet } from '../../core/rules/config.ts'
import { countAll } from '../../use-cases/count.ts'
import { listReadAt } from '../../use-cases/published.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { type ReadAbsent, readAbsentBy } from './absent.ts'

export interface Overview {
  /** Undecided events. */
  undecided: number
  reporting: number
  silent: Absent[]
  missing: Absent[]
  /** Azure itself sends events of these fleets. */
  azure?: AzureSight
  /** Channels that have accepted a message, and those that have refused one or let it wait too long. */
  accepted: string[]
  failed: string[]
}

/** `readAt`: when the relay last read Azure's list of events. Absent: never. */
interface AzureSight {
  readAt?: number
  isFresh: boolean
}

/** The list is read every hour at least. */
const freshMs = 70 * 60_000

/** The absent beacons of one fleet. */
interface Absent {
  fleet: string
  count: number
  /** The names that are known. */
  names: string[]
}

/** Reads the overview of these fleets from the relay's own counts and checks. */
export async function readOverview(
  relay: Relay,
  readers: readonly ReadAbsent[],
  fleets: string[],
): Promise<Overview> {
  const { counts, undecided } = await countAll(relay)
  const beacons = (fleet: string, state: string) =>
    counts
      .filter((one) => one.what === 'beacon' && one.fleet === fleet && one.state === state)
      .reduce((sum, { n }) => sum + n, 0)
  const absent = async (fleet: string): Promise<{ silent: Absent; missing: Absent }> => {
    const count = beacons(fleet, 'silent')
    const missing = relay.config.fleets[fleet]?.expectedBeacons !== undefined
    const names = await readAbsentBy(readers, relay, fleet, { silent: count > 0, missing })
    return {
      silent: { fleet, count, names: names.silent.filter(Boolean) },
      missing: { fleet, count: names.missing.length, names: names.missing.filter(Boolean) },
    }
  }
  const all = await Promise.all(fleets.map(absent))
  const azure = await readAzureSight(relay, fleets)
  const isSeen = (fleet: string) => fleet === noFleet || fleets.includes(fleet)
  const channelsWith = (...states: string[]) => {
    const found = counts.filter(
      ({ what, fleet, state }) => what === 'delivery' && states.includes(state) && isSeen(fleet),
    )
    return [...new Set(found.map(({ name }) => name))]
  }
  return {
    undecided: undecided
      .filter(({ fleet }) => fleets.includes(fleet))
      .reduce((sum, { count }) => sum + count, 0),
    reporting: fleets.reduce((sum, fleet) => sum + beacons(fleet, 'heard'), 0),
    silent: all.map(({ silent }) => silent).filter(({ count }) => count > 0),
    missing: all.map(({ missing }) => missing).filter(({ count }) => count > 0),
    ...(azure && { azure }),
    accepted: channelsWith('delivered'),
    failed: channelsWith('refused', 'given_up'),
  }
}

async function readAzureSight(relay: Relay, fleets: string[]): Promise<AzureSight | undefined> {
  const { outside, config, now } = relay
  const isUsed = outside.azure?.subscriptions.some((id) =>
    fleets.includes(findFleet(config, id) ?? ''),
  )
  if (!isUsed) return undefined
  const readAt = await listReadAt(relay)
  if (readAt === undefined) return { isFresh: false }
  return { readAt, isFresh: now() - readAt <= freshMs }
}
