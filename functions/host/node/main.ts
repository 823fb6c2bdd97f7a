// The relay on plain Node, started by `npm start`: one process with an embedded SQLite.
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FoghornError, messageOf } from '../../../shared/errors.ts'
import { createLog, type Log } from '../../../shared/log.ts'
import { createParts } from '../../app.ts'
import { nodeDoors } from '../../features/node.ts'
import { createOutbound } from '../../notify/undici.ts'
import { RelayStore } from '../../store/relay-store.ts'
import { SqlRows } from '../../store/sqlite.ts'
import { databaseName, openFile } from '../../store/sqlite-file.ts'
import { Changes } from '../../use-cases/changes.ts'
import { OpenLimits } from '../../use-cases/open-limits.ts'
import type { Doors, Relay } from '../../use-cases/relay.ts'
import { createCommitSignal } from '../commit-signal.ts'
import { createHolds } from '../holds.ts'
import { Loop } from '../loop.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import { commonParts, openSending } from '../parts.ts'
import { allSecrets } from '../settings.ts'
import { someTurns } from '../turns.ts'
import { UnderWay } from '../under-way.ts'
import type { ConfigTaken, NodeHost } from './door.ts'
import { drainMs, listen } from './server.ts'
import { listTroubles, readDisk, readSettings, type Settings } from './settings.ts'

/** A heartbeat costs nothing here, and silence is noticed after three. */
const idlePaceMs = 5 * 60_000

/** There is a place for every subscription. */
const places = { all: 2_048, claimed: 512, wide: 512 }
const maxSleepMs = 30_000

type Write = (line: string) => void

/** What a new configuration takes over: it changes no variable, so the database and the port stay. */
interface Shared extends Pick<Relay, 'store'> {
  dataDirectory: string
  host: Pick<Relay['host'], 'doors' | 'troubles'>
  wake: Relay['work']['wake']
}

function openLog(settings: Settings, write: Write): Log {
  const secrets = allSecrets(settings)
  return createLog({ write, now: Date.now, level: settings.level, secrets })
}

async function start(settings: Settings, write: Write, takeConfig: NodeHost['takeConfig']) {
  const { dataDirectory, port, address } = settings
  let log = openLog(settings, write)
  makeFolder(dataDirectory)
  const path = join(resolve(dataDirectory), databaseName)
  const file = openFile(path)
  file.onBroken = (error) => {
    log.error('database_broken', { path, error: messageOf(error) })
    // the service starts it again, with the file as the disk has it
    process.exit(1)
  }
  let damage: string | undefined
  file.onDamaged = (sentence) => {
    if (damage === undefined) log.error('database_damaged', { path, error: sentence })
    damage = sentence
  }
  // after a restore that went wrong, or with a wrong FOGHORN_DATA, this line says so
  if (file.isNew) log.warn('database_created', { path })
  const rows = new SqlRows(file, { nonce: randomUUID(), soon: afterTwoTurns })
  const store = new RelayStore({
    rows,
    newId: randomUUID,
    random: Math.random,
    gather: sleep,
    pause: someTurns,
  })
  await store.freeLeases(Date.now())
  const shared: Shared = {
    store,
    dataDirectory,
    host: {
      doors: openDoors({
        ...{ folder: dataDirectory, takeConfig },
        copyTo: (copy) => file.copyTo(copy),
        disk: () => readDisk(dataDirectory),
      }),
      troubles: () => listTroubles(dataDirectory, damage),
    },
    wake: (messages, about) => working.loop.hint(messages, about),
  }
  let working = compose(settings, log, shared, Date.now())
  const server = await listen(() => working.parts, port, address)
  log.info('relay_started', {
    address,
    port: server.port,
    publicUrl: settings.config.publicUrl,
    dataDirectory,
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
      file.close()
      log.info('relay_stopped')
    },
  }
}

/** The relay with this configuration. */
function compose(settings: Settings, log: Log, shared: Shared, listeningSince: number) {
  const { config, proxy } = settings
  const { store, host, wake } = shared
  const outbound = createOutbound(config.allowNetworks, { proxy })
  const forBound = createOutbound(config.tokenNetworks, { proxy })
  const relay: Relay = {
    ...commonParts(settings, log, outbound.fetch),
    sending: openSending(log, { send: outbound.send, sendForBound: forBound.send }),
    store,
    listeningSince,
    host: {
      ...host,
      ...{ name: 'node', holdsConnections: true },
      ...{ heartbeats: { paceMs: idlePaceMs }, pause: someTurns, readPlaces: 1 },
    },
    work: {
      ...{ wake, commitSignal: createCommitSignal(), holds: createHolds() },
      ...{ changes: new Changes(), openLimits: new OpenLimits(store) },
    },
  }
  let timer: NodeJS.Timeout | undefined
  const set = (ms: number) => {
    clearTimeout(timer)
    timer = setTimeout(() => void loop.tick(), ms)
  }
  const underWay = new UnderWay(relay, places)
  const options = { places, maxSleepMs, keepsHouse: true }
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
    },
  }
}

function openDoors(host: NodeHost): Doors {
  return Object.assign({}, ...nodeDoors.map((open) => open(host)))
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    const remedy = 'set FOGHORN_DATA to a folder that this user may write to'
    throw new FoghornError(
      'data_unusable',
      `"${path}" cannot be made (${messageOf(error)}); ${remedy}`,
    )
  }
}

/**
 * Reports that arrive meanwhile share the transaction. In a storm, that takes a tenth less of the
 * processor than one turn of the event loop; a third turn saves nothing more.
 */
function afterTwoTurns(flush: () => void): void {
  setImmediate(() => setImmediate(flush))
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
    const relay = await start(settings, write, oneAtATime(takeConfig))
    // a person looks on
    if (process.stdout.isTTY) write(greeting(settings))
    /** Old configurations that end what they have begun. */
    let ending: Promise<unknown> = Promise.resolve()
    async function takeConfig(): Promise<ConfigTaken> {
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
