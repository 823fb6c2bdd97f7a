// Requests whose bodies take twenty times their size in memory once they are parsed: `{}`, many times, in a field that
// nobody reads. They wait for their turns, and so do hundreds more of one sender.
import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createApp } from '../../functions/app.ts'
import { reportPath } from '../../shared/report.ts'
import { sign } from '../../shared/signature.ts'
import { cloudEvent } from '../simulator/event-grid.ts'
import { publication, send, startWithAzure } from '../support/azure.ts'
import { world } from '../support/relay.ts'
import { event, FakeBeacon, prodKey } from '../support/world.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const count = 20
const padding = `"x":[${'{},'.repeat(80_000)}{}]`
const megabyte = 1024 * 1024

/** Ends the wait of all that have had their first turn. */
let release: () => void
let waiting: number

beforeEach(async () => {
  await startWithAzure()
  waiting = 0
  const [released, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  release = released.resolve
  let turns = 0
  world.relay.host.readPlaces = 1_000
  world.relay.host.pause = () => {
    turns += 1
    if (turns === count) arrived.resolve()
    // the first turn of each reads the body
    if (turns <= count) return arrived.promise
    waiting += 1
    return released.promise
  }
  world.app = createApp(world.relay)
})
afterEach(() => world.store.close())

async function report(name: string): Promise<Response> {
  const own = JSON.stringify(new FakeBeacon(world, name).body([event({ eventId: randomUUID() })]))
  const body = `{${padding},${own.slice(1)}`
  const headers = { ...(await sign([prodKey], randomUUID(), world.clock.now, body)) }
  return world.app.request(reportPath, {
    ...{ method: 'POST', body },
    headers: { ...headers, 'x-foghorn-fleet': 'prod' },
  })
}

function publishOne(): Promise<Response> {
  const entry = JSON.stringify(cloudEvent(publication({ eventId: randomUUID() })))
  return send(JSON.parse(`{${padding},${entry.slice(1)}`))
}

test.each([
  ['reports', report],
  ['batches of Event Grid', publishOne],
])('%s keep what they say, and not all that was parsed', async (_, sendOne) => {
  collect()
  const before = process.memoryUsage().heapUsed
  const answers = Array.from({ length: count }, (_, i) => sendOne(`vm_${i}`))
  await expect.poll(() => waiting).toBe(count)
  collect()
  // their texts alone take 5 MB
  expect((process.memoryUsage().heapUsed - before) / megabyte).toBeLessThan(30)
  release()
  for (const { status } of await Promise.all(answers)) expect([200, 204]).toContain(status)
})
