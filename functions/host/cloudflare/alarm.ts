// The loop's timer in a Durable Object: its alarm, which also survives a restart. If an alarm fails
// six times, Cloudflare never tries it again, so the handler must not throw, and the Worker's cron
// trigger also looks what is due.
import { messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Host } from '../loop.ts'

/** The cron trigger runs this often, so a later due time needs no alarm. */
export const cronMs = 60_000

interface AlarmParts {
  setAlarm(at: number): Promise<void>
  now(): number
  log: Log
}

export function createAlarm({ setAlarm, now, log }: AlarmParts): Host {
  const failed = (error: unknown) => log.error('alarm_failed', { error: messageOf(error) })
  return {
    set(ms) {
      if (ms >= cronMs) return
      try {
        setAlarm(now() + ms).catch(failed)
      } catch (error) {
        failed(error)
      }
    },
  }
}
