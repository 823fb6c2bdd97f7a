// The alarm of the relay's object: if it cannot be set, the log says so and nothing throws.
import { expect, test } from 'vitest'
import { createAlarm, cronMs } from '../../functions/host/cloudflare/alarm.ts'
import { createLog } from '../../shared/log.ts'

function start(setAlarm: (at: number) => Promise<void>) {
  const lines: string[] = []
  const log = createLog({ write: (line) => lines.push(line), now: () => 0, level: 'debug' })
  return { alarm: createAlarm({ setAlarm, now: () => 1_000, log }), lines }
}

test('it is set for the time that is due, and not where the cron trigger comes earlier', () => {
  const set: number[] = []
  const { alarm } = start(async (at) => void set.push(at))
  alarm.set(500)
  alarm.set(cronMs)
  expect(set).toEqual([1_500])
})

const broken = {
  throws: () => {
    throw new Error('internal error')
  },
  rejects: () => Promise.reject(new Error('internal error')),
}

test.each(Object.entries(broken))('storage that %s', async (_how, setAlarm) => {
  const { alarm, lines } = start(setAlarm)
  alarm.set(500)
  await Promise.resolve()
  await Promise.resolve()
  expect(lines.join()).toContain('alarm_failed')
})
