// A list has an entry that no whole row names: its row is damaged, or a write of Azure Tables failed halfway. The list
// goes on behind it.
import { afterEach, describe, expect, test } from 'vitest'
import { forgetOld } from '../../functions/use-cases/forget.ts'
import { MemoryTable } from '../support/memory-table.ts'
import { beacon, hour, minute, second, startRelay, world } from '../support/relay.ts'
import { storeOnTable } from '../support/stores.ts'
import { askApi } from '../support/tokens.ts'
import { adminKey, createWorld, event, FakeBeacon, type World } from '../support/world.ts'

interface Page {
  events: unknown[]
  cursor?: string
  next?: string
  more: boolean
}

async function listAll(of: World, query = 'limit=50'): Promise<number> {
  let [found, cursor]: [number, string | undefined] = [0, undefined]
  do {
    const answer = await askApi(
      of,
      adminKey,
      `/v1/events?${query}${cursor ? `&cursor=${cursor}` : ''}`,
    )
    const page = (await answer.json()) as Page
    found += page.events.length
    cursor = page.cursor
  } while (cursor !== undefined)
  return found
}

describe('one of sixty', () => {
  const fill = async () => {
    await startRelay()
    const all = Array.from({ length: 60 }, (_, i) =>
      event({ eventId: `e-${i}`, resources: ['web_0'], notBeforeAt: world.clock.now + hour }),
    )
    for (const [i] of all.entries()) {
      await beacon.sees(all.slice(0, i + 1))
      world.clock.now += second
    }
  }
  afterEach(() => world.store.close())

  test('an event: the API lists the others', async () => {
    await fill()
    world.store.alter("UPDATE rows SET body = '{}' WHERE row = 'event' AND partition LIKE '%|e-50'")
    expect(await listAll(world)).toBe(59)
  })

  test('a summary: History has the others', async () => {
    await fill()
    world.store.alter(
      "UPDATE entries SET summary = '{' WHERE name = 'events|prod' AND partition LIKE '%|e-50'",
    )
    const found = []
    for (let after: string | undefined; ; ) {
      const search = { fleets: ['prod'], limit: 20, ...(after && { after }) }
      const page = await world.store.findEvents(search)
      found.push(...page.events)
      if (page.next === undefined) break
      after = page.next
    }
    expect(found).toHaveLength(59)
  })
})

test('eighty of a hundred steps: a reader of the stream gets the others', async () => {
  await startRelay()
  const all = Array.from({ length: 100 }, (_, i) =>
    event({ eventId: `e-${i}`, resources: ['web_0'] }),
  )
  await beacon.sees(all)
  world.store.alter(`UPDATE rows SET body = '{}' WHERE row LIKE 'moment|%' AND id IN
    (SELECT id FROM rows WHERE row LIKE 'moment|%' ORDER BY id LIMIT 80)`)
  const answer = await askApi(world, adminKey, '/v1/events/stream?after=0&wait=0')
  expect(((await answer.json()) as Page).events).toHaveLength(20)
  // also if a page has damaged ones alone
  expect(await world.store.readMoments(0, 10, world.clock.now)).toHaveLength(10)
  world.store.close()
})

describe('on Azure Tables, the row of an event was not written, and the beacon said it again later', () => {
  async function halfWritten() {
    const table = new MemoryTable()
    const clock = { now: 0 }
    const own = await createWorld({ store: storeOnTable(table, () => clock.now) as never })
    Object.defineProperty(clock, 'now', { get: () => own.clock.now })
    const change = table.change.bind(table)
    const one = new FakeBeacon(own, 'web_0')
    const seen = event({ eventId: 'half', resources: ['web_0'] })
    table.change = async (partition, changes) => {
      if (partition.startsWith('event|')) throw new Error('the connection was reset')
      return change(partition, changes)
    }
    await one.sees([seen]).catch(() => {})
    table.change = change
    own.clock.now += second
    await new FakeBeacon(own, 'web_1').sees([seen])
    await one.sees([seen])
    return { own, one }
  }

  test('older events stay in the list', async () => {
    const { own, one } = await halfWritten()
    const more = event({ eventId: 'more', resources: ['web_0'] })
    own.clock.now += second
    await one.sees([event({ eventId: 'half', resources: ['web_0'] }), more])
    expect(await listAll(own, 'limit=1')).toBe(2)
  })

  test('an hour later, nobody is asked about it, and History has it once', async () => {
    const { own, one } = await halfWritten()
    for (const beacon of [one, new FakeBeacon(own, 'web_1')]) await beacon.sees([])
    await own.pass(15 * second)
    for (const beacon of [one, new FakeBeacon(own, 'web_1')]) await beacon.sees([])
    await own.pass(minute)
    own.clock.now += hour
    await forgetOld(own.relay)
    const { events } = await own.store.findEvents({ fleets: ['prod'], limit: 20 })
    expect(events.map(({ eventId }) => eventId)).toEqual(['half'])
    const { undecided } = await own.store.readCounts({
      now: own.clock.now,
      fleets: ['prod'],
      maxAgeMs: 0,
    })
    expect(undecided).toEqual([])
  })
})
