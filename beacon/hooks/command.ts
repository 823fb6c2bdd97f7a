// Starts the runner of hooks: as a service of its own, or within the beacon (`--with-hooks`).
import { FoghornError, messageOf } from '../../shared/errors.ts'
import { createLog, type Log } from '../../shared/log.ts'
import { terminal } from '../cli.ts'
import { systemClock } from '../clock.ts'
import { createApi } from '../kubernetes/api.ts'
import { NodeDrain } from '../kubernetes/drain.ts'
import { type KubernetesSettings, readKubernetesSettings } from '../kubernetes/settings.ts'
import { type HookSettings, readRunnerSettings } from '../settings.ts'
import { createTransport } from '../transport.ts'
import type { Environment } from '../variables.ts'
import { aborted, localLink, noLink, type RunnerLink, SocketLink } from './link.ts'
import { programsIn } from './programs.ts'
import { HookRunner, type Runner } from './runner.ts'
import { serveRunner } from './server.ts'

/**
 * `foghorn-beacon hooks`, and `hooks --kubernetes`, which drains the node instead of running programs.
 * Returns the exit code: 0 stopped, 1 failed, 2 wrong settings.
 */
export async function runHooks(
  environment: Environment,
  stop: AbortSignal,
  what: 'programs' | 'kubernetes',
  platform: string = process.platform,
): Promise<number> {
  if (isOpenToAll(platform)) {
    terminal.error('on Windows, hooks run within the beacon: start it with --with-hooks')
    return 2
  }
  const settings = readRunnerSettings(environment)
  const kubernetes = what === 'kubernetes' ? readKubernetesSettings(environment) : undefined
  const problems = [settings, kubernetes].flatMap((one) =>
    one && 'problems' in one ? one.problems : [],
  )
  for (const problem of problems) terminal.error(problem)
  if ('problems' in settings || (kubernetes && 'problems' in kubernetes)) return 2
  const { folder, socket, logLevel } = settings
  const log = createLog({
    write: terminal.out,
    now: systemClock.now,
    level: logLevel,
  })
  try {
    const drain = kubernetes && openDrain(kubernetes, log, stop)
    const work = drain ?? programsIn(folder, environment, log)
    const runner = new HookRunner({ work, clock: systemClock, log })
    const close = await serveRunner(socket, runner, log)
    const { prepare, restore } = runner.status()
    const found = { prepare: prepare.state, restore: restore.state }
    const about = kubernetes ? { node: kubernetes.nodeName } : { folder, ...found }
    log.info('hook_runner_started', { socket, ...about })
    await (drain?.watch(stop) ?? aborted(stop))
    await runner.stop()
    await close()
    log.info('hook_runner_stopped')
    return 0
  } catch (error) {
    const code = error instanceof FoghornError ? error.code : 'unexpected'
    log.error('hook_runner_failed', { code, error: messageOf(error) })
    return 1
  }
}

/**
 * On Windows, every user of the VM can make the pipe. So the beacon believes no runner there, and it
 * starts even if somebody else holds the pipe.
 */
function isOpenToAll(platform: string): boolean {
  return platform === 'win32'
}

/** The runner within the beacon runs hooks as the beacon's user. */
export async function openLink(
  { folder, socket }: HookSettings,
  isWithin: boolean,
  environment: Environment,
  log: Log,
  platform: string = process.platform,
): Promise<RunnerLink> {
  if (!isWithin) {
    if (isOpenToAll(platform)) return noLink
    return new SocketLink({ path: socket, clock: systemClock, random: Math.random, log })
  }
  const runner = createRunner(folder, environment, log)
  return localLink(runner, await serveIfAllowed(socket, runner, log, platform))
}

/** The socket is only for `check`, and so that no second runner starts. Not every user may make it. */
async function serveIfAllowed(
  socket: string,
  runner: Runner,
  log: Log,
  platform: string,
): Promise<() => Promise<void>> {
  try {
    return await serveRunner(socket, runner, log)
  } catch (error) {
    const isUsed = error instanceof FoghornError && error.code === 'hook_runner_in_use'
    if (isUsed && !isOpenToAll(platform)) throw error
    log.info('hook_socket_skipped', { socket, reason: messageOf(error) })
    return async () => {}
  }
}

function openDrain(settings: KubernetesSettings, log: Log, stop: AbortSignal): NodeDrain {
  const { origin, accountFolder, nodeName, drain } = settings
  const transport = createTransport()
  const api = createApi({ origin, accountFolder, nodeName, transport, signal: stop })
  return new NodeDrain({ api, settings: drain, clock: systemClock, random: Math.random, log })
}

function createRunner(folder: string, environment: Environment, log: Log): Runner {
  return new HookRunner({ work: programsIn(folder, environment, log), clock: systemClock, log })
}
