// What hooks did for each event, on disk, so that `restore` runs also after the VM restarted. It is a cache
// of what the beacon knows, so a disk that fails stops no hook.
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod/mini'
import { scheduledEventSchema } from '../../shared/document.ts'
import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { hookRunSchema } from '../../shared/report.ts'
import type { Instant } from '../clock.ts'
import type { HookedEvent, Phase } from './hooked-event.ts'

export interface HookStore {
  load(): HookedEvent[]
  /** Replaces all. */
  save(events: readonly HookedEvent[]): void
}

const fileName = 'hooks.json'
const ownerOnly = 0o600

const instantSchema = z.pipe(
  z.number(),
  z.transform((wall): Instant => ({ wall })),
)
const shown = { state: true, exitCode: true, note: true, eventType: true } as const
const phaseSchema = z.extend(z.pick(hookRunSchema, shown), {
  starts: z.int().check(z.minimum(0)),
  since: instantSchema,
  run: z.optional(z.string()),
})
const hookedEventSchema = z.object({
  event: scheduledEventSchema,
  firstSeen: instantSchema,
  wish: z.optional(z.enum(['now', 'hold'])),
  isAnswered: z.boolean(),
  ended: z.optional(instantSchema),
  prepare: z.optional(phaseSchema),
  restore: z.optional(phaseSchema),
})
const fileSchema = z.object({ events: z.array(hookedEventSchema) })

/** A damaged file is as good as none. */
export function createHookStore(directory: string, log: Log): HookStore {
  const file = join(directory, fileName)
  return {
    load() {
      const text = readText(file)
      if (text === undefined) return []
      try {
        return fileSchema.parse(JSON.parse(text)).events as HookedEvent[]
      } catch (error) {
        log.error('hook_state_damaged', { file, error: messageOf(error) })
        return []
      }
    },
    save(events) {
      try {
        writeWhole(file, JSON.stringify({ events: events.map(written) }))
      } catch (error) {
        log.error('hook_state_write_failed', { file, error: messageOf(error) })
      }
    },
  }
}

/** Undefined if there is no such file. */
function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Instants as wall time: the other clock is of this process only. */
function written({ firstSeen, ended, prepare, restore, ...rest }: HookedEvent): object {
  const phase = (one: Phase | undefined) => one && { ...one, since: one.since.wall }
  return {
    ...rest,
    firstSeen: firstSeen.wall,
    ended: ended?.wall,
    prepare: phase(prepare),
    restore: phase(restore),
  }
}

/** Either all of it is on the disk, or the file stays as it was. */
function writeWhole(file: string, text: string): void {
  const next = `${file}.next`
  const descriptor = openSync(next, 'w', ownerOnly)
  try {
    // unlike `writeSync`, this goes on if the disk took a part
    writeFileSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(next, file)
}
