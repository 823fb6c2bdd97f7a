// How much of what a store has. Every store counts by these rules, so that all hosts show the same
// metrics. What has ended stays counted after the relay forgets it: then the counts only grow, and
// Prometheus can compute rates.
import { documentedTypes } from '../../shared/document.ts'
import { type Delivery, readStoredId } from './delivery/delivery.ts'
import type { Beacon } from './event/beacon.ts'
import { isHeardAgain } from './event/beacon-state.ts'
import type { EventRecord } from './event/event.ts'
import type { EventView } from './event/view.ts'

export const other = 'other'

/** What is counted, and the two names of each count. */
export type Counted =
  /** An event: its type, and its step (`countedStep`). */
  | 'event'
  /** A message about an event to a configured channel: its channel and state. */
  | 'delivery'
  /** A beacon: its version and state. */
  | 'beacon'
  /** The first message about an event: how long it took, as `chooseBucket`. */
  | 'first_message'
  /** How long all first messages took together, in ms. */
  | 'first_message_ms'

export interface Count {
  what: Counted
  fleet: string
  name: string
  state: string
  n: number
}

/** The undecided events of a fleet. */
interface Undecided {
  fleet: string
  count: number
  /** The first NotBefore, epoch ms. Absent if Azure gave none. */
  deadlineAt?: number | undefined
}

/** When the oldest pending delivery was planned, epoch ms. */
export interface Oldest {
  fleet: string
  channel: string
  plannedAt: number
}

export interface Counts {
  /** When the counting was done, epoch ms. */
  at: number
  counts: Count[]
  undecided: Undecided[]
  oldest: Oldest[]
}

/** Upper bounds of the histogram. What takes longer is counted as `longer`. */
export const latencySeconds = [1, 2, 5, 10, 30, 60, 120, 300, 900] as const
export const longer = 'longer'

export const steps = ['scheduled', 'started', 'completed', 'cancelled', 'lost'] as const
type Step = (typeof steps)[number]

/** The phase of the event. A lost event keeps its phase, so here it counts as lost. */
function countedStep({ phase, ended }: EventRecord): Step {
  return ended?.outcome ?? phase
}

export function eventCount(record: EventRecord): Count {
  const { fleet, facts } = record
  const isKnown = (documentedTypes as readonly string[]).includes(facts.eventType)
  const type = isKnown ? facts.eventType : other
  return { what: 'event', fleet, name: type, state: countedStep(record), n: 1 }
}

/** Stored channels are not counted: there may be a thousand of them. */
export function deliveryCounts(deliveries: Pick<Delivery, 'fleet' | 'channel' | 'state'>[]) {
  return deliveries
    .filter(({ channel }) => readStoredId(channel) === undefined)
    .map(({ fleet, channel, state }): Count => {
      return { what: 'delivery', fleet, name: channel, state: state, n: 1 }
    })
}

/** `deliveredAt`: when each message about the event was delivered. Drills say nothing about Azure. */
export function firstMessageCounts(
  { fleet, firstSeenAt, drill }: Pick<EventView, 'fleet' | 'firstSeenAt' | 'drill'>,
  deliveredAt: number[],
): Count[] {
  if (drill !== undefined || deliveredAt.length === 0) return []
  const took = Math.max(0, Math.min(...deliveredAt) - firstSeenAt)
  return [
    { what: 'first_message', fleet, name: chooseBucket(took), state: '', n: 1 },
    { what: 'first_message_ms', fleet, name: '', state: '', n: took },
  ]
}

function chooseBucket(ms: number): string {
  return String(latencySeconds.find((seconds) => ms <= seconds * 1_000) ?? longer)
}

/** Characters of a version. Ours has about ten; the beacon says which it is. */
const maxVersion = 64
/** Versions of one fleet that are counted by name. */
const maxVersions = 50

/** The counts of one fleet's beacons, in which rare versions are `other`: their number has a limit. */
export function withFewVersions(counts: Count[]): Count[] {
  const sums = new Map<string, number>()
  for (const { name, n } of counts) sums.set(name, (sums.get(name) ?? 0) + n)
  const frequent = [...sums].sort(([, one], [, next]) => next - one).slice(0, maxVersions)
  const named = new Set(frequent.map(([name]) => name))
  return total(counts.map((one) => (named.has(one.name) ? one : { ...one, name: other })))
}

/** Counts a beacon by its row alone. `silent` begins when an alert to the owners is collected. */
export function beaconCount({ fleet, version, ...rest }: Beacon): Count {
  const { left, silence } = rest
  const isSilent = silence !== undefined && !isHeardAgain(rest)
  const state = left !== undefined ? 'left' : isSilent ? 'silent' : 'heard'
  return { what: 'beacon', fleet, name: version.slice(0, maxVersion), state, n: 1 }
}

/** Beacons that report, or may do so again. */
export function beaconsIn({ counts }: Pick<Counts, 'counts'>): number {
  const present = counts.filter(({ what, state }) => what === 'beacon' && state !== 'left')
  return present.reduce((sum, { n }) => sum + n, 0)
}

/** Adds up counts of the same names. */
export function total(counts: Count[]): Count[] {
  const sums = new Map<string, Count>()
  for (const { n, ...names } of counts) {
    const key = JSON.stringify([names.what, names.fleet, names.name, names.state])
    sums.set(key, { ...names, n: (sums.get(key)?.n ?? 0) + n })
  }
  return [...sums.values()].filter(({ n }) => n !== 0)
}

/** What the reference says of a series that monitoring reads. */
export interface MetricText {
  name: string
  type: string
  labels: readonly string[]
  help: string
}

export type ReportOutcome = 'accepted' | 'refused'
export type ReportsCounted = { fleet: string; outcome: ReportOutcome; count: number }[]
