// The relay on plain Node, started by `npm start`: one process with an embedded SQLite.
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import { FoghornError, messageOf } from '../../../shared/errors.ts'
import { createLog } from '../../../shared/log.ts'
import { maxReportBytes, reportPath } from '../../../shared/report.ts'
import { createParts } from '../../app.ts'
import type { Answered, DirectReports } from '../../http/beacons/direct.ts'
import { notifiers } from '../../notify/registry.ts'
import { createOutbound } from '../../notify/undici.ts'
import { RelayStore } from '../../store/relay-store.ts'
import { SqlRows } from '../../store/sqlite.ts'
import { databaseName, openFile } from '../../store/sqlite-file.ts'
import { Changes } from '../../use-cases/changes.ts'
import { OpenLimits } from '../../use-cases/open-limits.ts'
import type { Relay, Reloaded } from '../../use-cases/relay.ts'
import { createCommitSignal } from '../commit-signal.ts'
import { createHolds } from '../holds.ts'
import { Loop } from '../loop.ts'
import { commonParts } from '../parts.ts'
import { allSecrets } from '../settings.ts'
import { someTurns } from '../turns.ts'
import { UnderWay } from '../under-way.ts'
import { createBackup } from './backup.ts'
import { bodiesFirst } from './bodies.ts'
import { fewAtOnce } from './pipelines.ts'
import { diskOf, readSettings, type Settings, troublesOf } from './settings.ts'

const drainMs = 5_000
/** A stream sends something every 15 s, so its reader has stopped reading by then. */
const idleSocketMs = 60_000
/** A whole request arrives in this time, also over a slow connection, and its headers sooner. */
const arrival = {
  requestTimeout: 30_000,
  headersTimeout: 15_000,
  connectionsCheckingInterval: 5_000,
  // longer than a proxy in front: nginx and load balancers keep one for 60 s, Caddy for 2 min
  keepAliveTimeout: 130_000,
}
/** A heartbeat costs nothing here, and silence is noticed after three. */
const idlePaceMs = 5 * 60_000

/** There is a place for every subscription. */
const places = { all: 2_048, claimed: 512, wide: 512 }
const maxSleepMs = 30_000

async function start(settings: Settings, write: (line: string) => void, reload: Relay['reload']) {
  const { config, port, address, dataDirectory } = settings
  const secrets = allSecrets(settings)
  const log = createLog({ write, now: Date.now, level: settings.level, secrets })
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
  const outbound = createOutbound(config.allowNetworks, { proxy: settings.proxy })
  const forBound = createOutbound(config.tokenNetworks, { proxy: settings.proxy })
  const relay: Relay = {
    ...commonParts(settings, log, outbound.fetch),
    store,
    notifiers,
    send: outbound.send,
    sendForBound: forBound.send,
    listeningSince: Date.now(),
    heartbeats: { paceMs: idlePaceMs },
    pause: someTurns,
    readPlaces: 1,
    wake: (messages, about) => loop.hint(messages, about),
    commitSignal: createCommitSignal(),
    holds: createHolds(),
    changes: new Changes(),
    openLimits: new OpenLimits(store),
    holdsConnections: true,
    backup: createBackup(file, dataDirectory),
    reload,
    troubles: () => troublesOf(dataDirectory, damage),
  }
  let timer: NodeJS.Timeout | undefined
  const set = (ms: number) => {
    clearTimeout(timer)
    timer = setTimeout(() => void loop.tick(), ms)
  }
  const underWay = new UnderWay(relay, places)
  const options = { places, maxSleepMs, keepsHouse: true, disk: () => diskOf(dataDirectory) }
  const loop: Loop = new Loop(relay, underWay, { set }, options)
  const { app, ...parts } = createParts(relay)
  const server = await listen(slowRefusals(app.fetch), port, address, (others) =>
    reportsFirst(parts, others),
  )
  log.info('relay_started', {
    address,
    port: server.port,
    publicUrl: config.publicUrl,
    dataDirectory,
    ...(settings.proxy && { proxy: new URL(settings.proxy.url).host }),
  })
  void loop.tick()
  return {
    port: server.port,
    log,
    async stop() {
      relay.commitSignal.close()
      relay.holds.close()
      await server.close()
      clearTimeout(timer)
      await loop.stop(drainMs)
      await Promise.all([outbound.close(), forBound.close()])
      file.close()
      log.info('relay_stopped')
    },
  }
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

type Fetch = (request: Request) => Response | Promise<Response>

/**
 * The next request of one who was refused comes so much later: answered at once, hundreds of them would take each
 * turn. Reports take another way.
 */
const refusedMs = 250

function slowRefusals(fetch: Fetch): Fetch {
  return async (request) => {
    const response = await fetch(request)
    if (response.status === 401 || response.status === 429) await sleep(refusedMs)
    return response
  }
}

type Wrap = (listener: RequestListener) => RequestListener

function listen(fetch: Fetch, port: number, hostname: string, wrap: Wrap) {
  return new Promise<{ port: number; close(): Promise<void> }>((resolve, reject) => {
    const create = (options: ServerOptions, listener: RequestListener) =>
      createServer({ ...options, ...arrival }, fewAtOnce(wrap(listener)))
    // `bodies.ts` and Node itself read the rest of a body
    const options = { fetch, port, hostname, autoCleanupIncoming: false }
    const server = serve({ ...options, createServer: create as never }, (info) =>
      resolve({
        port: info.port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            if (!('closeAllConnections' in server)) return
            // otherwise the process waits until the beacons' keep-alive connections time out
            server.closeIdleConnections()
            setTimeout(() => server.closeAllConnections(), drainMs).unref()
          }),
      }),
    )
    if ('timeout' in server) server.timeout = idleSocketMs
    server.on('error', (error) => reject(whyNotListening(error, port, hostname)))
  })
}

/** Explains the errors that a variable can fix. */
function whyNotListening(error: NodeJS.ErrnoException, port: number, address: string): Error {
  const remedies: Record<string, string> = {
    EADDRINUSE:
      `Port ${port} on ${address} is in use. ` +
      'Stop the process that uses it, or set PORT to another port.',
    EACCES: `Port ${port} needs privileges. Set PORT to 1024 or higher.`,
    EADDRNOTAVAIL: `This machine lacks the address ${address}. Set HOST to one of its addresses.`,
  }
  const remedy = remedies[error.code ?? '']
  return remedy === undefined ? error : new FoghornError('cannot_listen', remedy)
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

/** Starts the relay. A signal ends the process, and SIGHUP reads the configuration again. */
export async function run(): Promise<void> {
  const write = (line: string) => void process.stdout.write(`${line}\n`)
  // if the reader of the log is gone, the relay goes on
  process.stdout.on('error', () => {})
  const stopped = new Promise((resolve) => {
    process.once('SIGTERM', resolve).once('SIGINT', resolve)
  })
  try {
    const starting = readSettings(process.env).then((settings) => start(settings, write, reload))
    process.on('SIGHUP', () => void starting.then(reload))
    let relay = await starting
    /** One after the other. */
    let changing = Promise.resolve()
    const replace = async (settings: Settings) => {
      await relay.stop()
      relay = await start(settings, write, reload)
      relay.log.info('config_reloaded')
    }
    async function reload(): Promise<Reloaded> {
      try {
        // with PORT=0 the system chose a port, which clients know by now
        const settings = { ...(await readSettings(process.env)), port: relay.port }
        changing = changing.then(() => replace(settings)).catch(fail('The relay cannot start'))
        return { outcome: 'accepted' }
      } catch (error) {
        if (!(error instanceof FoghornError)) throw error
        relay.log.error('config_refused', { mistakes: error.message.split('\n') })
        return { outcome: 'refused', mistakes: error.message }
      }
    }
    const stopping = stopped.then(() => changing).then(() => relay.stop())
    void stopping.then(() => process.exit(0), fail('The relay did not stop as it should'))
  } catch (error) {
    fail('The relay cannot start')(error)
  }
}

interface Direct extends DirectReports {
  noteBrokenOff(method: string, cause: unknown): void
}

/**
 * Takes reports from Node's server itself: `Request` and `Response` objects, and the routes that a
 * report passes, cost as much as judging it. `others` takes all other requests, with `rawBody`.
 */
function reportsFirst(direct: Direct, others: RequestListener): RequestListener {
  return bodiesFirst({
    take(request, response, body) {
      const isReport = request.method === 'POST' && request.url === reportPath
      if (isReport && body !== undefined && body.length <= maxReportBytes) {
        void answer(direct, request, String(body), response)
      } else {
        others(body === undefined ? request : Object.assign(request, { rawBody: body }), response)
      }
    },
    refuse: (response, refusal) => {
      response.setHeader('connection', 'close')
      write(response, direct.refused(refusal))
    },
    noteBrokenOff: direct.noteBrokenOff,
  })
}

async function answer(
  { answerReport }: Direct,
  { headers: sent }: IncomingMessage,
  text: string,
  response: ServerResponse,
): Promise<void> {
  const header = (name: string) => sent[name]?.toString()
  write(response, await answerReport({ header, text }))
}

function write(response: ServerResponse, { status, headers, body }: Answered): void {
  const length = Buffer.byteLength(body)
  response.writeHead(status, { ...headers, 'content-length': length }).end(body)
}

if (import.meta.main) await run()
