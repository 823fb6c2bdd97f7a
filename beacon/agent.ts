// Runs the loops of one beacon: poll, report, start events, identify the VM, run hooks. They do not
// wait for each other, so a hanging relay never stops the polls.

import { EventHooks } from './hooks/hooks.ts'
import { createImdsBackoff } from './imds-backoff.ts'
import { createTroubleLog } from './log-once.ts'
import { pollLoop } from './poll.ts'
import { reportLoop } from './reporter.ts'
import { createStarter } from './starter.ts'
import type { Parts, State } from './state.ts'
import { createWakeTimer } from './wake-timer.ts'

/** Tags can change while a VM runs, and policies match them. */
const identityRefreshMs = 10 * 60_000
/** Base of the waits after `/metadata/instance` failed. */
const identityRetryMs = 1_000

/** Runs until `signal` aborts. If a loop fails, stops the others and rejects. */
export async function runAgent(parts: Parts, signal: AbortSignal): Promise<void> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  const state: State = {
    vm: undefined,
    document: undefined,
    reportTimer: createWakeTimer(parts.clock),
  }
  if (parts.hooks !== undefined) state.hooks = new EventHooks(parts, parts.hooks, state)
  const starter = createStarter(parts, state)
  // a beacon that fails says no goodbye: its silence is to be noticed
  const whyStopping = async () => (signal.aborted ? parts.whyStopping() : undefined)
  const loops = [
    // first, so that the first report knows the hooks
    ...(state.hooks === undefined ? [] : [state.hooks.loop(stopping.signal)]),
    pollLoop(parts, state, stopping.signal),
    identityLoop(parts, state, stopping.signal),
    reportLoop(parts, state, starter.direct, stopping.signal, whyStopping),
    starter.loop(stopping.signal),
  ]
  const ends = await Promise.allSettled(loops.map((loop) => loop.finally(stop)))
  signal.removeEventListener('abort', stop)
  const broken = ends.find((end) => end.status === 'rejected')
  if (broken !== undefined) throw broken.reason
}

/** Reports begin after the first answer. A later failure keeps the VM that is known. */
async function identityLoop(parts: Parts, state: State, stop: AbortSignal): Promise<void> {
  const { clock, imds, log } = parts
  const trouble = createTroubleLog(log, 'imds')
  const backoff = createImdsBackoff(clock, parts.random, identityRetryMs)
  while (!stop.aborted) {
    const answer = await imds.identify(stop)
    if (stop.aborted) return
    if (answer.kind === 'vm') {
      backoff.reset()
      trouble.recovered({ endpoint: 'instance' })
      const first = state.vm === undefined
      if (first) {
        parts.takeOver(answer.vm.vmId, () => {
          parts.spool.forget()
          state.hooks?.forget()
        })
      }
      state.vm = answer.vm
      if (first) {
        log.info('beacon_started', { vm: answer.vm.name, ...parts.about })
        state.reportTimer.bring(clock.monotonic())
      }
      await clock.sleep(identityRefreshMs, stop)
    } else {
      const { reason, status } = answer
      trouble.failed('', { endpoint: 'instance', reason, status })
      await clock.sleep(backoff.waitMs(answer), stop)
    }
  }
}
