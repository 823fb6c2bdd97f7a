// The relay on plain Node: one process, an embedded SQLite, `npm start`. The only place that reads the
// environment of this host.
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { createLog, type Level } from '../../shared/log.ts'
import { fromBase64, toBase64 } from '../../shared/signature.ts'
import { createApp } from '../app.ts'
import { createAttention } from '../attention.ts'
import { type Config, readConfig, secretsOf } from '../config.ts'
import { notifiers } from '../notify/index.ts'
import { createOutbound } from '../notify/undici.ts'
import type { Relay } from '../relay.ts'
import { SqliteStore } from '../store/sqlite.ts'
import { nodeHmac } from './node-hmac.ts'
import { Pump } from './pump.ts'

const drainMs = 5_000
const minLinkKeyBytes = 32
const minAdminKeyLength = 32

interface Settings {
  port: number
  dataDirectory: string
  config: Config
  linkKeys: Uint8Array<ArrayBuffer>[]
  adminKey: string | undefined
  level: Level
}

/** Everything that is wrong with the environment and the configuration, in one error. */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const mistakes: string[] = []
  const attempt = <T>(read: () => T): T | undefined => {
    try {
      return read()
    } catch (error) {
      mistakes.push(messageOf(error))
      return undefined
    }
  }
  const port = attempt(() => portOf(environment.PORT ?? '7071'))
  const linkKeys = attempt(() => linkKeysOf(environment.FOGHORN_LINK_KEY))
  const adminKey = attempt(() => adminKeyOf(environment.FOGHORN_ADMIN_KEY))
  const level = attempt(() => levelOf(environment.FOGHORN_LOG_LEVEL ?? 'info'))
  const path = environment.FOGHORN_CONFIG ?? 'foghorn.config.json'
  const config = attempt(() => readConfigFile(path, environment))
  if (mistakes.length > 0) throw new FoghornError('settings_invalid', mistakes.join('\n'))
  return {
    port: port!,
    dataDirectory: environment.FOGHORN_DATA ?? '.foghorn',
    config: config!,
    linkKeys: linkKeys!,
    adminKey,
    level: level!,
  }
}

/** Starts the relay; `stop` drains it. */
export async function start(settings: Settings, write: (line: string) => void) {
  const { config, linkKeys, adminKey, port, dataDirectory } = settings
  const secrets = [...secretsOf(config), ...linkKeys.map(toBase64), adminKey ?? '']
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
    hmac: nodeHmac,
    linkKeys,
    adminKey,
    attention: createAttention(),
    now: Date.now,
    random: Math.random,
    log,
    listeningSince: Date.now(),
    wake: () => pump.wake(),
  }
  const pump = new Pump(relay)
  const server = await listen(createApp(relay), port)
  log.info('relay_started', { port: server.port, publicUrl: config.publicUrl, dataDirectory })
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

function listen(app: ReturnType<typeof createApp>, port: number) {
  return new Promise<{ port: number; close(): Promise<void> }>((resolve, reject) => {
    const server = serve({ fetch: app.fetch, port }, (info) =>
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
    server.on('error', reject)
  })
}

function portOf(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw new FoghornError('port_invalid', `PORT is "${text}"; write a number from 0 to 65535`)
}

function linkKeysOf(text: string | undefined): Settings['linkKeys'] {
  const keys = (text ?? '').split(',').map((part) => fromBase64(part.trim()))
  const usable = keys.filter((key) => key !== undefined && key.length >= minLinkKeyBytes)
  if (usable.length === keys.length) return usable as Settings['linkKeys']
  throw new FoghornError(
    'link_key_invalid',
    `FOGHORN_LINK_KEY is ${text ? 'not usable' : 'not set'}; write the base64 of at least ` +
      `${minLinkKeyBytes} random bytes (openssl rand -base64 32), several separated by commas`,
  )
}

function adminKeyOf(text: string | undefined): string | undefined {
  if (text === undefined || text === '' || text.length >= minAdminKeyLength)
    return text || undefined
  throw new FoghornError(
    'admin_key_invalid',
    `FOGHORN_ADMIN_KEY has ${text.length} characters; write at least ${minAdminKeyLength}, or ` +
      'leave it out to switch the events API off',
  )
}

function levelOf(text: string): Level {
  if (['debug', 'info', 'warn', 'error'].includes(text)) return text as Level
  throw new FoghornError(
    'level_invalid',
    `FOGHORN_LOG_LEVEL is "${text}"; write debug, info, warn or error`,
  )
}

function readConfigFile(path: string, environment: NodeJS.ProcessEnv): Config {
  if (!existsSync(path)) {
    const remedy = 'set FOGHORN_CONFIG, or copy the example from the README'
    throw new FoghornError('config_missing', `there is no configuration at "${path}"; ${remedy}`)
  }
  try {
    return readConfig(readFileSync(path, 'utf8'), environment)
  } catch (error) {
    if (!(error instanceof FoghornError)) throw error
    throw new FoghornError(error.code, `in ${path}:\n${error.message}`)
  }
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
