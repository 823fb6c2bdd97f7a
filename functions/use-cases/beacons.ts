// The beacons of a fleet: all of them page by page, and which of those that the configuration expects never
// reported. A host checks now and then who is absent.
import { messageOf } from '../../shared/errors.ts'
import { silentPaces } from '../core/event/silence.ts'
import { maxProblems } from '../core/limits.ts'
import type { Fleet } from '../core/rules/config.ts'
import type { ListedBeacon } from '../store/store.ts'
import { checkSilent, noteProblems } from './problems.ts'
import type { Relay } from './relay.ts'

/** How many never reported, and the names of their VMs, if the configuration has them. */
interface Missing {
  expected: number
  missing: number
  names: string[]
}

/** Undefined if the configuration expects nothing. */
export function missingIn(
  { expectedBeacons: expected }: Fleet,
  beacons: ListedBeacon[],
): Missing | undefined {
  if (expected === undefined) return undefined
  if (typeof expected === 'number') {
    const present = beacons.filter(({ left }) => left === undefined).length
    return { expected, missing: Math.max(0, expected - present), names: [] }
  }
  const known = new Set(beacons.map(({ vm }) => vm.toLowerCase()))
  const all = new Map(expected.map((name) => [name.toLowerCase(), name]))
  const names = [...all].flatMap(([lower, name]) => (known.has(lower) ? [] : [name]))
  return { expected: all.size, missing: names.length, names }
}

/** Keeps the alerts about absent beacons up to date. Logs failures, and tries again. */
export async function checkAbsences(relay: Relay): Promise<void> {
  const listensLong = relay.now() - relay.listeningSince >= silentPaces * relay.heartbeats.paceMs
  for (const [name, fleet] of Object.entries(relay.config.fleets)) {
    try {
      await checkSilent(relay, name)
      if (listensLong) await checkMissing(relay, name, fleet)
    } catch (error) {
      relay.log.error('absences_failed', { fleet: name, error: messageOf(error) })
    }
  }
}

async function checkMissing(relay: Relay, name: string, fleet: Fleet): Promise<void> {
  const listed = fleet.expectedBeacons === undefined ? [] : await listFleet(relay, name)
  const missing = missingIn(fleet, listed) ?? { expected: 0, missing: 0, names: [] }
  const now = relay.now()
  const ids = idsOf(missing)
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
function idsOf({ expected, missing, names }: Missing): Map<string, string> {
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

const pageSize = 1_000
/** A larger fleet is listed in part. */
const maxPages = 10

export async function listFleet(
  { store }: Pick<Relay, 'store'>,
  fleet: string,
): Promise<ListedBeacon[]> {
  const beacons: ListedBeacon[] = []
  for (let page = 0; page < maxPages; page++) {
    const after = beacons.at(-1)?.beacon
    const range = { limit: pageSize, ...(after === undefined ? {} : { after }) }
    const found = await store.listBeacons(fleet, range)
    beacons.push(...found)
    if (found.length < pageSize) break
  }
  return beacons
}
