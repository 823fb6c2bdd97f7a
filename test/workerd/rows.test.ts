// How many rows the relay writes in a Durable Object: Cloudflare bills each, and counts those of
// indexes. docs/performance-and-cost.md computes its table from these.
import { env, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FakeBeacon } from '../support/fake-beacon.ts'

const startAt = Date.UTC(2026, 10, 21, 12)
const paceMs = 5 * 60_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: startAt })
})
afterEach(() => vi.useRealTimers())

/** Counts the rows that the object writes from now on. */
async function counter(relay: ReturnType<typeof env.RELAY.get>): Promise<{ written: number }> {
  const count = { written: 0 }
  await runInDurableObject(relay, (_object, { storage: { sql } }) => {
    const exec = sql.exec.bind(sql)
    sql.exec = (...query) => {
      const cursor = exec(...query)
      const rows = cursor.toArray()
      count.written += (cursor as unknown as { rowsWritten: number }).rowsWritten
      return Object.assign(rows.values(), { toArray: () => rows }) as never
    }
  })
  return count
}

test('a heartbeat writes one row, and so does a run of the cron trigger', async () => {
  const relay = env.RELAY.get(env.RELAY.newUniqueId())
  const request = (path: string, init: RequestInit) =>
    relay.fetch(`https://foghorn.example${path}`, init)
  const clock = {
    get now() {
      return Date.now()
    },
  }
  const beacon = new FakeBeacon({ app: { request }, clock }, 'web_0')
  await relay.sweep()
  await beacon.sees([])
  const count = await counter(relay)
  vi.setSystemTime(startAt + paceMs)
  await beacon.sees([])
  expect(count.written).toBe(1)
  await relay.sweep()
  expect(count.written).toBe(1 + 1)
})
