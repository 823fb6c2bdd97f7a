// Runs one command: the beacon, its runner of hooks, or a check. A signal (SIGTERM or SIGINT) stops
// it. Only this file and `runtime.ts` read the environment. Exit codes: 0 stopped, 1 failed, 2
// wrong settings, or a check with something to fix.
import { uptime } from 'node:os'
import packageJson from '../package.json' with { type: 'json' }
import { FoghornError, messageOf } from '../shared/errors.ts'
import { whyForeign } from '../shared/folder.ts'
import { createLog, type Log } from '../shared/log.ts'
import { maskOf, maskTokens } from '../shared/mask.ts'
import { escapeUnseen } from '../shared/presentable.ts'
import { runAgent } from './agent.ts'
import { check, layOut, silentLog } from './check.ts'
import { type Command, exitCodes, runCommand, terminal } from './cli.ts'
import { systemClock } from './clock.ts'
import { createKeyCredential, TokenCredential } from './credential.ts'
import { createStopping } from './goodbye.ts'
import { openLink, runHooks } from './hooks/command.ts'
import { createHookStore } from './hooks/store.ts'
import { createImds } from './imds.ts'
import { createTakeOver } from './owner.ts'
import { createRelay, createRelayClient, type RelayOptions } from './relay-client.ts'
import { readEnvironment, type Settings } from './settings.ts'
import { openSpool } from './spool.ts'

/** Exit after this time even if something hangs. Longer than the last report may take. */
const stopWithinMs = 2_800
/** Ids are made without node:crypto, which the executable would have to load. */
const newId = () => crypto.randomUUID()

const commands: Command[] = [
  { words: '', about: 'runs the beacon', run: () => withSettings(runBeacon) },
  {
    words: '--with-hooks',
    about: 'runs the beacon and, in the same process, the hooks of this VM',
    run: () => withSettings((settings) => runBeacon(settings, true)),
  },
  {
    words: 'hooks',
    about: 'runs the hooks of this VM for its beacon: a service of its own, not on Windows',
    run: () => runHooks(process.env, stopSignal(), 'programs'),
  },
  {
    words: 'hooks --kubernetes',
    about: 'in place of programs, drains the Kubernetes node of this VM, and uncordons it',
    run: () => runHooks(process.env, stopSignal(), 'kubernetes'),
  },
  {
    words: 'check',
    about: 'prints what works and what to fix; does not disturb a running beacon',
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

async function runBeacon(settings: Settings, isWithHooks = false): Promise<number> {
  const log = createLog({
    write: terminal.out,
    now: systemClock.now,
    level: settings.logLevel,
    secrets: settings.secrets,
  })
  try {
    await run(settings, isWithHooks, log)
    return exitCodes.fine
  } catch (error) {
    const code = error instanceof FoghornError ? error.code : 'unexpected'
    log.error('beacon_failed', { code, error: messageOf(error) })
    return exitCodes.failed
  }
}

async function run(settings: Settings, isWithHooks: boolean, log: Log): Promise<void> {
  const clock = systemClock
  const { relayUrl, fleet, credential, imdsUrl, pollMs, hooks, stateDirectory } = settings
  const foreign = whyForeign(stateDirectory)
  if (foreign !== undefined)
    throw new FoghornError(
      'state_dir_foreign',
      `"${stateDirectory}" ${foreign}, and root works in no folder of others; start the beacon as the folder's user, or set FOGHORN_STATE_DIR to a folder that only root can write to`,
    )
  const spool = openSpool({ directory: stateDirectory, clock, log })
  const stopping = createStopping(stateDirectory)
  // only now: the directory may have been another beacon's
  stopping.clear()
  const link = await openLink(hooks, isWithHooks, process.env, log)
  const imds = createImds({ origin: imdsUrl, clock, log })
  const relay = createRelay(relayOptions(settings, imds, log))
  try {
    await runAgent(
      {
        imds,
        relay,
        spool,
        clock,
        log,
        pollMs,
        random: Math.random,
        newId,
        uptimeMs: () => uptime() * 1000,
        takeOver: createTakeOver(stateDirectory, log),
        whyStopping: () => stopping.reason(),
        version: packageJson.version,
        hooks: { link, store: createHookStore(stateDirectory, log), settings: hooks },
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
  const columns = terminal.columns()
  const print = (line: string, command?: string) => {
    const shown = escapeUnseen(maskTokens(mask(line)))
    for (const one of layOut(shown, command && escapeUnseen(command), columns)) terminal.out(one)
  }
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
    url: relayUrl,
    fleet,
    clock,
    environment: proxy,
    credential:
      credential.by === 'key'
        ? createKeyCredential(credential.fleetKey, newId)
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
  // Windows has no SIGTERM: its service closes this input. Waiting for it keeps no process alive.
  if (process.env.FOGHORN_STOP_ON_STDIN_CLOSE === '1') {
    process.stdin.once('close', stop).resume().unref()
  }
  return stopping.signal
}
