// The Azure store while its table fails: every call ends in a bounded time with an error that says
// what is wrong, and many writers at one event lose nothing.
import { randomUUID } from 'node:crypto'
import { TableClient } from '@azure/data-tables'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Rows } from '../../functions/store/azure/rows.ts'
import { AzureStore } from '../../functions/store/azure/store.ts'
import { AzureTable } from '../../functions/store/azure/table.ts'
import { readPost, writePost } from '../../functions/store/memos.ts'
import type { Store } from '../../functions/store/store.ts'
import { claimDue, nextDueAt } from '../../functions/use-cases/deliver.ts'
import { type Azurite, startAzurite } from '../support/azurite.ts'
import { type StorageFaults, startStorageFaults } from '../support/storage-faults.ts'
import { createWorld, event, eventId, FakeBeacon, type World } from '../support/world.ts'

let azurite: Azurite
let faults: StorageFaults
let table: string

beforeAll(async () => {
  azurite = await startAzurite()
  faults = await startStorageFaults(azurite.connection)
})

afterEach(() => faults.clear())

afterAll(async () => {
  await faults.stop()
  await azurite.stop()
})

function openRows(limitMs?: number): AzureTable {
  const options = { allowInsecureConnection: true }
  const client = TableClient.fromConnectionString(faults.connection, table, options)
  return new AzureTable(client, limitMs)
}

/** A relay on a table of its own. */
async function startWorld(config: object = {}): Promise<World> {
  table = `t${randomUUID().replaceAll('-', '')}`
  return joinWorld(openRows(), config)
}

/** Another relay on the same table. */
async function joinWorld(rows: Rows, config: object = {}): Promise<World> {
  const world = await createWorld({ config })
  const wait = async () => {}
  const store = new AzureStore({ rows, newId: randomUUID, random: Math.random, wait })
  await store.open()
  world.relay.store = store satisfies Store
  return world
}

const refused = { code: 'UpdateConditionNotSatisfied', answer: 412, inTransaction: true } as const

describe('a call', () => {
  const limitMs = 400
  const unavailable = { code: 'storage_unavailable' }

  test('that hangs ends at its limit, and says so', async () => {
    await startWorld()
    faults.add({ answer: 'hang' })
    const rows = openRows(limitMs)
    const change = [{ kind: 'put' as const, row: 'r', body: 'b' }]
    const message = expect.stringContaining(
      `did not answer for "${table}" within 0.4 s; the relay retries`,
    )
    const calls = [rows.read('p', 'r'), rows.list('p', { from: '', to: '~' })]
    for (const call of [...calls, rows.change('p', change)]) {
      await expect(call).rejects.toMatchObject({ ...unavailable, message })
    }
  })

  test('that must wait for an hour ends at its limit', async () => {
    await startWorld()
    faults.add({ answer: 503, retryAfterSeconds: 3_600 })
    await expect(openRows(limitMs).read('p', 'r')).rejects.toMatchObject(unavailable)
    expect(faults.state.failed).toBe(1)
  })

  test('that is forbidden is not repeated, and names the missing roles', async () => {
    await startWorld()
    faults.add({ answer: 403, code: 'AuthorizationPermissionMismatch' })
    await expect(openRows().read('p', 'r')).rejects.toMatchObject({
      code: 'storage_forbidden',
      message: expect.stringMatching(
        /\(AuthorizationPermissionMismatch\).*"Storage Table Data Contributor"/,
      ),
    })
    expect(faults.state.failed).toBe(1)
  })
})

test('a post is known as written even if the answer to its write was lost', async () => {
  const { store } = (await startWorld()).relay
  const key = { fleet: 'prod', eventId, epoch: 1, channel: 'chat' }
  for (const basedOn of [0, 1]) {
    faults.add({ answer: 'lost', only: 'changes', about: 'post', times: 1 })
    const state = { is: 'absent' as const, by: `w${basedOn}` }
    expect(await writePost(store, key, state, basedOn)).toBe('written')
    expect(await readPost(store, key)).toEqual({ version: basedOn + 1, state })
  }
  expect(faults.state.failed).toBe(2)
})

describe('many writers at one event', () => {
  test('each of 12 reports is joined even if every other write is refused', async () => {
    const world = await startWorld()
    const beacons = Array.from({ length: 12 }, (_, i) => new FakeBeacon(world, `web_${i}`))
    faults.add({ ...refused, only: 'changes', about: '"event|', times: 12 })
    const seen = (resources: string[]) => [event({ resources })]
    await Promise.all(
      beacons.map((beacon, i) => beacon.sees(seen(['web_0', ...(i > 0 ? [`web_${i}`] : [])]))),
    )
    expect(faults.state.failed).toBe(12)
    const observers = await world.relay.store.readObservers({ fleet: 'prod', eventId })
    expect(observers).toHaveLength(12)
    await world.drain()
    const { body } = await world.getEvent(eventId)
    const owed = body.deliveries.filter(({ state }: { state: string }) => state === 'pending')
    expect(owed).toEqual([])
    expect(world.told().filter((type) => type === 'foghorn.event.scheduled')).toHaveLength(1)
  })

  test('a write that is always refused ends with nothing stored and 503', async () => {
    const world = await startWorld({ routes: [{ match: {}, channels: ['hook'] }] })
    faults.add({ ...refused, only: 'changes', about: '"event|' })
    const beacon = new FakeBeacon(world, 'web_0')
    const response = await beacon.post(beacon.body([event()]))
    expect([response.status, await response.json()]).toMatchObject([503, { code: 'busy' }])
    expect(faults.state.failed).toBe(100)
    faults.clear()
    expect((await world.getEvent(eventId)).status).toBe(404)
    // its entries in the index are gone, too
    const owed = [0, 1, 2, 3].flatMap((shard) => openRows().list(`owed|${shard}`, all))
    expect((await Promise.all(owed)).flat()).toEqual([])
  })

  test('a settlement that is always refused ends; after the lease the delivery is due again', async () => {
    const world = await startWorld()
    await new FakeBeacon(world, 'web_0').sees([event()])
    faults.add({ ...refused, about: JSON.stringify('"state":"delivered"').slice(1, -1) })
    await world.drain()
    expect(world.lines.join('\n')).toContain('"settle_failed"')
    faults.clear()
    const known = world.sent.length
    await world.pass(20_001)
    const { body } = await world.getEvent(eventId)
    const states = body.deliveries.map(({ state }: { state: string }) => state)
    expect(states).toEqual(Array(4).fill('delivered'))
    // with the same id, by which a channel can recognize it
    const ids = world.sent.map(({ headers }) => headers['webhook-id']).filter(Boolean)
    expect([ids.length, new Set(ids).size, world.sent.length]).toEqual([2, 1, known + 4])
  })
})

const all = { from: '', to: '~' }

test('a commit whose answer is lost can be found, whatever others changed meanwhile', async () => {
  const others = await startWorld()
  const rows = openRows()
  let lost = false
  const losing: Rows = {
    read: (partition, row) => rows.read(partition, row),
    list: (partition, range) => rows.list(partition, range),
    async change(partition, changes) {
      const outcome = await rows.change(partition, changes)
      if (lost || !partition.startsWith('event|')) return outcome
      lost = true
      // the event changes, and a worker that dies claims all of its messages
      await new FakeBeacon(others, 'web_1').sees([event({ description: 'And it got worse.' })])
      expect(await claimDue(others.relay, 10)).toHaveLength(4)
      // as the client does by itself
      return rows.change(partition, changes)
    },
  }
  const world = await joinWorld(losing)
  await new FakeBeacon(world, 'web_0').sees([event()])
  expect(lost).toBe(true)
  await world.pass(20_001)
  expect(world.told()).toContain('foghorn.event.scheduled')
  expect(await nextDueAt(world.relay)).toBeGreaterThan(world.clock.now)
})
