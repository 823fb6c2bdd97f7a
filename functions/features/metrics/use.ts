// Gathers what metrics show. All readers share what the store returned, so that frequent scrapes
// do not load it.

import { type Access, isBound, listFleets } from '../../core/rules/access.ts'
import { channelsRouted } from '../../core/rules/routes.ts'
import { channelsInTrouble } from '../../use-cases/channel-health.ts'
import { countAll } from '../../use-cases/count.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { listSubscribed } from './needs.ts'
import type { Measured } from './rule.ts'

/** How long one read of the store is used. */
const sharedMs = 5_000

type Stored = Pick<Measured, 'counts' | 'troubled' | 'subscriptions'>

/** What the relay knows, by who asks. `reports` are added by the caller, which counts them. */
export function createMetricsReader(relay: Relay) {
  let shared: { at: number; stored: Promise<Stored> } | undefined
  const read = (): Promise<Stored> => {
    const now = relay.now()
    if (shared !== undefined && now >= shared.at && now - shared.at < sharedMs) return shared.stored
    const stored = readStored(relay)
    shared = { at: now, stored }
    stored.catch(() => {
      if (shared?.stored === stored) shared = undefined
    })
    return stored
  }
  return async (access: Access): Promise<Omit<Measured, 'reports'>> => {
    const stored = await read()
    const { config, listeningSince } = relay
    const fleets = listFleets(access, Object.keys(config.fleets))
    const channels = isBound(access)
      ? channelsRouted(config.routes, config.channels, fleets)
      : Object.keys(config.channels)
    const own = { fleets, channels, isUnbound: !isBound(access), expected: expectedIn(relay) }
    return { ...stored, ...own, now: relay.now(), listeningSince }
  }
}

async function readStored(relay: Relay): Promise<Stored> {
  const [counts, troubled, all] = await Promise.all([
    countAll(relay),
    channelsInTrouble(relay),
    listSubscribed(relay),
  ])
  const states = Map.groupBy(all, ({ state }) => state)
  return {
    counts,
    troubled: Object.fromEntries(troubled.map(({ channel, state }) => [channel, state])),
    subscriptions: Object.fromEntries([...states].map(([state, some]) => [state, some.length])),
  }
}

function expectedIn({ config }: Relay): Record<string, number> {
  const expected = Object.entries(config.fleets).flatMap(([fleet, { expectedBeacons }]) => {
    if (expectedBeacons === undefined) return []
    const names = expectedBeacons
    const count =
      typeof names === 'number' ? names : new Set(names.map((name) => name.toLowerCase())).size
    return [[fleet, count] as const]
  })
  return Object.fromEntries(expected)
}
