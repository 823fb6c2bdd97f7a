// The relay on plain Node, started by `npm start`: one process with an embedded SQLite, or one of several on
// PostgreSQL.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { FoghornError, messageOf } from '../../../shared/errors.ts'
import { createLog, type Log } from '../../../shared/log.ts'
import { createParts } from '../../app.ts'
import { createTokens } from '../../azure/tokens.ts'
import { nodeAbilities } from '../../features/node.ts'
import { createOutbound } from '../../notify/undici.ts'
import { RelayStore } from '../../store/relay-store.ts'
import { noteListening } from '../../store/small-rows.ts'
import { Changes } from '../../use-cases/changes.ts'
import { OpenLimits } from '../../use-cases/open-limits.ts'
import type { Abilities, Relay } from '../../use-cases/relay.ts'
import { createCommitSignal } from '../commit-signal.ts'
import { createHolds } from '../holds.ts'
import { Loop } from '../loop.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import { commonParts, openSending } from '../parts.ts'
import { pause } from '../pause.ts'
import { allSecrets } from '../settings.ts'
import { readSmallFile } from '../small-file.ts'
import { UnderWay } from '../under-way.ts'
import type { ConfigRead, NodeHost } from './ability.ts'
import type { Hints } from './hints.ts'
import { drainMs, listen as listenOn } from './server.ts'
import { readSettings, type Settings } from './settings.ts'
import { openSqlite, type Storage } from './storage.ts'

/** A heartbeat costs nothing here, and silence is noticed after three. */
const idlePaceMs = 5 * 60_000

/** There is a place for every stored channel. */
const places = { all: 2_048, claimed: 512, wide: 512 }
const maxSleepMs = 30_000
/** What another relay left, as it was killed, is found after this time. */
const sharedSleepMs = 1_000
/** Each read of a database elsewhere gives way to others. */
const readPlacesAfar = 4
/** After a longer gap, the relay may have missed reports, so silent beacons mean nothing. */
const gapMs = 2 * 60_000
const noteEveryMs = 30_000
/** Time to record attempts that a stop broke off, so that no relay need wait for their leases to end. */
const brokenOffMs = 2_000
/**
 * Tokens of Entra for Azure Database for PostgreSQL:
 * https://learn.microsoft.com/azure/postgresql/flexible-server/how-to-configure-sign-in-azure-ad-authentication
 */
const databaseScope = 'https://ossrdbms-aad.database.windows.net'

type Write = (line: string) => void

/** What a new configuration takes over: it changes no variable, so the database and the port stay. */
interface Shared extends Pick<Relay, 'store'> {
  hints: Hints | undefined
  host: Pick<Relay['host'], 'abilities' | 'troubles'>
  wake: Relay['work']['wake']
}

function openLog(settings: Settings, write: Write): Log {
  const secrets = allSecrets(settings)
  return createLog({ write, now: Date.now, level: settings.level, secrets })
}

async function start(settings: Settings, write: Write, rereadConfig: NodeHost['rereadConfig']) {
  const { port, address } = settings
  let log = openLog(settings, write)
  // a new configuration has a log of its own
  const current: Log = {
    debug: (...entry) => log.debug(...entry),
    info: (...entry) => log.info(...entry),
    warn: (...entry) => log.warn(...entry),
    error: (...entry) => log.error(...entry),
  }
  const storage = await openStorage(settings, current)
  const { rows, hints, file } = storage
  const store = new RelayStore({
    rows,
    newId: randomUUID,
    random: Math.random,
    gather: sleep,
    pause,
    ...(hints && { wait: sleep }),
  })
  const alone = hints === undefined
  // what others have claimed is theirs
  if (alone) await store.freeLeases(Date.now())
  else await store.open()
  const shared: Shared = {
    store,
    hints,
    host: {
      abilities: gatherAbilities({ rereadConfig, ...(file && { file }) }),
      troubles: storage.troubles,
    },
    wake: (messages, about) => working.loop.hint(messages, about),
  }
  const listen = () => noteListening(store, Date.now(), gapMs)
  let working = compose(settings, log, shared, alone ? Date.now() : await listen())
  const noting = alone ? undefined : setInterval(() => void note(), noteEveryMs)
  async function note(): Promise<void> {
    try {
      const since = await listen()
      // this relay may have missed reports since then
      working.relay.listeningSince = Math.max(working.relay.listeningSince, since)
    } catch (error) {
      log.warn('listening_not_noted', { error: messageOf(error) })
    }
  }
  const server = await listenOn(() => working.parts, port, address)
  log.info('relay_started', {
    address,
    port: server.port,
    publicUrl: settings.config.publicUrl,
    ...storage.place,
    ...(settings.proxy && { proxy: new URL(settings.proxy.url).host }),
  })
  void working.loop.tick()
  return {
    get log() {
      return log
    },
    /**
     * The next request is answered by the new configuration. Resolves once the old one has ended what it had
     * begun. If it throws, the old one goes on.
     */
    take(next: Settings): Promise<void> {
      const old = working
      const own = openLog(next, write)
      // beacons were heard all the time
      working = compose(next, own, shared, old.relay.listeningSince)
      log = own
      void working.loop.tick()
      log.info('config_reloaded')
      old.hangUp(working.relay)
      return old.end()
    },
    async stop(): Promise<void> {
      working.hangUp()
      await server.close()
      await working.end()
      clearInterval(noting)
      await storage.close()
      log.info('relay_stopped')
    },
  }
}

/** The relay with this configuration. */
function compose(settings: Settings, log: Log, shared: Shared, listeningSince: number) {
  const { config, proxy } = settings
  const { store, host, wake, hints } = shared
  const own = { holds: createHolds(), commitSignal: createCommitSignal() }
  const { holds, commitSignal } = hints?.share(own) ?? own
  const outbound = createOutbound(config.allowNetworks, { proxy })
  const forBound = createOutbound(config.tokenNetworks, { proxy })
  const relay: Relay = {
    ...commonParts(settings, log, outbound.fetch),
    sending: openSending(log, { send: outbound.send, sendForBound: forBound.send }),
    store,
    listeningSince,
    host: {
      ...host,
      troubles: async () => [...(await host.troubles()), ...loop.troubles()],
      ...{ name: 'node', holdsConnections: true },
      ...{ heartbeats: { paceMs: idlePaceMs }, pause },
      readPlaces: hints === undefined ? 1 : readPlacesAfar,
      ...(hints && { sharedSince: Date.now() }),
    },
    work: {
      ...{ wake, commitSignal, holds },
      ...{ changes: new Changes(), openLimits: new OpenLimits(store) },
    },
  }
  let timer: NodeJS.Timeout | undefined
  const set = (ms: number) => {
    clearTimeout(timer)
    timer = setTimeout(() => void loop.tick(), ms)
  }
  const underWay = new UnderWay(relay, places)
  const sleepMs = hints === undefined ? maxSleepMs : sharedSleepMs
  const options = { places, maxSleepMs: sleepMs, keepsHouse: true }
  const loop: Loop = new Loop(relay, underWay, { set }, options)
  return {
    relay,
    loop,
    parts: createParts(relay),
    /**
     * Ends the answers that wait for news: their clients ask again. What this configuration still commits is
     * news for the readers of `next`.
     */
    hangUp(next?: Relay): void {
      relay.work.commitSignal.close(next?.work.commitSignal)
      relay.work.holds.close(next?.work.holds)
    },
    async end(): Promise<void> {
      clearTimeout(timer)
      await loop.stop(drainMs)
      clearTimeout(timer)
      await Promise.all([outbound.close(), forBound.close()])
      await loop.stop(brokenOffMs)
    },
  }
}

function gatherAbilities(host: NodeHost): Abilities {
  return Object.assign({}, ...nodeAbilities.map((open) => open(host)))
}

async function openStorage(settings: Settings, log: Log): Promise<Storage> {
  const { database: address, dataDirectory, linkKeys, config, hostIdentity } = settings
  if (address === undefined) return openSqlite(dataDirectory, log)
  const { openPostgres } = await import('./postgres.ts')
  const access = config.azure
  const outbound = createOutbound(config.allowNetworks, { proxy: settings.proxy })
  const tokens =
    access &&
    createTokens({
      ...{ access, host: hostIdentity, fetch: outbound.fetch },
      ...{ readText: readSmallFile, now: Date.now },
    })
  const readToken = tokens && (() => tokens.read(databaseScope))
  return openPostgres({ address, readToken, linkKeys, log })
}

function fail(what: string): (error: unknown) => void {
  return (error) => {
    const isKnown = error instanceof FoghornError
    // docs/when-things-fail.md lists these codes; some sentences have theirs
    const code = isKnown && !error.message.includes(error.code) ? ` (${error.code})` : ''
    process.stderr.write(`${what}${code}: ${error instanceof Error ? error.message : error}\n`)
    process.exit(isKnown ? 2 : 1)
  }
}

/** Starts the relay. A signal ends the process. */
function greeting({ config, adminKey }: Settings): string {
  const console =
    adminKey === undefined ? 'off: set FOGHORN_ADMIN_KEY' : `${config.publicUrl}/console`
  return `The relay runs. Console: ${console}. Ctrl+C stops it.`
}

export async function run(): Promise<void> {
  const write = (line: string) => void process.stdout.write(`${line}\n`)
  // if the reader of the log is gone, the relay goes on
  process.stdout.on('error', () => {})
  const stopped = new Promise((resolve) => {
    process.once('SIGTERM', resolve).once('SIGINT', resolve)
  })
  try {
    const settings = await readSettings(process.env)
    const relay = await start(settings, write, oneAtATime(rereadConfig))
    // a person looks on
    if (process.stdout.isTTY) write(greeting(settings))
    /** Old configurations that end what they have begun. */
    let ending: Promise<unknown> = Promise.resolve()
    async function rereadConfig(): Promise<ConfigRead> {
      try {
        const settings = await readSettings(process.env)
        const ended = relay.take(settings).catch((error: unknown) => {
          relay.log.error('config_not_ended', { error: messageOf(error) })
        })
        ending = Promise.all([ending, ended])
        return { outcome: 'accepted' }
      } catch (error) {
        if (!(error instanceof FoghornError)) throw error
        relay.log.error('config_refused', { mistakes: error.message.split('\n') })
        return { outcome: 'refused', mistakes: error.message }
      }
    }
    const stopping = stopped.then(() => ending).then(() => relay.stop())
    void stopping.then(() => process.exit(0), fail('The relay did not stop as it should'))
  } catch (error) {
    fail('The relay cannot start')(error)
  }
}

if (import.meta.main) await run()
