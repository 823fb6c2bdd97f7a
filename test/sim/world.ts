// One seeded world from its beginning to the time when nothing is owed and nothing is open any more.
import { createHash } from 'node:crypto'
import { listSecrets } from '../../functions/config/config.ts'
import type { Table } from '../../functions/store/azure/table.ts'
import type { Store } from '../../functions/store/store.ts'
import { createLog } from '../../shared/log.ts'
import { owners } from '../features/owners.ts'
import { startAt } from '../support/world.ts'
import { Beacon } from './beacons.ts'
import { Channels } from './channels.ts'
import { checkEnd } from './check-end.ts'
import { Cluster } from './cluster.ts'
import type { Broken } from './docket.ts'
import { Endpoints } from './endpoints.ts'
import { chooseFaults, type FaultKind, type Faults, kindsOf } from './faults.ts'
import { type Caller, Follower } from './followers.ts'
import { Hooks } from './hooks.ts'
import { troubleOf, VmImds } from './imds.ts'
import { Judge } from './judge.ts'
import { Kernel } from './kernel.ts'
import { flood, Liar } from './liars.ts'
import { Network } from './network.ts'
import { Outside } from './outside.ts'
import { People } from './people.ts'
import { makePlan, minute, type Plan } from './plan.ts'
import { Platform } from './platform.ts'
import { publishedFleet } from './published-fleet.ts'
import { createRandom, type Random } from './random.ts'
import { type Storage, storages } from './storages.ts'

/** From then on nothing new goes wrong, but for channels that stay dead. */
const calmMs = 5 * minute
/** Late copies of reports have arrived by then. */
const quietMs = 70_000
const boundMs = 3 * 60 * minute
/** A message is tried for a day, and then the notice of that for another one. */
const boundWithDeadChannelsMs = 60 * 60 * minute
/** Long after the last trouble: what is still owed then is owed to a channel that is dead. */
const beaconsEndMs = 30 * minute

export interface Options {
  /** What the relays keep their rows in; SQLite, if nothing is said. */
  storage?: keyof typeof storages
  /** Where a PostgreSQL listens, for worlds on it. */
  postgresPort?: number
  /** Kinds of faults that this run leaves out. */
  without?: readonly string[]
  /** The kinds of faults in each run, and no others. Absent or empty: the seed chooses. */
  only?: readonly string[]
  /** Changes what the relay makes of its store, to see whether that is noticed. */
  spoil?: () => (store: Store) => Store
  /** As `spoil`, of its configuration. */
  spoilConfig?: (config: Plan['config']) => Plan['config']
  /** As `spoil`, of the table below the store on Azure. */
  spoilTable?: (table: Table) => Table
}

export interface Outcome {
  seed: number
  storage: keyof typeof storages
  stats: Judge['stats']
  met: Judge['met']
  broken: Broken[]
  trace: string[]
  faults: FaultKind[]
  /** Of the trace. */
  hash: string
  /** Virtual time. */
  tookMs: number
}

export async function runWorld(seed: number, options: Options = {}): Promise<Outcome> {
  const random = createRandom(seed)
  const faults = chooseFaults(random.fork('faults'), options)
  const plan = makePlan(random.fork('plan'), faults)
  const kernel = new Kernel(startAt)
  const name = options.storage ?? 'sqlite'
  const storage = storages[name](kernel, options)
  const world = build({ kernel, plan, faults, random, storage, options, http: seed % 8 === 0 })
  const { judge, platform } = world
  const mayWait = faults.channel_dead > 0 || plan.subscriptions.length > 0
  const boundAt = startAt + lastActMs(plan) + (mayWait ? boundWithDeadChannelsMs : boundMs)
  const over = () =>
    kernel.now > boundAt ||
    judge.broken.length > 0 ||
    (platform.isOver() &&
      judge.quietSince !== undefined &&
      kernel.now > judge.quietSince + quietMs &&
      judge.subscriptions.isOver())
  const ended = await kernel.run(over)
  if (ended !== 'done') judge.broke('ending', `the world ended as "${ended}"`)
  if (judge.broken.length === 0 && kernel.now > boundAt)
    judge.broke('ending', 'it never gets quiet')
  for (const { process, error } of kernel.failures) {
    judge.broke('unexpected', `${process}: ${error instanceof Error ? error.stack : error}`)
  }
  if (judge.broken.length === 0) {
    await checkEnd(judge, storage.plain)
  }
  await storage.close()
  const { stats, met, broken, trace } = judge
  const hash = createHash('sha256').update(trace.join('\n')).digest('hex')
  const of = { seed, storage: name, faults: kindsOf(faults) }
  return { ...of, stats, met, broken, trace, hash, tookMs: kernel.now - startAt }
}

/** When the owner of a subscription comes for the last time. */
function lastActMs({ subscriptions }: Plan): number {
  return Math.max(0, ...subscriptions.map(({ replaysAfterMs = 0 }) => replaysAfterMs))
}

interface Ground {
  kernel: Kernel
  plan: Plan
  faults: Faults
  random: Random
  storage: Storage
  options: Options
  http: boolean
}

function build(ground: Ground) {
  const { kernel, plan, faults, random, http } = ground
  const beacons: Beacon[] = []
  // shorter ones are parts of addresses that say nothing
  const secrets = listSecrets(plan.config).filter((secret) => secret.length >= 8)
  const calmAt = startAt + calmMs
  const judge: Judge = new Judge({
    kernel,
    plan,
    faults,
    secrets,
    beacons: () => beacons,
    platform: () => platform,
  })
  const names = Object.keys(plan.config.channels)
  const { policy, routes } = plan.config
  const vms = plan.vms.map(({ name }) => name)
  judge.note(`VMs ${vms.join(' ')}; faults ${kindsOf(faults).join(' ') || 'none'}`)
  judge.note(`policy ${JSON.stringify(policy)}; routes ${JSON.stringify(routes)}`)
  const channels = new Channels({
    kernel,
    faults,
    judge,
    names,
    calmAt,
    random: random.fork('channels'),
  })
  const endpoints = new Endpoints({
    kernel,
    faults,
    calmAt,
    planned: plan.subscriptions,
    book: judge.subscriptions.endpoints,
    random: random.fork('endpoints'),
  })
  const log = createLog({
    write: (line) => judge.log(line),
    now: () => kernel.now,
    level: 'debug',
    secrets,
  })
  const ways = { channels, endpoints, log, http }
  const parts = { kernel, plan, faults, judge, ...ways, random: random.fork('relay') }
  const spoil = ground.options.spoil?.() ?? ((whole: Store) => whole)
  const store = (worker: Caller) => spoil(ground.storage.storeOf(worker, judge))
  const config = ground.options.spoilConfig?.(plan.config) ?? plan.config
  const outside =
    faults.azure_publishes > 0
      ? new Outside({ ...parts, random: random.fork('outside'), calmAt })
      : undefined
  const cluster = new Cluster({ ...parts, plan: { ...plan, config }, calmAt, store, outside })
  for (const name of ['follower-a', 'follower-b']) {
    new Follower(name, { kernel, faults, judge, calmAt, store, random: random.fork('followers') })
  }
  for (const one of plan.subscriptions) {
    for (const own of owners) own(one, { kernel, cluster, book: judge.subscriptions })
  }
  const people = new People({
    kernel,
    cluster,
    judge,
    plan,
    http,
    random: random.fork('people'),
  })
  judge.messages.onAccepted = (part, request) => people.read(part, request)
  const platform = new Platform(kernel, plan, {
    onStart: (fleet, vm, eventId) => judge.started(fleet, vm, eventId),
    onStep: (truth, { step }) => {
      judge.note(`Azure: ${truth.fleet}/${truth.eventId} ${step}`)
      judge.sights.stepped(truth, step)
      outside?.changed(truth)
    },
    onBegin: (truth) => {
      judge.sights.begun(truth)
      liar?.begun(truth)
      outside?.begun(truth)
    },
  })
  if (outside !== undefined) Object.assign(outside, { platform, cluster })
  const bad = { kernel, cluster, judge, platform, plan, faults, calmAt, http }
  const liar = faults.vm_lies > 0 ? new Liar({ ...bad, random: random.fork('liar') }) : undefined
  if (faults.fleet_floods > 0) flood({ ...bad, random: random.fork('flood') })
  const network = new Network({ kernel, faults, cluster, judge, calmAt, http })
  if (plan.away !== undefined) {
    const { fromMs, untilMs, isCut } = plan.away
    kernel.after(fromMs, () => {
      if (isCut) return network.cut(untilMs - fromMs)
      cluster.stop(untilMs - fromMs)
    })
  }
  beacons.push(...raise(ground, platform, network, judge, calmAt))
  return { judge, platform }
}

/** Puts a beacon on every VM, and lets it die and come back. */
function raise(
  { kernel, plan, faults, random }: Ground,
  platform: Platform,
  network: Network,
  judge: Judge,
  calmAt: number,
): Beacon[] {
  const glitchesOf = new Map(
    plan.vms.map((vm) => {
      const tenant = platform.tenantVms(vm)[0]!
      const luck = random.fork(`glitch ${tenant}`)
      return [vm, troubleOf(luck, faults.imds_glitch, kernel.now)] as const
    }),
  )
  return plan.vms.map((vm) => {
    const luck = random.fork(`vm ${vm.name}`)
    const beacon = new Beacon(kernel, vm, luck, plan.heartbeats.paceMs)
    const { process } = beacon
    if (plan.hooks?.vms.includes(vm.name)) {
      const hooks = new Hooks(kernel, vm.name, luck.fork('hooks'))
      hooks.onChange = () => beacon.state?.reportTimer.bring(kernel.now - process.bornAt)
      hooks.onPrepare = (eventId) => judge.prepares(vm, eventId)
      beacon.hooks = hooks
    }
    const glitches = glitchesOf.get(vm)!
    const imds = new VmImds({
      kernel,
      platform,
      process,
      vm,
      faults,
      random: luck,
      glitches,
      judge,
    })
    beacon.isLate = imds.isLate
    const relay = () => network.relayOf(beacon, imds, luck)
    if (luck.chance(faults.clock_off * 4)) beacon.offsetMs = luck.int(-20, 20) * minute
    const answers = () => platform.fleet(vm.fleet).answers(vm.name)
    const start = () => {
      if (process.alive || !answers()) return
      judge.note(`the beacon of ${vm.name} starts`)
      beacon.start(imds, relay)
    }
    const fall = (rebootMs: number | undefined, why: string) => {
      if (!process.alive) return
      judge.note(`the beacon of ${vm.name} dies: ${why}`)
      beacon.kill()
      if (rebootMs === undefined) return
      kernel.after(rebootMs, start)
    }
    /** The VM itself goes down with an event that takes it, and comes back after it. */
    platform.watchers.add(() => {
      if (process.alive && !answers()) {
        beacon.wentDown = true
        kernel.after(0, () => fall(undefined, 'the VM is down'))
      } else if (beacon.wentDown && answers()) {
        beacon.wentDown = false
        beacon.reboot()
        kernel.after(luck.int(3_000, 20_000), start)
      }
    })
    const startsAfterMs = luck.pick([0, 0, 500, 20_000, 100_000])
    const isAlone = faults.azure_alone > 0 && faults.azure_publishes > 0
    if (!isAlone || vm.fleet !== publishedFleet) kernel.after(startsAfterMs, start)
    kernel.after(beaconsEndMs, () => fall(undefined, 'the world ends'))
    for (const event of plan.events) {
      const { updatesBeacon, cancelAfterMs = 0, afterMs, request } = event
      if (!updatesBeacon || !request.Resources?.includes(vm.name)) continue
      const at = afterMs + cancelAfterMs - luck.fork(event.id).int(1, 25) * 1_000
      kernel.after(at, () => fall(minute, 'it is updated'))
    }
    const revise = (eventId: string, ms: number) => {
      if (faults.event_revised === 0 || !luck.chance(0.4)) return
      const event = platform.truths.get(`${vm.fleet}/${eventId}`)?.planned
      const values = luck.pick([
        { Resources: platform.tenantVms(vm) as string[] },
        { DurationInSeconds: 40 },
      ])
      if (event) kernel.after(luck.int(0, ms), () => platform.alter(event, values))
    }
    beacon.onAppeared = (eventId) => revise(eventId, 1_500)
    beacon.onAsked = (eventId) => {
      judge.asked(beacon, eventId)
      revise(eventId, 600)
      if (kernel.now > calmAt || !luck.chance(faults.beacon_dies * 8)) return
      const back = luck.pick([1_000, 40_000, undefined])
      judge.met.add('a beacon dies with a directive')
      kernel.after(luck.int(0, 700), () => fall(back, 'with a directive in its hands'))
    }
    haunt(kernel, luck, faults, calmAt, (rebooted) => {
      if (rebooted) beacon.reboot()
      const back = luck.chance(0.15) ? undefined : luck.pick([0, 1_000, 8_000, 40_000, 200_000])
      fall(back, rebooted ? 'the VM reboots' : 'the process ends')
    })
    return beacon
  })
}

function haunt(
  kernel: Kernel,
  luck: Random,
  faults: Faults,
  calmAt: number,
  strike: (rebooted: boolean) => void,
): void {
  for (let at = 0; kernel.now + at < calmAt; at += 20_000) {
    const dies = luck.chance(faults.beacon_dies / 2)
    const reboots = luck.chance(faults.vm_reboots / 3)
    const ms = at + luck.int(0, 20_000)
    if (dies || reboots) kernel.after(ms, () => strike(reboots))
  }
}
