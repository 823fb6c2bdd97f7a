// The subscriptions of a world, as its seed plans them: what each wants to hear, what its endpoint
// does wrong, and what its owner does with it.
import type { MomentFilter } from '../../functions/core/delivery/moment-log.ts'
import { type Moment, moments } from '../../functions/core/event/moment.ts'
import { endpointKinds, type Faults } from './faults.ts'
import type { FleetName } from './planned.ts'
import type { Random } from './random.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

export type TroubleKind = (typeof endpointKinds)[number]

/** Times are ms after the world began. */
interface Span {
  fromMs: number
  /** Infinity: for ever. */
  untilMs: number
}

/** A subscription as the store has it, as far as a book reads it. */
export interface StoredSubscription {
  id: string
  url: string
  state: 'pending' | 'active' | 'paused' | 'disabled'
  consented: boolean
  secrets: object[]
}

export interface PlannedSubscription {
  /** Idempotency key, and part of the address. */
  name: string
  url: string
  /** The fleets of the token that makes it. Absent: made with the admin key. */
  fleets: FleetName[] | undefined
  filter: MomentFilter
  consent: 'ping' | 'options'
  joinsAfterMs: number
  trouble: (Span & { as: TroubleKind }) | undefined
  /** Answers take seconds. */
  isSlow: boolean
  pause: Span | undefined
  rotatesAfterMs: number | undefined
  testsAfterMs: number | undefined
  testMoment: Moment
  /** When its owner deletes it. */
  leavesAfterMs: number | undefined
  /** When its owner begins to replay what failed. Absent: never, as the endpoint stays broken. */
  replaysAfterMs: number | undefined
}

/** In half of the worlds. A flood makes so many moments that one subscription is enough there. */
const share = 0.5
const mostMoments = ['scheduled', 'approved', 'started', 'completed', 'cancelled', 'changed']
/** Events are over by then, and alerts are sent. */
const settledMs = 50 * minute

export function subscriptionsOf(random: Random, faults: Faults): PlannedSubscription[] {
  if (!random.chance(share)) return []
  const count = faults.fleet_floods > 0 ? 1 : random.int(1, 4)
  return Array.from({ length: count }, (_, i) => subscriptionOf(random.fork(`of ${i}`), i, faults))
}

function subscriptionOf(random: Random, index: number, faults: Faults): PlannedSubscription {
  const name = `endpoint-${index}`
  // the first one is honest: its messages must not wait for the others
  const trouble = index === 0 ? undefined : troubleOf(random.fork('trouble'), faults)
  const pausedAt = random.int(20, 150) * second
  const pause = { fromMs: pausedAt, untilMs: pausedAt + random.int(5, 300) * second }
  const leaves = random.chance(0.08)
  const healedMs = trouble?.untilMs ?? 0
  const replaysAfterMs = Math.max(settledMs, healedMs) + random.int(1, 10) * minute
  const isReplayed = !leaves && Number.isFinite(replaysAfterMs)
  const some = (chance: number, ms: number) => (random.chance(chance) ? ms : undefined)
  return {
    name,
    url: `https://${name}.example/in/secret-path-of-${name}`,
    fleets: random.pick([undefined, undefined, ['prod'], ['test']]),
    filter: filterOf(random.fork('filter')),
    consent: random.chance(0.2) ? 'options' : 'ping',
    joinsAfterMs: random.pick([0, 0, random.int(0, 20), random.int(0, 150)]) * second,
    trouble,
    isSlow: trouble === undefined && index > 0 && random.chance(0.2),
    pause: random.chance(0.3) ? pause : undefined,
    rotatesAfterMs: some(0.2, random.int(10, 200) * second),
    testsAfterMs: some(0.3, random.int(5, 200) * second),
    testMoment: random.fork('test').pick(moments),
    leavesAfterMs: leaves ? random.int(60, 300) * second : undefined,
    replaysAfterMs: isReplayed ? replaysAfterMs : undefined,
  }
}

function filterOf(random: Random): MomentFilter {
  return random.pick<MomentFilter>([
    {},
    {},
    {},
    { moments: mostMoments.filter(() => random.chance(0.6)).concat('lost') },
    { eventTypes: ['Freeze', 'Reboot', 'Redeploy'] },
    { fleets: ['prod'] },
    { fleets: ['test'], moments: ['scheduled', 'completed'] },
    { resource: '*_0' },
    { resource: 'WEB_*' },
  ])
}

const lasting: Record<TroubleKind, readonly number[]> = {
  endpoint_lies: [3 * minute, Number.POSITIVE_INFINITY],
  endpoint_hangs: [3 * minute, 40 * minute, Number.POSITIVE_INFINITY],
  endpoint_redirects: [10 * minute, 2 * hour, Number.POSITIVE_INFINITY],
  endpoint_gone: [10 * minute, 2 * hour, Number.POSITIVE_INFINITY],
  endpoint_fails: [hour, 4 * hour, 9 * hour],
  // after 5 days the relay disables it
  endpoint_away: [day, 2 * day, 6 * day],
}
/** Days take as long as ten other worlds. */
const awayShare = 0.15

function troubleOf(random: Random, faults: Faults): PlannedSubscription['trouble'] {
  const mayBeAway = random.chance(awayShare)
  const kinds = endpointKinds.filter(
    (kind) => faults[kind] > 0 && (kind !== 'endpoint_away' || mayBeAway),
  )
  if (kinds.length === 0 || random.chance(0.2)) return undefined
  const as = kinds.includes('endpoint_away') ? 'endpoint_away' : random.pick(kinds)
  const fromMs = random.chance(0.2) ? 0 : random.int(5, 150) * second
  return { as, fromMs, untilMs: fromMs + random.pick(lasting[as]) }
}
