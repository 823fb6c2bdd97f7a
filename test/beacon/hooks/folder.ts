// A folder with programs as hooks, and what a runner needs to run them.
import { chmodSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { systemClock } from '../../../beacon/clock.ts'
import { programsIn } from '../../../beacon/hooks/programs.ts'
import type { Order } from '../../../beacon/hooks/protocol.ts'
import { HookRunner } from '../../../beacon/hooks/runner.ts'
import type { Environment } from '../../../beacon/variables.ts'
import type { Hook } from '../../../shared/report.ts'
import { anEvent } from '../events.ts'
import { createTestLog, temporaryDirectory } from '../world.ts'

/** `notes` is for what the programs write. */
export function hookFolder(programs: Partial<Record<Hook, string>> = {}) {
  const directory = realpathSync(temporaryDirectory())
  const folder = join(directory, 'hooks')
  mkdirSync(folder, { mode: 0o755 })
  const notes = join(directory, 'notes')
  writeFileSync(notes, '')
  const write = (hook: Hook, lines: string) => {
    const file = join(folder, hook)
    writeFileSync(file, `#!/bin/sh\n${lines.replaceAll('$NOTES', notes)}\n`)
    chmodSync(file, 0o755)
    return file
  }
  for (const hook of ['prepare', 'restore'] as const) {
    if (programs[hook] !== undefined) write(hook, programs[hook])
  }
  const noted = () => readFileSync(notes, 'utf8').split('\n').filter(Boolean)
  return { directory, folder, write, notes, noted }
}

export function anOrder(changes: Partial<Order> = {}): Order {
  return {
    ...{ run: 'run-1', hook: 'prepare', limitMs: 30_000, vm: 'vm1' },
    ...{ event: anEvent(), firstSeenAt: Date.UTC(2026, 0, 1) },
    ...changes,
  }
}

/** A runner over a folder with these programs. */
export function startRunner(
  programs: Partial<Record<Hook, string>>,
  environment: Environment = { PATH: process.env.PATH },
  place = hookFolder(programs),
) {
  const log = createTestLog()
  const work = programsIn(place.folder, environment, log)
  const runner = new HookRunner({ work, log, clock: systemClock })
  onTestFinished(() => runner.stop())
  const ended = (run = 'run-1') =>
    vi.waitFor(() => {
      const end = runner.status().ended.find((one) => one.run === run)
      if (end === undefined) throw new Error(`${run} has not ended`)
      const { ageMs: _, ...rest } = end
      return rest
    }, waitLimit)
  return { ...place, runner, log, ended }
}

export const waitLimit = { timeout: 15_000, interval: 10 }

export function isAlive(pid: number): boolean {
  try {
    // A zombie is dead: its parent has only not looked yet.
    return !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
