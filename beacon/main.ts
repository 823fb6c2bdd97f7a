// Runs one command of the beacon, or the beacon itself until SIGTERM or SIGINT. Nothing else reads
// the environment. Exit codes: 0 stopped, 1 failed, 2 wrong settings, or a check with something to
// fix.
import { randomUUID } from 'node:crypto'
import { uptime } from 'node:os'
import packageJson from '../package.json' with { type: 'json' }
import { FoghornError, messageOf } from '../shared/errors.ts'
import { createLog, type Log, maskOf, maskTokens } from '../shared/log.ts'
import { escapeUnseen } from '../shared/presentable.ts'
import { runAgent } from './agent.ts'
import { check, silentLog } from './check/check.ts'
import { type Command, exitCodes, runCommand } from './cli.ts'
import { systemClock } from './clock.ts'
import { createKeyCredential } from './credential.ts'
import { createImds } from './metadata.ts'
import { createRelayClient, type RelayOptions } from './relay-client.ts'
import { createRelay } from './send.ts'
import { readEnvironment, type Settings } from './settings.ts'
import { openSpool } from './spool.ts'
import { TokenCredential } from './token.ts'

/** Exit after this time even if something hangs: a service manager does not wait longer. */
const stopWithinMs = 800

const terminal = {
  out: (line: string) => void process.stdout.write(`${line}\n`),
  error: (line: string) => void process.stderr.write(`${line}\n`),
}

const commands: Command[] = [
  { words: '', about: 'runs the beacon', run: () => withSettings(runBeacon) },
  {
    words: 'check',
    about: 'says what works and what to fix; disturbs no running beacon',
    run: () => withSettings(runCheck),
  },
]

process.exitCode = await runCommand(commands, process.argv.slice(2), packageJson.version, terminal)

async function withSettings(run: (settings: Settings) => Promise<number>): Promise<number> {
  const settings = readEnvironment(process.env)
  if (!('problems' in settings)) return run(settings)
  for (const problem of settings.problems) terminal.error(problem)
  return exitCodes.wrong
}

async function runBeacon(settings: Settings): Promise<number> {
  const log = createLog({
    write: terminal.out,
    now: systemClock.now,
    level: settings.logLevel,
    secrets: settings.secrets,
  })
  try {
    await run(settings, log)
    return exitCodes.fine
  } catch (error) {
    const code = error instanceof FoghornError ? error.code : 'unexpected'
    log.error('beacon_failed', { code, error: messageOf(error) })
    return exitCodes.failed
  }
}

async function run(settings: Settings, log: Log): Promise<void> {
  const clock = systemClock
  const { relayUrl, fleet, credential, imdsUrl, pollMs } = settings
  const spool = openSpool({ directory: settings.stateDirectory, clock, log })
  const imds = createImds({ origin: imdsUrl, clock, log })
  const relay = createRelay(relayOptions(settings, imds, log))
  try {
    await runAgent(
      {
        ...{ imds, relay, spool, clock, log, pollMs },
        random: Math.random,
        newId: randomUUID,
        uptimeMs: () => uptime() * 1000,
        version: packageJson.version,
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

async function runCheck(settings: Settings): Promise<number> {
  const clock = systemClock
  const imds = createImds({ origin: settings.imdsUrl, clock, log: silentLog })
  const client = createRelayClient(relayOptions(settings, imds, silentLog))
  // what the relay or IMDS says is printed
  const mask = maskOf(settings.secrets)
  const print = (line: string) => terminal.out(escapeUnseen(maskTokens(mask(line))))
  try {
    const isWell = await check({ settings, imds, client, clock, print })
    return isWell ? exitCodes.fine : exitCodes.wrong
  } finally {
    imds.close()
    client.close()
  }
}

function relayOptions(
  { relayUrl, fleet, credential, proxy }: Settings,
  source: ReturnType<typeof createImds>,
  log: Log,
): RelayOptions {
  const clock = systemClock
  return {
    ...{ url: relayUrl, fleet, clock, environment: proxy },
    credential:
      credential.by === 'key'
        ? createKeyCredential(credential.fleetKey, randomUUID)
        : new TokenCredential({ source, ...credential, clock, random: Math.random, log }),
  }
}

function stopSignal(): AbortSignal {
  const stopping = new AbortController()
  const stop = () => {
    stopping.abort()
    setTimeout(() => process.exit(0), stopWithinMs).unref()
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  return stopping.signal
}
