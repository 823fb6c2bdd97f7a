// The owner's programs as hooks: `prepare` and `restore` in a folder.

import type { Log } from '../../shared/log.ts'
import { type Hook, maxHookNote } from '../../shared/report.ts'
import { cut } from '../../shared/text.ts'
import type { Environment } from '../variables.ts'
import { eventJson, listVariables } from './event.ts'
import { createOutput, type End, execute } from './execute.ts'
import { findHook, judgeOwner } from './inspect.ts'
import { listFields, type Outcome, type Work } from './runner.ts'

/** Hooks get a few variables of `environment`, which is that of the runner. */
export function programsIn(folder: string, environment: Environment, log: Log): Work {
  /** What was logged last of each hook that is refused. */
  const refusals = new Map<Hook, string>()
  return {
    presence(hook) {
      const { presence } = findHook(folder, hook, judgeOwner(process))
      const note = presence.state === 'refused' ? presence.note : ''
      if (note !== '' && refusals.get(hook) !== note) {
        log.error('hook_refused', { hook, reason: note })
      }
      refusals.set(hook, note)
      return presence
    },

    about: () => ({}),

    /** A program is not ended early: only its owner knows what that would leave. */
    async run(order, stop) {
      const { hook, limitMs } = order
      const about = listFields(order)
      const { file, presence } = findHook(folder, hook, judgeOwner(process))
      // somebody may change the disk after the look that called it ready
      if (presence.state === 'refused') return { state: 'refused', note: presence.note }
      const output = createOutput(
        (line) => log.info('hook_output', { ...about, line }),
        () => log.warn('hook_output_cut', about),
      )
      const run = {
        environment: listVariables(order, environment, process.platform),
        input: eventJson(order),
        limitMs,
        output,
      }
      const end = await execute(file, run, stop)
      return end.kind === 'stopped' ? undefined : judgeOutcome(end, limitMs, output.lastLine())
    },
  }
}

function judgeOutcome(
  end: Exclude<End, { kind: 'stopped' }>,
  limitMs: number,
  lastLine: string,
): Outcome {
  const noted = (...parts: string[]) => {
    const note = cut(parts.filter((part) => part !== '').join(': '), maxHookNote)
    return note === '' ? {} : { note }
  }
  switch (end.kind) {
    case 'exited': {
      const state = end.code === 0 ? 'succeeded' : 'failed'
      const code = end.code === 0 ? {} : { exitCode: end.code }
      return { state, ...code, ...noted(lastLine) }
    }
    case 'timed_out':
      return {
        state: 'failed',
        ...noted(`killed at its limit of ${Math.round(limitMs / 1000)} s`, lastLine),
      }
    case 'killed':
      return { state: 'failed', ...noted(`killed by ${end.signal}`, lastLine) }
    case 'not_started':
      return { state: 'failed', ...noted(`could not be started (${end.reason})`) }
  }
}
