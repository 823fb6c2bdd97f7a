// Notices beacons that fall silent, come back or have left, without any request. Each step can be
// repeated: a beacon stays due until the alert has taken it, so after a crash the next sweep goes on.
import { hits } from '../../../shared/document.ts'
import { messageOf } from '../../../shared/errors.ts'
import type { Beacon } from '../../core/event/beacon.ts'
import { isHeardAgain, nextLookAt, silenceLeadMs } from '../../core/event/beacon-state.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { eventGrid } from '../../core/event/sight.ts'
import type { BeaconKey } from '../../store/store.ts'
import { listFleet } from '../../use-cases/beacons.ts'
import { depart } from '../../use-cases/dismiss-beacon.ts'
import { readWhole } from '../../use-cases/read-whole.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { noteProblems } from './needs.ts'
import { describeVm, isTooOld, judgeBeacon, mayShareGroup, replaces } from './rule.ts'

/** How many beacons one look at the index finds, and how many looks one sweep makes. */
const maxPerLook = 200
const maxLooks = 10
/** Sending waits for the sweep. Beacons that are left stay due. */
const maxSweepMs = 2_000
/** The newest events of a fleet. Older ones are known by the beacon's last document. */
const maxEvents = 100
/** Events of a beacon's last document. */
const maxSeen = 50
/** If the alert has no room, look again after this time. */
const fullMs = 15 * 60_000

/**
 * Looks at the beacons that are due. Logs what fails: then the beacons of that fleet stay due.
 * Returns how many fleets failed.
 */
export async function sweepBeacons(relay: Relay): Promise<number> {
  const now = relay.now()
  // after a start, most beacons report within this time, so wait before calling any of them silent
  if (now - relay.listeningSince < silenceLeadMs) return 0
  const attempt = async (work: () => Promise<void>, fleet?: string): Promise<number> => {
    try {
      await work()
      return 0
    } catch (error) {
      relay.log.error('silence_failed', { fleet, error: messageOf(error) })
      return 1
    }
  }
  let failed = 0
  // after a look a beacon is no longer due, so many beacons of one fleet do not keep others waiting
  for (let look = 0; look < maxLooks && failed === 0; look++) {
    let due: BeaconKey[] = []
    failed += await attempt(async () => {
      due = await relay.store.dueBeacons(now, maxPerLook)
    })
    for (const [fleet, keys] of Map.groupBy(due, (key) => key.fleet)) {
      failed += await attempt(() => sweepFleet(relay, fleet, keys, now), fleet)
    }
    if (due.length < maxPerLook || relay.now() - now >= maxSweepMs) break
  }
  return failed
}

async function sweepFleet(
  relay: Relay,
  fleet: string,
  keys: BeaconKey[],
  now: number,
): Promise<void> {
  const { store } = relay
  const events = new FleetEvents(relay, fleet)
  const [silent, over]: [Beacon[], Beacon[]] = [[], []]
  for (const key of keys) {
    if (relay.now() - now >= maxSweepMs) break
    const beacon = await store.readBeacon(fleet, key.beacon)
    if (beacon?.silentAt === undefined || beacon.silentAt > now) continue
    if (beacon.silence !== undefined) {
      const isOver = isHeardAgain(beacon) || beacon.left !== undefined
      ;(isOver ? over : silent).push(beacon)
      continue
    }
    const marked = await judge(relay, beacon, await events.of(beacon), now)
    if (marked !== undefined) silent.push(marked)
  }
  await note(relay, fleet, silent, over, now)
}

/** Writes what is concluded. Returns the beacon if it is silent now. */
async function judge(
  relay: Relay,
  beacon: Beacon,
  events: EventRecord[],
  now: number,
): Promise<Beacon | undefined> {
  const judged = judgeBeacon(beacon, events, now + silenceLeadMs, relay.listeningSince)
  if (judged.state === 'left') {
    await depart(relay, beacon, judged.why, now)
    return undefined
  }
  const { explainedBy: _, ...rest } = beacon
  if (judged.state === 'heard') {
    const { until, explainedBy } = judged
    const why = explainedBy === undefined ? {} : { explainedBy }
    await relay.store.replaceBeacon(beacon, { ...rest, ...why, silentAt: until - silenceLeadMs })
    return undefined
  }
  const from = Math.max(now, beacon.silentAt! + silenceLeadMs)
  // still due: the next sweep finds it if this one ends here
  const marked: Beacon = { ...rest, silence: { since: beacon.heardAt, from } }
  return (await relay.store.replaceBeacon(beacon, marked)) === 'written' ? marked : undefined
}

/** Beacons of one VM name that are read, to see whether they replaced a silent one. */
const maxNamesakes = 5

/** The beacons whose VM has another one by now. */
async function replacedIn(
  { store }: Relay,
  silent: Beacon[],
  listed: Awaited<ReturnType<typeof listFleet>>,
): Promise<Set<Beacon>> {
  const byVm = Map.groupBy(listed, describeVm)
  const gone = new Set<Beacon>()
  for (const beacon of silent) {
    const namesakes = byVm.get(describeVm(beacon)) ?? []
    const later = namesakes.filter(({ heardAt }) => heardAt > beacon.heardAt)
    for (const { beacon: id } of later.slice(0, maxNamesakes)) {
      const other = await store.readBeacon(beacon.fleet, id)
      if (other !== undefined && replaces(other, beacon)) gone.add(beacon)
    }
  }
  return gone
}

/** Changes the alert once for all, then ends the look at each beacon. */
async function note(
  relay: Relay,
  fleet: string,
  silent: Beacon[],
  over: Beacon[],
  now: number,
): Promise<void> {
  if (silent.length + over.length === 0) return
  const listed = silent.length === 0 ? undefined : await listFleet(relay, fleet)
  const gone = await replacedIn(relay, silent, listed ?? [])
  const absent = silent.filter((beacon) => !gone.has(beacon))
  const known = await noteProblems(relay, fleet, 'beacons_silent', () => ({
    add: absent.map(({ beacon, vm, silence }) => ({ id: beacon, name: vm, ...silence! })),
    back: over.filter(({ left }) => left === undefined).map(({ beacon }) => beacon),
    left: over.filter(({ left }) => left !== undefined).map(({ beacon }) => beacon),
    of: listed?.filter(({ left }) => left === undefined).length,
  }))
  const ids = new Set(known.map(({ id }) => id))
  for (const beacon of silent) {
    const { silentAt: _, ...rest } = beacon
    const next = ids.has(beacon.beacon) ? {} : { silentAt: now + fullMs }
    if (gone.has(beacon)) await depart(relay, beacon, 'replaced', now)
    else await relay.store.replaceBeacon(beacon, { ...rest, ...next })
  }
  for (const beacon of over) {
    const { silence: _, silentAt: _s, ...rest } = beacon
    const next = beacon.left === undefined ? { silentAt: nextLookAt(beacon) } : {}
    await relay.store.replaceBeacon(beacon, { ...rest, ...next })
  }
}

/** Events that may explain a silence. Each is read once for all beacons of a fleet. */
class FleetEvents {
  readonly #relay: Relay
  readonly #fleet: string
  readonly #known = new Map<string, EventRecord | undefined>()
  #recent: EventRecord[] | undefined

  constructor(relay: Relay, fleet: string) {
    this.#relay = relay
    this.#fleet = fleet
  }

  /** The events of the beacon's VM. */
  async of(beacon: Beacon): Promise<EventRecord[]> {
    const own: EventRecord[] = []
    const now = this.#relay.now()
    for (const event of await this.#candidates(beacon)) {
      if (!hits(event.facts, beacon.vm) || isTooOld(event, beacon.heardAt, now)) continue
      // others may send in the name of Event Grid
      const isSeenNear = event.sights.some(
        (one) => one.beacon !== eventGrid && mayShareGroup(one, beacon),
      )
      if (isSeenNear || beacon.sees.includes(event.eventId)) own.push(event)
    }
    return own
  }

  /** The newest events of the fleet, and those that the beacon saw last. */
  async #candidates({ sees }: Beacon): Promise<EventRecord[]> {
    const { store, host } = this.#relay
    const fleet = this.#fleet
    this.#recent ??= await store.listEvents({ fleets: [fleet], limit: maxEvents })
    const events = new Map(this.#recent.map((event) => [event.eventId, event]))
    for (const eventId of sees.slice(0, maxSeen)) {
      if (events.has(eventId)) continue
      if (!this.#known.has(eventId)) {
        await host.pause()
        const found = await readWhole(store, { fleet, eventId })
        this.#known.set(eventId, found === 'damaged' ? undefined : found)
      }
      const event = this.#known.get(eventId)
      if (event !== undefined) events.set(eventId, event)
    }
    return [...events.values()]
  }
}
