// The expansion of the log of moments: complete and without repetition, wherever a worker dies, and
// however many workers expand it at once.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { subscriptionChannel } from '../../../functions/core/delivery/delivery.ts'
import { createExpander, expandPage } from '../../../functions/use-cases/expand-moments.ts'
import { startRelay, world } from '../../support/relay.ts'
import { expandAll, happen, heardBy, subscribe } from '../../support/subscriptions.ts'

beforeEach(() => startRelay())
afterEach(() => world.store.close())

/** More than a page of moments, and with three subscriptions more than a write of deliveries. */
const events = 30

/** The events that each subscription has a delivery of, in order. */
async function planned(ids: string[]): Promise<string[][]> {
  const all: string[][] = []
  for (const id of ids) {
    const page = await world.store.listDeliveries(subscriptionChannel(id), { limit: 200 })
    const own = page.deliveries.filter(({ telling }) => telling.moment !== 'alert')
    all.push(own.sort((a, b) => a.seq - b.seq).map(({ eventId }) => eventId))
  }
  return all
}

async function threeSubscriptions(): Promise<string[]> {
  const urls = ['a', 'b', 'c'].map((path) => `https://cmdb.example/${path}`)
  const made = []
  for (const url of urls) made.push((await subscribe(world, { url })).id)
  return made
}

/** The relay with a store that notes its calls, and dies after some of them. */
function mortal(
  callsLeft = Number.POSITIVE_INFINITY,
  after: (call: string) => Promise<void> = async () => {},
) {
  const calls: string[] = []
  const store = new Proxy(world.store, {
    get(target, name) {
      const method = target[name as keyof typeof target] as unknown
      if (typeof method !== 'function') return method
      return async (...args: unknown[]) => {
        if (calls.length >= callsLeft) throw new Error('dead')
        calls.push(String(name))
        const result = await (method as (...args: unknown[]) => unknown).apply(target, args)
        await after(String(name))
        return result
      }
    },
  })
  return { relay: { ...world.relay, store }, calls }
}

test('without an active subscription, nothing of the log is read', async () => {
  await happen(world, 2)
  const { relay, calls } = mortal()
  expect(await expandPage(relay)).toBe('done')
  expect(calls).toEqual(['listMemos'])
})

test('the first subscription does not read what happened before', async () => {
  await happen(world, events)
  await threeSubscriptions()
  const { relay, calls } = mortal()
  await expandPage(relay)
  expect(calls).toEqual(['listMemos', 'readMemo', 'readMoments'])
  const position = { kind: 'expansion' as const, name: ['position'] }
  expect(await world.store.readMemo(position)).toBe(undefined)
})

test('each subscription gets each moment, in the order of the log', async () => {
  const ids = await threeSubscriptions()
  await happen(world, events)
  await expandAll(world)
  const [first, ...others] = await planned(ids)
  expect(first).toHaveLength(events)
  expect([...first!].sort()).toEqual(first)
  for (const other of others) expect(other).toEqual(first)
  await world.drain()
  expect(heardBy(world, 'https://cmdb.example/b')).toHaveLength(1 + events)
})

test('whichever call a worker dies before, the next one completes it, and nothing is sent twice', async () => {
  const ids = await threeSubscriptions()
  await happen(world, events)
  for (let lives = 0, goesOn = true; goesOn; lives++) {
    const { relay } = mortal(lives)
    goesOn = await expandPage(relay).then(
      (page) => page === 'more',
      () => true,
    )
    // what is planned goes out in between
    await world.drainOnly()
  }
  const all = await planned(ids)
  for (const one of all) expect(new Set(one).size).toBe(events)
  for (const path of ['a', 'b', 'c']) {
    expect(heardBy(world, `https://cmdb.example/${path}`)).toHaveLength(1 + events)
  }
})

test('two workers at once plan each delivery once', async () => {
  const ids = await threeSubscriptions()
  await happen(world, events)
  const relays = [mortal().relay, mortal().relay]
  await Promise.all(relays.map((relay) => expandPage(relay)))
  await expandAll(world)
  for (const one of await planned(ids)) expect(new Set(one).size).toBe(events)
  await world.drain()
  expect(heardBy(world, 'https://cmdb.example/a')).toHaveLength(1 + events)
})

test('a subscription that becomes active between two reads misses no later moment', async () => {
  const [first] = await threeSubscriptions()
  await happen(world, 1)
  let late: Promise<{ id: string }> | undefined
  const { relay } = mortal(Number.POSITIVE_INFINITY, async (name) => {
    if (name !== 'readMoments') return
    late ??= subscribe(world, { url: 'https://cmdb.example/late' })
    await late
  })
  await expandPage(relay)
  const { id } = (await late)!
  await happen(world, 2)
  await expandAll(world)
  const [whole, own] = await planned([first!, id])
  expect(whole).toHaveLength(2)
  expect(own).toEqual(whole!.slice(1))
})

describe('a host', () => {
  test('looks again only after a commit, or after two seconds', async () => {
    await threeSubscriptions()
    const { relay, calls } = mortal()
    const { expand } = createExpander(relay)
    const looks = async () => {
      const before = calls.length
      expect(['done', 'expanded']).toContain(await expand())
      return calls.length > before
    }
    expect([await looks(), await looks()]).toEqual([true, false])
    await happen(world, 1)
    expect([await looks(), await looks()]).toEqual([true, false])
    world.clock.now += 2_000
    expect(await looks()).toBe(true)
  })

  test('logs a failure, and looks again', async () => {
    await threeSubscriptions()
    const { relay } = mortal(0)
    const { expand } = createExpander(relay)
    expect([await expand(), await expand()]).toEqual(['failed', 'failed'])
    expect(world.lines.filter((line) => line.includes('expansion_failed'))).toHaveLength(2)
  })
})
