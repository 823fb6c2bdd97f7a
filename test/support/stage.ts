// The whole product on this machine: simulated VMs and channels, and relay and beacons as processes.
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Step } from '../simulator/event.ts'
import { type Simulator, startSimulator } from '../simulator/simulator.ts'
import { type Received, type Sinks, startSinks } from '../simulator/sinks.ts'
import { beaconCommand, usualWay, type Way } from './beacon-ways.ts'
import { type Entry, Program } from './process.ts'
import { type HostName, prepareHost, type RelayHost } from './relay-hosts.ts'

interface StageOptions {
  /** One list of VM names per tenant. */
  vms: string[][]
  /** Where the relay runs; a Node process with SQLite, if nothing is said. */
  host?: HostName
  /** The PostgreSQL of a relay on Node, in place of SQLite. */
  database?: string
  /** How the beacons run; the usual way, if nothing is said. */
  way?: Way
  /** On Azure, the relay is the bundle that is deployed. */
  isBundled?: boolean
  /** Azurite keeps its rows in files, so that it can be halted. */
  lastingAzurite?: boolean
  /** Overrides parts of the relay's configuration. */
  config?: (sinks: Sinks, simulator: Simulator) => object
  onEntry?: (program: string, entry: Entry) => void
  /** What truly happens to events. */
  onStep?: (step: Step) => void
}

export interface Stage extends Awaited<ReturnType<typeof startStage>> {}

export const fleetName = 'demo'

/** wrangler takes seconds to load where the cores are busy. */
const startMs = 120_000

export async function startStage(options: StageOptions) {
  const directory = await mkdtemp(join(tmpdir(), 'foghorn-'))
  const webhookSecret = `whsec_${randomBytes(32).toString('base64')}`
  const sinks = await startSinks({ webhookSecret })
  const simulator = await startSimulator({
    vms: options.vms,
    ...(options.onStep && { onStep: options.onStep }),
  })
  const azuriteDirectory = options.lastingAzurite ? join(directory, 'azurite') : undefined
  const host = await prepareHost(options.host ?? 'node', {
    ...(azuriteDirectory && { azuriteDirectory }),
    ...(options.database && { database: options.database }),
    ...(options.isBundled && { bundleFolder: join(directory, 'bundle') }),
  })
  const port = await freePort()
  const beaconFile = await beaconCommand(options.way ?? usualWay)
  const secrets = secretsFor(sinks, webhookSecret)
  const config = { ...configFor(sinks, port), ...options.config?.(sinks, simulator) }
  await writeFile(join(directory, 'foghorn.config.json'), JSON.stringify(config))
  const programs: Program[] = []

  const run = (
    name: string,
    file: string | readonly string[],
    environment: Record<string, string>,
    words: string[] = [],
    hasChildren = false,
  ) => {
    const onEntry = (entry: Entry) => options.onEntry?.(name, entry)
    const program = new Program(name, file, environment, onEntry, words, hasChildren)
    programs.push(program)
    return program
  }

  const stage = {
    directory,
    sinks,
    simulator,
    secrets,
    programs,
    azurite: host.azurite,
    /** What a relay logs once it answers. */
    started: host.started,
    relayUrl: `http://127.0.0.1:${port}`,
    relay: undefined as Program | undefined,

    /** Starts the relay, also again after it was killed: it finds the same file. `own` overrides its host's. */
    async startRelay(own: Pick<Partial<RelayHost>, 'file' | 'environment'> = {}): Promise<Program> {
      const { file = host.file, environment } = own
      const all = {
        ...host.environment,
        PORT: String(port),
        FOGHORN_CONFIG: join(directory, 'foghorn.config.json'),
        FOGHORN_DATA: join(directory, 'relay'),
        FOGHORN_LINK_KEY: secrets.linkKey,
        FOGHORN_LOG_LEVEL: 'debug',
        FOGHORN_ADMIN_KEY: secrets.adminKey,
        FLEET_KEY: secrets.fleetKey,
        PAGER_KEY: secrets.routingKey,
        HOOK_SECRET: secrets.webhookSecret,
        ...environment,
      }
      stage.relay = run('relay', file, all, [], host.hasChildren)
      await stage.relay.waitFor(host.started, () => true, startMs)
      return stage.relay
    },

    startBeacon(
      vm: string,
      changes: Record<string, string> = {},
      file: string | readonly string[] = beaconFile,
      words: string[] = [],
    ): Program {
      const { url } = simulator.vms.find(({ name }) => name === vm)!
      return run(
        vm,
        file,
        {
          FOGHORN_RELAY_URL: stage.relayUrl,
          FOGHORN_FLEET: fleetName,
          FOGHORN_FLEET_KEY: secrets.fleetKey,
          FOGHORN_IMDS_URL: url,
          FOGHORN_STATE_DIR: join(directory, `beacon-${vm}`),
          // never the hooks of the machine that runs this
          FOGHORN_HOOKS: join(directory, 'hooks'),
          FOGHORN_HOOK_SOCKET: join(directory, 'hooks.sock'),
          FOGHORN_LOG_LEVEL: 'debug',
          ...changes,
        },
        words,
      )
    },

    /** Beacons for all VMs, each having polled and reported once. */
    async startBeacons(vms = options.vms.flat()): Promise<Program[]> {
      const beacons = vms.map((vm) => stage.startBeacon(vm))
      await Promise.all(
        beacons.map((beacon) => beacon.waitFor('report_accepted', () => true, startMs)),
      )
      return beacons
    },

    async readEvent(eventId: string, fleet = fleetName) {
      const url = `${stage.relayUrl}/v1/events/${fleet}/${eventId.toLowerCase()}`
      const headers = { authorization: `Bearer ${secrets.adminKey}` }
      const response = await fetch(url, { headers })
      return (await response.json()) as ReturnType<typeof JSON.parse>
    },

    /** The text of a new token. */
    async makeToken(scopes: string[]): Promise<string> {
      const response = await fetch(`${stage.relayUrl}/v1/tokens`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${secrets.adminKey}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ name: 'stage', scopes }),
      })
      return ((await response.json()) as { token: string }).token
    },

    /** The event's record once no message about it is owed any more. */
    async settledEvent(eventId: string) {
      const deadline = Date.now() + 60_000
      while (Date.now() < deadline) {
        const relay = stage.relay!
        const known = relay.entries.length
        // a relay that was just killed does not answer; the one after it does
        const record = await stage.readEvent(eventId).catch(() => undefined)
        const owed = record?.deliveries.filter((one: { state: string }) => one.state === 'pending')
        if (owed?.length === 0) return record
        await (record === undefined ? setImmediate() : relay.somethingHappens(known))
      }
      throw new Error(`messages about ${eventId} are still owed`)
    },

    /** The link in the newest Slack message about an event. */
    async approveLink(eventId: string): Promise<string> {
      const message = await sinks.waitFor(
        (one) => one.kind === 'slack' && one.body.includes(eventId.toLowerCase()),
        30_000,
      )
      return linkIn(message)
    },

    /** Every file of relay and beacons, for the search for secrets. */
    async files(): Promise<{ name: string; text: string }[]> {
      const names = await readdir(directory, { recursive: true, withFileTypes: true })
      const paths = names.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
      return Promise.all(
        paths.map(async (name) => ({ name, text: await readFile(name, 'latin1') })),
      )
    },

    async stop(): Promise<void> {
      await Promise.all(programs.map((program) => program.running && program.stop()))
      await simulator.stop()
      await sinks.stop()
      await host.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
  return stage
}

/** The button's address in a Slack message. */
export function linkIn({ json }: Received): string {
  const { blocks } = json as { blocks: { type: string; elements?: { url: string }[] }[] }
  return blocks.find(({ type }) => type === 'actions')!.elements![0]!.url
}

function secretsFor(sinks: Sinks, webhookSecret: string) {
  return {
    fleetKey: `whsec_${randomBytes(32).toString('base64')}`,
    linkKey: randomBytes(32).toString('base64'),
    adminKey: randomBytes(24).toString('hex'),
    routingKey: randomBytes(16).toString('hex'),
    webhookSecret,
    slackUrl: sinks.slackUrl,
    teamsUrl: sinks.teamsUrl,
    webhookUrl: sinks.webhookUrl,
  }
}

function configFor(sinks: Sinks, port: number) {
  return {
    publicUrl: `http://127.0.0.1:${port}`,
    fleets: { [fleetName]: { key: 'env:FLEET_KEY' } },
    channels: {
      chat: { kind: 'slack', url: sinks.slackUrl },
      team: { kind: 'teams', url: sinks.teamsUrl },
      pager: { kind: 'pagerduty', routingKey: 'env:PAGER_KEY', endpoint: sinks.pagerDutyEndpoint },
      system: { kind: 'webhook', url: sinks.webhookUrl, secret: 'env:HOOK_SECRET' },
    },
    policy: [],
    routes: [{ match: {}, channels: ['chat', 'team', 'pager', 'system'] }],
    allowNetworks: ['127.0.0.0/8'],
  }
}

/**
 * A relay that is killed and started again keeps its port, so it must be known before. It is below those
 * that the system gives away, and each worker of the tests has its own: nobody takes it meanwhile.
 */
export async function freePort(): Promise<number> {
  const first = 20_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % 20) * portsPerWorker
  for (let tries = 0; tries < portsPerWorker; tries++) {
    const port = first + (portsTaken++ % portsPerWorker)
    if (await isFree(port)) return port
  }
  throw new Error(`no port from ${first} on is free`)
}

const portsPerWorker = 500
let portsTaken = process.pid % portsPerWorker

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
