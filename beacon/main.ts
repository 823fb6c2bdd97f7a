// Starts a beacon from environment variables, or its runner of hooks, and stops it on SIGTERM or
// SIGINT. Nothing else reads the environment. Exit codes: 0 stopped, 1 failed, 2 wrong settings.
import { randomUUID } from 'node:crypto'
import { uptime } from 'node:os'
import packageJson from '../package.json' with { type: 'json' }
import { FoghornError, messageOf } from '../shared/errors.ts'
import { createLog, type Log } from '../shared/log.ts'
import { runAgent } from './agent.ts'
import { systemClock } from './clock.ts'
import { createKeyCredential } from './credential.ts'
import { createStopping } from './goodbye.ts'
import { openLink, runHooks } from './hooks/command.ts'
import { createCourseStore } from './hooks/store.ts'
import { createImds } from './metadata.ts'
import { createRelay } from './send.ts'
import { readEnvironment, type Settings } from './settings.ts'
import { openSpool } from './spool.ts'
import { TokenCredential } from './token.ts'

/** Exit after this time even if something hangs. Longer than the last report may take. */
const stopWithinMs = 2_800

const words = process.argv.slice(2)
const settings = readEnvironment(process.env)
if (words[0] === 'hooks') {
  process.exitCode = await runHooks(process.env, stopSignal())
} else if ('problems' in settings) {
  for (const problem of settings.problems) process.stderr.write(`${problem}\n`)
  process.exitCode = 2
} else {
  const log = createLog({
    write: (line) => process.stdout.write(`${line}\n`),
    now: systemClock.now,
    level: settings.logLevel,
    secrets: settings.secrets,
  })
  try {
    await run(settings, log)
  } catch (error) {
    const code = error instanceof FoghornError ? error.code : 'unexpected'
    log.error('beacon_failed', { code, error: messageOf(error) })
    process.exitCode = 1
  }
}

async function run(settings: Settings, log: Log): Promise<void> {
  const clock = systemClock
  const { relayUrl, fleet, credential, imdsUrl, pollMs, hooks, stateDirectory } = settings
  const spool = openSpool({ directory: stateDirectory, clock, log })
  const stopping = createStopping(stateDirectory)
  // only now: the directory may have been another beacon's
  stopping.clear()
  const isWithHooks = words.includes('--with-hooks')
  const link = await openLink(hooks, isWithHooks, stateDirectory, process.env, log)
  const imds = createImds({ origin: imdsUrl, clock, log })
  const relay = createRelay({
    ...{ url: relayUrl, fleet, clock },
    credential:
      credential.by === 'key'
        ? createKeyCredential(credential.fleetKey, randomUUID)
        : new TokenCredential({ source: imds, ...credential, clock, random: Math.random, log }),
    environment: settings.proxy,
  })
  try {
    await runAgent(
      {
        ...{ imds, relay, spool, clock, log, pollMs },
        random: Math.random,
        newId: randomUUID,
        uptimeMs: () => uptime() * 1000,
        whyStopping: () => stopping.reason(),
        version: packageJson.version,
        hooks: { link, store: createCourseStore(stateDirectory, log), settings: hooks },
        about: { fleet, imds: imdsUrl, relay: relayUrl, signIn: credential.by },
      },
      stopSignal(),
    )
  } finally {
    imds.close()
    relay.close()
    spool.close()
  }
  log.info('beacon_stopped')
}

function stopSignal(): AbortSignal {
  const stopping = new AbortController()
  const stop = () => {
    stopping.abort()
    setTimeout(() => process.exit(0), stopWithinMs).unref()
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  // Windows has no SIGTERM: its service closes this input. Waiting for it keeps no process alive.
  if (process.env.FOGHORN_STOP_ON_STDIN_CLOSE === '1') {
    process.stdin.once('close', stop).resume().unref()
  }
  return stopping.signal
}
