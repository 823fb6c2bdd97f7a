// Remembers on disk which program runs, so that a runner that was killed leaves no hook behind: the
// next one ends it first. On Windows the service ends its children itself.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import * as z from 'zod/mini'
import { messageOf } from '../../shared/errors.ts'
import { parseJson } from '../../shared/json.ts'
import type { Log } from '../../shared/log.ts'
import { killGroup } from './execute.ts'

const recordSchema = z.object({
  group: z.int().check(z.minimum(2)),
  /** Of the group's first process: a number may be used again, but not with the same start. */
  startedAt: z.string().check(z.minLength(1)),
})

export interface Leftover {
  note(group: number): void
  clear(): void
  /** Kills what an earlier runner left. */
  end(): void
}

export function createLeftover(file: string, log: Log): Leftover {
  if (startOf(process.pid) === undefined) return { note() {}, clear() {}, end() {} }
  const attempt = (act: () => void) => {
    try {
      act()
    } catch (error) {
      log.warn('hook_record_failed', { file, error: messageOf(error) })
    }
  }
  const clear = () => attempt(() => rmSync(file, { force: true }))
  return {
    clear,
    note(group) {
      const startedAt = startOf(group)
      if (startedAt === undefined) return
      attempt(() => writeFileSync(file, JSON.stringify({ group, startedAt }), { mode: 0o600 }))
    },
    end() {
      const { group, startedAt } = recordSchema.safeParse(parseJson(textOf(file))).data ?? {}
      if (group !== undefined && startOf(group) === startedAt) {
        attempt(() => killGroup(group, 'SIGKILL'))
        log.warn('hook_left_over', { group: String(group) })
      }
      clear()
    },
  }
}

/** Empty if there is no such file. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** When the process started, and in which boot of the system; undefined without /proc. */
function startOf(pid: number): string | undefined {
  const stat = textOf(`/proc/${pid}/stat`)
  // The name of the program, in brackets, may have spaces. Field 22 is the start.
  const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  if (stat === '' || ticks === undefined) return undefined
  return `${textOf('/proc/sys/kernel/random/boot_id').trim()} ${ticks}`
}
