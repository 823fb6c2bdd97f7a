// What a seed makes of the world before it begins: tenants, their VMs, the configuration of the relay,
// and the course of every event as Azure and the owner of the VMs intend it.
import { readConfig } from '../../functions/config/config.ts'
import { alignedHeartbeats, type Heartbeats } from '../../functions/core/event/heartbeat.ts'
import type { PolicyRule } from '../../functions/core/rules/policy.ts'
import { simFeatures } from '../features/sim.ts'
import type { EventPatch } from '../simulator/requests.ts'
import { ann, annId, bobId, tenant } from '../support/principals.ts'
import { botChannel } from '../support/slack-bot.ts'
import { ada, bob, home, signingSecret } from '../support/slack-press.ts'
import { baseConfig, prodKey } from '../support/world.ts'
import type { Faults } from './faults.ts'
import type { Act } from './feature.ts'
import { type HookPlan, hooksOf } from './hooks.ts'
import type { Alteration, FleetName, PlannedEvent } from './planned.ts'
import { publishedFleet, subscription } from './published-fleet.ts'
import type { Random } from './random.ts'
import { type PlannedSubscription, subscriptionsOf } from './subscriptions.ts'
import { type Away, troublesOf } from './troubles.ts'

export type { Alteration, FleetName, PlannedEvent }

export interface PlannedVm {
  name: string
  fleet: FleetName
  tags: Record<string, string>
}

export interface Plan {
  tenants: Record<FleetName, string[][]>
  vms: PlannedVm[]
  events: PlannedEvent[]
  config: ReturnType<typeof readConfig>
  /** When idle beacons report. Not every host has a window. */
  heartbeats: Heartbeats
  /** Absent if no VM has hooks. */
  hooks: HookPlan | undefined
  /** People who look at messages; each may decide. */
  people: number
  /** What an admin sends to start drills, and when. */
  drills: { id: string; afterMs: number; wish: object }[]
  /** What an admin does with features. */
  acts: (Act & { feature: string })[]
  /** A rule that counts only until then, ms after the world began. */
  timed: { rule: PolicyRule; untilMs: number } | undefined
  /** When no relay answers. */
  away: Away | undefined
  /** When an admin asks for everything that failed to be sent again, ms after the world began. */
  replayAfterMs: number[]
  /** Empty in half of the worlds, which are as they would be if there were no subscriptions. */
  subscriptions: PlannedSubscription[]
}

const second = 1_000
export const minute = 60_000

export function makePlan(random: Random, faults: Faults): Plan {
  const tenants: Plan['tenants'] = { prod: tenantsOf(random, 'web', 'db'), test: [] }
  if (random.chance(0.3)) tenants.test = tenantsOf(random, 'lab', 'try')
  const vms = (['prod', 'test'] as const).flatMap((fleet) =>
    tenants[fleet].flat().map((name, i) => ({
      name,
      fleet,
      tags: { tier: i % 3 === 2 ? 'data' : 'web' } as Record<string, string>,
    })),
  )
  const events = Array.from({ length: random.int(1, 3) }, (_, i) => eventOf(random, tenants, i))
  if (random.chance(0.05)) events.push(...wave(random, events[0]!))
  const mirrored = tenants.test.length > 0 && random.chance(0.5) ? mirror(events[0]!, tenants) : []
  // a stream of its own: worlds without hooks are as they would be if there were none
  const hooks = hooksOf(random.fork('hooks'), vms)
  const troubles = troublesOf(random.fork('troubles'), tenants, faults)
  const timed = timedOf(random.fork('timed'))
  const config = configOf(random, faults.azure_publishes > 0)
  const { rule } = timed ?? {}
  return {
    tenants,
    vms,
    away: troubles.away,
    events: [...events, ...mirrored, ...troubles.events],
    config: {
      ...config,
      ...(rule && { policy: [rule, ...config.policy] }),
      routes: shiftsOf(random.fork('shifts'), config.routes),
      ...(hooks && { policy: [hooks.rule] }),
    },
    acts: simFeatures.flatMap(({ name, plan }) =>
      (plan?.(random.fork(name), tenants) ?? []).map((act) => ({ ...act, feature: name })),
    ),
    timed: hooks === undefined ? timed : undefined,
    heartbeats: heartbeatsOf(random.fork('heartbeats')),
    hooks,
    drills: drillsOf(random.fork('drills'), vms),
    people: random.pick([0, 1, 1, 2, 3]),
    subscriptions: simFeatures.some(({ subscribes }) => subscribes)
      ? subscriptionsOf(random.fork('subscriptions'), faults)
      : [],
    replayAfterMs: random.chance(0.3) ? [random.int(30, 200) * second, 12 * minute] : [],
  }
}

/** In every sixth world, a rule approves in the first minutes. It comes before the others. */
function timedOf(random: Random): Plan['timed'] {
  if (!random.chance(0.17)) return undefined
  const minutes = random.int(1, 2)
  const time = { from: '12:00', to: `12:0${minutes}`, zone: 'UTC' }
  const rule = { name: 'for some minutes', match: { time }, decide: 'approve' }
  const { policy } = readConfig(JSON.stringify({ ...baseConfig, policy: [rule] }), {})
  return { rule: policy[0]!, untilMs: minutes * minute }
}

/** In every eighth world, the first route counts for some minutes, or begins then. */
function shiftsOf(random: Random, routes: Plan['config']['routes']): Plan['config']['routes'] {
  if (!random.chance(0.12)) return routes
  const change = `12:0${random.int(1, 2)}`
  const time = random.chance(0.5) ? { from: '12:00', to: change } : { from: change, to: '12:00' }
  const match = { time: { ...time, zone: 'UTC' } }
  const text = JSON.stringify({ ...baseConfig, routes: [{ match, channels: ['chat'] }] })
  const [timed] = readConfig(text, {}).routes
  const [first, ...others] = routes
  return [{ ...first!, match: { ...first!.match, time: timed!.match.time } }, ...others]
}

/** The window of a world is anywhere, as if each had a relay at another address. */
function heartbeatsOf(random: Random): Heartbeats {
  const beacons = random.pick([10, 1_000, 1_000])
  const aligned = alignedHeartbeats(`https://${random.next()}.example`, beacons)
  return random.chance(0.5) ? aligned : { paceMs: 15 * minute }
}

/** Among the real events: of VMs that exist and are hit by those, too. */
function drillsOf(random: Random, vms: PlannedVm[]): Plan['drills'] {
  return Array.from({ length: random.pick([0, 0, 0, 1, 1, 2]) }, (_, i) => {
    const { fleet, name, tags } = random.pick(vms)
    const noticeSeconds = random.pick([0, 20, 60, 120])
    const changes = noticeSeconds > 0 && random.chance(0.3)
    const wish = {
      fleet,
      type: random.pick(['Freeze', 'Reboot', 'Preempt']),
      resources: [name],
      noticeSeconds,
      impactSeconds: random.int(1, 30),
      ...(random.chance(0.5) ? { source: 'User' } : {}),
      ...(random.chance(0.5) ? { tags } : {}),
      ...(changes ? { changeAfterSeconds: random.int(1, noticeSeconds - 1) } : {}),
    }
    return { id: `sim-${i}`, afterMs: random.int(0, 100) * second, wish }
  })
}

function tenantsOf(random: Random, first: string, second: string): string[][] {
  const size = random.pick([1, 1, 2, 2, 3, 4])
  const names = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${name}_${i}`)
  return random.chance(0.25)
    ? [names(first, size), names(second, random.int(1, 2))]
    : [names(first, size)]
}

/** More like the first one, within seconds of it: more than a chat takes one by one. */
function wave(random: Random, first: PlannedEvent): PlannedEvent[] {
  return Array.from({ length: random.int(4, 12) }, (_, i) => ({
    ...first,
    id: idOf(random, 4 + (i % 6)),
    afterMs: first.afterMs + random.int(0, 4_000),
    patches: [],
  }))
}

/** The same id in the other fleet: an id of Azure is no proof of anything here. */
function mirror(event: PlannedEvent, tenants: Plan['tenants']): PlannedEvent[] {
  const fleet = event.fleet === 'prod' ? 'test' : 'prod'
  const vm = tenants[fleet][0]?.[0]
  if (vm === undefined) return []
  const request = { ...event.request, Resources: [vm] }
  return [{ ...event, fleet, request, patches: [], afterMs: event.afterMs + 2 * second }]
}

function eventOf(random: Random, tenants: Plan['tenants'], index: number): PlannedEvent {
  const fleet = tenants.test.length > 0 && random.chance(0.4) ? 'test' : 'prod'
  const vms = random.pick(tenants[fleet])
  const type = random.pick([
    'Freeze',
    'Freeze',
    'Reboot',
    'Reboot',
    'Redeploy',
    'Preempt',
    'Terminate',
  ])
  const noticeSeconds = noticeOf(random, type)
  const takes = type === 'Preempt' || type === 'Terminate'
  const hit = takes ? random.int(1, Math.min(2, vms.length)) : random.int(1, vms.length)
  const first = random.int(0, vms.length - hit)
  const cancelled = noticeSeconds > 10 && random.chance(0.2)
  const elsewhere = noticeSeconds > 10 && random.chance(0.1)
  const within = () => random.int(second, noticeSeconds * 900)
  const news = newsOf(random.fork(`news ${index}`), vms, hit)
  return {
    id: idOf(random, index),
    fleet,
    afterMs: random.int(0, 90) * second + random.int(0, 999),
    request: {
      EventType: type,
      EventSource: random.chance(0.3) ? 'User' : 'Platform',
      Resources: vms.slice(first, first + hit),
      DurationInSeconds: type === 'Freeze' ? random.pick([5, 5, 30, -1]) : -1,
      noticeSeconds,
      impactSeconds: random.pick([0.2, 0.7, 2, 8, 20, 60]),
      startDelayMs: random.pick([0, 0, 500, 5_000, 20_000]),
      takesVmDown: (type === 'Reboot' || type === 'Redeploy') && random.chance(0.5),
    },
    patches: noticeSeconds > 20 ? [...patchesOf(random, vms, within), ...news] : [],
    cancelAfterMs: cancelled ? within() : undefined,
    approvedElsewhereAfterMs: elsewhere ? within() : undefined,
  }
}

function noticeOf(random: Random, type: string): number {
  if (type === 'Preempt') return random.int(5, 30)
  if (random.chance(0.12)) return 0
  if (random.chance(0.05)) return random.int(300, 600)
  return random.int(12, 120)
}

function patchesOf(random: Random, vms: string[], within: () => number): PlannedEvent['patches'] {
  const kinds: ((now: number) => EventPatch)[] = [
    (now) => ({ NotBefore: new Date(now + 90 * second).toISOString() }),
    (now) => ({ NotBefore: new Date(now + 20 * second).toISOString() }),
    () => ({ Description: `Revised: ${vms.length} VMs.` }),
    () => ({ DurationInSeconds: 7 }),
    () => ({ Resources: vms }),
  ]
  const count = random.pick([0, 0, 0, 1, 1, 2])
  return Array.from({ length: count }, () => ({ afterMs: within(), patch: random.pick(kinds) }))
}

/** Whom it hits, or for how long, changes while people make up their minds. */
function newsOf(random: Random, vms: string[], hit: number): PlannedEvent['patches'] {
  const afterMs = random.int(3 * second, 15 * second)
  const others = hit < vms.length ? vms : vms.slice(0, 1)
  const kind = random.next()
  if (kind < 0.45) return [{ afterMs, patch: () => ({ Resources: others }) }]
  return kind < 0.6 ? [{ afterMs, patch: () => ({ DurationInSeconds: 7 }) }] : []
}

function idOf(random: Random, index: number): string {
  const digits = Math.floor(random.next() * 2 ** 40).toString(16)
  const id = `c7061bac-afdc-4513-b24${index}-${digits.padStart(12, '0')}`
  return random.chance(0.5) ? id.toUpperCase() : id
}

const tell = { match: { eventType: 'Preempt' }, decide: 'notify' }
const usual = [
  { match: { source: 'User' }, decide: 'approve' },
  { match: { eventType: 'Freeze', maxDurationSeconds: 9 }, decide: 'approve' },
  tell,
]
const policies: object[][] = [
  [],
  usual,
  usual,
  [{ match: { tag: 'tier=web' }, decide: 'approve' }, tell],
  [{ match: { resource: '*_0' }, decide: 'ignore' }],
  [{ match: { maxDurationSeconds: 9 }, decide: 'approve' }],
]

/** What the first rule needs to know may come late, or never. */
const layered: object[][] = [
  [
    { match: { tag: 'tier=data' }, decide: 'ask' },
    { match: {}, decide: 'approve' },
  ],
  [
    { match: { source: 'Platform' }, decide: 'notify' },
    { match: {}, decide: 'approve' },
  ],
  [
    { match: { maxDurationSeconds: 9 }, decide: 'ignore' },
    { match: {}, decide: 'approve' },
  ],
]

/** People as Slack and Entra name them; Bob is on no list, and the last one is of another workspace. */
const [adaHere, bobHere, eve] = [`${home}/${ada}`, `${home}/${bob}`, 'T0PARTNER/U0EVE']
export const slackPeople = [adaHere, adaHere, bobHere, eve]
export const entraPeople = [`${tenant}/${annId}`, `${tenant}/${annId}`, `${tenant}/${bobId}`]
const listable = [`slack:${adaHere}`, ann, `slack:${eve}`]

const botApi = `https://slack.example${new URL(botChannel.endpoint).pathname}`

function configOf(random: Random, isPublished: boolean): Plan['config'] {
  // its chat is told by a bot in every third world
  const bot = { chat: { ...botChannel, endpoint: botApi } }
  const all: Record<string, object> = {
    ...(baseConfig.channels as Record<string, object>),
    ...(random.fork('bot').chance(0.34) && bot),
  }
  const names = Object.keys(all).filter(() => random.chance(0.5))
  if (names.length === 0) names.push(random.pick(['chat', 'team', 'pager']))
  const fallback = names.length > 1 && random.chance(0.5) ? { fallback: names[1] } : {}
  const channels = Object.fromEntries(
    names.map((name, i) => [name, i === 0 ? { ...all[name], ...fallback } : all[name]]),
  )
  const tagged = names.length > 1 && random.chance(0.3)
  // Azure may change the type of an event while it is open
  const typed = random.fork('typed').chance(0.4) ? { eventType: ['Freeze', 'Reboot'] } : undefined
  const reminds = random.chance(0.3) ? { remindBeforeSeconds: [60, 30] } : {}
  const narrow = tagged ? { tag: 'tier=data' } : names.length > 1 ? typed : undefined
  const routes = narrow
    ? [
        { match: {}, channels: names.slice(1), ...reminds },
        { match: narrow, channels: names.slice(0, 1) },
      ]
    : [{ match: {}, channels: names, ...reminds }]
  // nobody decides: somebody is called
  if (random.chance(0.2)) {
    const channels = random.chance(0.5) ? ['pager'] : names.slice(0, 1)
    if (names.includes(channels[0]!)) {
      if (channels[0] === 'pager' && names.length > 1) {
        for (const route of routes) route.channels = route.channels.filter((one) => one !== 'pager')
      }
      routes.push({
        match: {},
        moments: ['reminder'],
        channels,
        remindBeforeSeconds: [45],
      } as never)
    }
  }
  const picked = random.pick(policies)
  const layers = random.fork('layered')
  const policy = layers.chance(0.2) ? layers.pick(layered) : picked
  const used = routes.filter((route) => route.channels.length > 0)
  const known = approvalsOf(random.fork('approvals'), used)
  const owned = random.fork('owners').chance(0.5) ? { owners: names } : {}
  const own = { ...baseConfig, channels, policy, ...known, ...owned }
  const shipped = random.fork('ship').chance(0.34) && { ship: { lake } }
  return readConfig(JSON.stringify({ ...own, ...(isPublished && published), ...shipped }), {})
}

/** Where every third world ships its events. */
const lake = {
  kind: 'event-grid',
  endpoint: 'https://lake.example/api/events',
  key: 'the-key-of-the-lake',
}

const published = {
  azure: { subscriptions: [subscription] },
  fleets: {
    ...(baseConfig.fleets as object),
    [publishedFleet]: { key: prodKey, azureSubscriptions: [subscription] },
  },
}

type PlannedRoute = { match: object; channels: string[]; approvers?: string[]; approveIn?: 'slack' }

/** In many worlds the relay can know people, buttons of messages decide, or routes say who may. */
function approvalsOf(random: Random, routes: PlannedRoute[]): object {
  if (random.chance(0.3)) return { routes }
  const told = routes[0]!.channels
  const guards = random.chance(0.8) ? Array.from({ length: random.pick([1, 1, 2]) }, guardOf) : []
  for (const route of [...routes, ...guards]) {
    if (route.channels.includes('chat') && random.chance(0.8)) route.approveIn = 'slack'
  }
  return {
    routes: [...routes, ...guards],
    slackApp: { signingSecret, team: home },
    signIn: { tenantId: tenant },
  }
  function guardOf(): PlannedRoute {
    const match = random.pick([{ tag: 'tier=data' }, { resource: '*_0' }, { resource: '*_1' }, {}])
    const channel = told.includes('chat') && random.chance(0.6) ? 'chat' : random.pick(told)
    const approvers = listable.filter(() => random.chance(0.7))
    return { match, channels: [channel], approvers: approvers[0] ? approvers : [listable[0]!] }
  }
}
