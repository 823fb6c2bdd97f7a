// The relay on plain Node: one process, an embedded SQLite, `npm start`. The only place that reads the
// environment of this host.
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { FoghornError } from '../../../shared/errors.ts'
import { createLog } from '../../../shared/log.ts'
import { createApp } from '../../app.ts'
import { createEntra } from '../../identity/entra.ts'
import { notifiers } from '../../notify/kinds.ts'
import { createSlackDesk } from '../../notify/slack/desk.ts'
import { createOutbound } from '../../notify/undici.ts'
import { createAttention } from '../../store/attention.ts'
import { SqliteStore } from '../../store/sqlite/store.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { allSecrets, type Common, readEnvironment } from '../settings.ts'
import { finishing, watchBody } from './body.ts'
import { nodeHmac } from './hmac.ts'
import { Pump } from './pump.ts'

const drainMs = 5_000
/** A proxy that ends TLS runs on the same machine; nobody else hears plain HTTP unless somebody says so. */
const usualAddress = '127.0.0.1'

interface Settings extends Common {
  port: number
  /** The address to listen on. */
  address: string
  dataDirectory: string
}

/** Everything that is wrong with the environment and the configuration, in one error. */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  return readEnvironment(environment, (attempt) => ({
    port: attempt(() => portOf(environment.PORT ?? '7071')),
    address: attempt(() => addressOf(environment.HOST || usualAddress)),
    dataDirectory: environment.FOGHORN_DATA ?? '.foghorn',
  }))
}

/** Starts the relay; `stop` drains it. */
async function start(settings: Settings, write: (line: string) => void) {
  const { config, linkKeys, adminKey, port, address, dataDirectory } = settings
  const secrets = allSecrets(settings)
  const log = createLog({ write, now: Date.now, level: settings.level, secrets })
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
  const store = new SqliteStore(join(dataDirectory, 'foghorn.sqlite'), {
    random: randomUUID,
    soon: setImmediate,
    alone: true,
  })
  store.freeLeases(Date.now())
  const outbound = createOutbound(config.allowNetworks)
  const relay: Relay = {
    config,
    store,
    notifiers,
    send: outbound.send,
    slackDesk: createSlackDesk(nodeHmac),
    hmac: nodeHmac,
    // past the guard of channels: the owner alone says where the keys are
    identity: createEntra({ fetch, now: Date.now, log }),
    linkKeys,
    adminKey,
    attention: createAttention(),
    now: Date.now,
    random: Math.random,
    log,
    listeningSince: Date.now(),
    wake: () => pump.wake(),
    troubles: async () => [],
  }
  const pump = new Pump(relay)
  const server = await listen(createApp(relay), port, address)
  log.info('relay_started', {
    address,
    port: server.port,
    publicUrl: config.publicUrl,
    dataDirectory,
  })
  pump.wake()
  return {
    port: server.port,
    async stop() {
      await server.close()
      await pump.stop(drainMs)
      await outbound.close()
      store.close()
      log.info('relay_stopped')
    },
  }
}

function listen(app: ReturnType<typeof createApp>, port: number, hostname: string) {
  return new Promise<{ port: number; close(): Promise<void> }>((resolve, reject) => {
    const fetch = (request: Request) => answer(app, request)
    const server = serve({ fetch, port, hostname }, (info) =>
      resolve({
        port: info.port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            if (!('closeAllConnections' in server)) return
            // keep-alive connections of beacons would hold the process until they time out
            server.closeIdleConnections()
            setTimeout(() => server.closeAllConnections(), drainMs).unref()
          }),
      }),
    )
    server.on('error', (error) => reject(whyNotListening(error, port, hostname)))
  })
}

/**
 * A proxy shares its connections between clients. Node drains a body that was not read at all, but
 * not a chunked body that was read in part.
 */
async function answer(app: ReturnType<typeof createApp>, request: Request): Promise<Response> {
  if (!request.headers.has('transfer-encoding') || request.body === null) return app.fetch(request)
  const sent = watchBody(request.body)
  const { status, headers, body } = await app.fetch(
    new Request(request, { body: sent.body, duplex: 'half' } as RequestInit),
  )
  return new Response(finishing(body, sent), { status, headers })
}

function portOf(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw new FoghornError('port_invalid', `PORT is "${text}"; write a number from 0 to 65535`)
}

function addressOf(text: string): string {
  if (isIP(text) !== 0 || text === 'localhost') return text
  throw new FoghornError(
    'address_invalid',
    `HOST is "${text}"; write the address to listen on: 127.0.0.1, 0.0.0.0 for every network, or another IP`,
  )
}

/** What somebody can mend by a variable says which. */
function whyNotListening(error: NodeJS.ErrnoException, port: number, address: string): Error {
  const remedies: Record<string, string> = {
    EADDRINUSE: `port ${port} is taken on ${address}; end what listens there, or write another in PORT`,
    EACCES: `port ${port} is for privileged programs; write one from 1024 in PORT`,
    EADDRNOTAVAIL: `this machine has no address ${address}; write one of its own in HOST`,
  }
  const remedy = remedies[error.code ?? '']
  return remedy === undefined ? error : new FoghornError('cannot_listen', remedy)
}

if (import.meta.main) {
  const write = (line: string) => void process.stdout.write(`${line}\n`)
  const stopped = new Promise((resolve) => {
    process.once('SIGTERM', resolve).once('SIGINT', resolve)
  })
  try {
    const relay = await start(readSettings(process.env), write)
    await stopped
    await relay.stop()
    process.exit(0)
  } catch (error) {
    process.stderr.write(`The relay cannot run: ${(error as Error).message}\n`)
    process.exit(error instanceof FoghornError ? 2 : 1)
  }
}
