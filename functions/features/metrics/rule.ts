// What `GET /metrics` shows, made from counts. The number of series is limited: no metric names a
// VM or an event, and what the relay does not know is `other`.
import { documentedTypes } from '../../../shared/document.ts'
import {
  type Count,
  type Counted,
  type Counts,
  latencySeconds,
  longer,
  other,
  type ReportsCounted,
  steps,
} from '../../core/counts.ts'
import { unsupported } from '../../core/rules/beacon-version.ts'

type Labels = Record<string, string>

interface Sample {
  /** The end of the metric's name: `_bucket`, `_sum` or `_count` of a histogram. */
  suffix?: string
  labels: Labels
  value: number
}

interface Metric {
  name: string
  type: 'gauge' | 'counter' | 'histogram'
  /** Explains it, in `/metrics` and in docs/monitor.md. */
  help: string
  /** The names of the labels, for docs/monitor.md. */
  labels: readonly string[]
  samples(source: Measured): Sample[]
}

export interface Measured {
  now: number
  counts: Counts
  /** Fleets and channels that the reader may see. Counts of others are left out. */
  fleets: readonly string[]
  channels: readonly string[]
  /** Whether the reader also sees what is no longer in the configuration, as `other`. */
  isUnbound: boolean
  /** The state of each channel that is in trouble. */
  troubled: Record<string, 'refusing' | 'unreachable'>
  /** How many subscriptions have each state. */
  subscriptions: Record<string, number>
  /** Beacons that the configuration expects, by fleet. */
  expected: Record<string, number>
  /** Reports that this process has counted. */
  reports: ReportsCounted
  listeningSince: number
}

const deliveryStates = ['pending', 'delivered', 'refused', 'superseded', 'given_up'] as const
const beaconStates = ['heard', 'silent', 'left'] as const
const channelStates = ['ok', 'refusing', 'unreachable'] as const
const subscriptionStates = ['pending', 'active', 'paused', 'disabled'] as const
/** The most frequent ones have series of their own. */
const maxVersions = 10

export const metrics: readonly Metric[] = [
  {
    name: 'foghorn_events',
    type: 'gauge',
    help: 'Events by step: scheduled and started are open now, the others ended since the store began.',
    labels: ['fleet', 'type', 'phase'],
    samples: (source) =>
      counted(source, 'event').map(({ fleet, name, state, n }) => {
        const type = within(name, documentedTypes)
        return { labels: { fleet, type, phase: within(state, steps) }, value: n }
      }),
  },
  {
    name: 'foghorn_undecided_events',
    type: 'gauge',
    help: 'Scheduled events that people are asked about and nobody has decided.',
    labels: ['fleet'],
    samples: ({ fleets, counts }) =>
      fleets.map((fleet) => {
        const own = counts.undecided.find((one) => one.fleet === fleet)
        return { labels: { fleet }, value: own?.count ?? 0 }
      }),
  },
  {
    name: 'foghorn_nearest_deadline_seconds',
    type: 'gauge',
    help: 'Seconds until the first undecided event may start. Absent if there is none. Negative if it is overdue.',
    labels: ['fleet'],
    samples: ({ fleets, counts, now }) =>
      counts.undecided
        .filter(({ fleet, deadlineAt }) => fleets.includes(fleet) && deadlineAt !== undefined)
        .map(({ fleet, deadlineAt }) => ({
          labels: { fleet },
          value: seconds(deadlineAt! - now),
        })),
  },
  {
    name: 'foghorn_deliveries',
    type: 'gauge',
    help: 'Messages about events to configured channels: pending ones now, the others since the store began.',
    labels: ['channel', 'state'],
    samples: (source) => deliverySamples(source),
  },
  {
    name: 'foghorn_oldest_pending_delivery_seconds',
    type: 'gauge',
    help: 'Age of the oldest pending message about an event. 0 if none is pending.',
    labels: ['channel'],
    samples: ({ counts, fleets, channels, now }) =>
      channels.map((channel) => {
        const times = counts.oldest
          .filter((one) => one.channel === channel && fleets.includes(one.fleet))
          .map(({ plannedAt }) => Math.max(0, now - plannedAt))
        return { labels: { channel }, value: seconds(Math.max(0, ...times)) }
      }),
  },
  {
    name: 'foghorn_channel_health',
    type: 'gauge',
    help: '1 for the state that the channel has, else 0.',
    labels: ['channel', 'state'],
    samples: ({ channels, troubled }) =>
      channels.flatMap((channel) => {
        const state = troubled[channel] ?? 'ok'
        return writeSample(channelStates, state).map((each) => ({
          labels: { channel, state: each.state },
          value: each.value,
        }))
      }),
  },
  {
    name: 'foghorn_subscriptions',
    type: 'gauge',
    help: 'Webhooks of other systems. The relay disables one whose endpoint fails for days. For all fleets only.',
    labels: ['state'],
    samples: ({ isUnbound, subscriptions }) =>
      isUnbound
        ? subscriptionStates.map((state) => ({
            labels: { state },
            value: subscriptions[state] ?? 0,
          }))
        : [],
  },
  {
    name: 'foghorn_beacons',
    type: 'gauge',
    help: `Beacons by state. Versions that the relay does not support, or beyond the ${maxVersions} most frequent, are "${other}".`,
    labels: ['fleet', 'state', 'version'],
    samples: (source) => beaconSamples(source),
  },
  {
    name: 'foghorn_expected_beacons',
    type: 'gauge',
    help: 'Beacons that the configuration expects (`expectedBeacons`). Absent if it does not say.',
    labels: ['fleet'],
    samples: ({ fleets, expected }) =>
      fleets.flatMap((fleet) => {
        const value = expected[fleet]
        return value === undefined ? [] : [{ labels: { fleet }, value }]
      }),
  },
  {
    name: 'foghorn_reports_total',
    type: 'counter',
    help: 'Reports of beacons that this process answered since it started. Each instance counts its own.',
    labels: ['fleet', 'outcome'],
    samples: ({ reports, fleets, isUnbound }) =>
      reports
        .filter(({ fleet }) => isUnbound || fleets.includes(fleet))
        .map(({ fleet, outcome, count }) => ({ labels: { fleet, outcome }, value: count })),
  },
  {
    name: 'foghorn_first_message_seconds',
    type: 'histogram',
    help: 'From the poll that first showed an event to the first message about it that a channel accepted.',
    labels: ['fleet', 'le'],
    samples: (source) => latencySamples(source),
  },
  {
    name: 'foghorn_counts_age_seconds',
    type: 'gauge',
    help: 'How old the counts of events, messages and beacons are. On Azure up to a minute, elsewhere seconds.',
    labels: [],
    samples: ({ counts, now }) => [{ labels: {}, value: seconds(Math.max(0, now - counts.at)) }],
  },
  {
    name: 'foghorn_listening_since_timestamp_seconds',
    type: 'gauge',
    help: 'Since when the relay receives reports without a gap, in Unix time.',
    labels: [],
    samples: ({ listeningSince }) => [{ labels: {}, value: seconds(listeningSince) }],
  },
  {
    name: 'foghorn_clock_timestamp_seconds',
    type: 'gauge',
    help: "The time by the relay's clock.",
    labels: [],
    samples: ({ now }) => [{ labels: {}, value: seconds(now) }],
  },
]

/** Counts of one kind. What has left the configuration counts as the fleet `other`. */
function counted({ counts, fleets, isUnbound }: Measured, what: Counted): Count[] {
  return counts.counts.flatMap((count) => {
    if (count.what !== what) return []
    if (fleets.includes(count.fleet)) return [count]
    return isUnbound ? [{ ...count, fleet: other }] : []
  })
}

function deliverySamples(source: Measured): Sample[] {
  const none = source.channels.flatMap((channel) =>
    deliveryStates.map((state) => ({ labels: { channel, state }, value: 0 })),
  )
  const found = counted(source, 'delivery').flatMap(({ name, state, n }) => {
    const isShown = source.isUnbound || source.channels.includes(name)
    const channel = within(name, source.channels)
    return isShown ? [{ labels: { channel, state: within(state, deliveryStates) }, value: n }] : []
  })
  return [...none, ...found]
}

function beaconSamples(source: Measured): Sample[] {
  const found = counted(source, 'beacon')
  const sums = new Map<string, number>()
  for (const { name, n } of found) sums.set(name, (sums.get(name) ?? 0) + n)
  const shown = [...sums]
    .filter(([version]) => unsupported(version) === undefined)
    .sort(([, a], [, b]) => b - a)
    .slice(0, maxVersions)
    .map(([version]) => version)
  return found.map(({ fleet, name, state, n }) => ({
    labels: { fleet, state: within(state, beaconStates), version: within(name, shown) },
    value: n,
  }))
}

/** Buckets contain those of the smaller bounds, as Prometheus wants. */
function latencySamples(source: Measured): Sample[] {
  const counts = counted(source, 'first_message')
  const sums = counted(source, 'first_message_ms')
  const fleets = [...new Set([...source.fleets, ...counts.map(({ fleet }) => fleet)])]
  return fleets.flatMap((fleet) => {
    const own = counts.filter((count) => count.fleet === fleet)
    const upTo = (limit: number) => {
      const isWithin = ({ name }: Count) => name !== longer && Number(name) <= limit
      return addUp(own.filter(isWithin))
    }
    const buckets = latencySeconds.map((le) => bucket(fleet, String(le), upTo(le)))
    const all = addUp(own)
    const tookMs = addUp(sums.filter((count) => count.fleet === fleet))
    return [
      ...buckets,
      bucket(fleet, '+Inf', all),
      { suffix: '_sum', labels: { fleet }, value: seconds(tookMs) },
      { suffix: '_count', labels: { fleet }, value: all },
    ]
  })
}

function bucket(fleet: string, le: string, value: number): Sample {
  return { suffix: '_bucket', labels: { fleet, le }, value }
}

function writeSample<State extends string>(states: readonly State[], is: State) {
  return states.map((state) => ({ state, value: state === is ? 1 : 0 }))
}

function within(name: string, known: readonly string[]): string {
  return known.includes(name) ? name : other
}

function addUp(counts: Count[]): number {
  return counts.reduce((sum, { n }) => sum + n, 0)
}

function seconds(ms: number): number {
  return ms / 1_000
}
