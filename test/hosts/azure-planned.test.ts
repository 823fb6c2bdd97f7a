// A request on Azure Functions claims what it committed itself: few calls, and no other's message
// delays it. What it cannot send at once gets a wake-up.
import { randomUUID } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { Rounds } from '../../functions/host/azure/rounds.ts'
import { AzureStore } from '../../functions/store/azure/store.ts'
import { Table } from '../sim/table.ts'
import { createWorld, event, FakeBeacon, usualAnswer, type World } from '../support/world.ts'

let world: World
let rounds: Rounds
let wakeUps: number[]
let looks: number

async function start(paced = false) {
  world = await createWorld({ paced })
  wakeUps = []
  looks = 0
  const rows = new Table().plain()
  const store = new AzureStore({ rows, newId: randomUUID, random: () => 0.5, wait: async () => {} })
  const { nextDueAt } = store
  store.nextDueAt = (pacing) => {
    looks += 1
    return nextDueAt.call(store, pacing)
  }
  const schedule = async (delayMs: number) => void wakeUps.push(delayMs)
  rounds = new Rounds(world.relay, schedule, store)
  const wake: Rounds['hint'] = (...args) => rounds.hint(...args)
  Object.assign(world.relay, { store, attention: store.attention, wake })
}

afterEach(() => rounds.stop(0))

const sentTo = (host: string) => world.sent.filter(({ url }) => url.includes(host)).length

test('its messages are sent before the answer, and nothing else is looked at', async () => {
  await start()
  await rounds.during(() => new FakeBeacon(world, 'web_0').sees([event()]))
  expect(world.sent.length).toBe(4)
  expect(looks).toBe(0)
})

test('a refused message brings a look at what is due, and a wake-up for its next attempt', async () => {
  await start()
  world.channels.answer = (request) =>
    request.url.includes('hook.') ? new Response(null, { status: 500 }) : usualAnswer(request)
  await rounds.during(() => new FakeBeacon(world, 'web_0').sees([event()]))
  expect(looks).toBe(1)
  expect(wakeUps).toHaveLength(1)
})

test('a channel that hangs for one event does not delay the answer about another one', async () => {
  await start()
  const go = Promise.withResolvers<void>()
  world.channels.answer = async (request) => {
    if (request.body.includes('slow-one')) await go.promise
    return usualAnswer(request)
  }
  const [one, other] = [new FakeBeacon(world, 'web_0'), new FakeBeacon(world, 'web_1')]
  const slow = rounds.during(() => one.sees([event({ eventId: 'slow-one' })]))
  await expect.poll(() => sentTo('hook.')).toBe(1)
  await rounds.during(() => other.sees([event()]))
  expect(sentTo('hook.')).toBe(2)
  go.resolve()
  await slow
})

test('a channel that rests from earlier messages keeps its rate, and a wake-up follows', async () => {
  await start(true)
  const beacon = new FakeBeacon(world, 'web_0')
  const ids = ['one', 'two', 'three', 'four']
  for (const [i] of ids.entries()) {
    const seen = ids.slice(0, i + 1).map((eventId) => event({ eventId }))
    await rounds.during(() => beacon.sees(seen))
  }
  // Slack takes two messages at once, and then one a second
  expect(sentTo('//slack.')).toBe(2)
  expect(sentTo('//hook.')).toBe(4)
  expect(looks).toBe(3)
  expect(Math.min(...wakeUps)).toBeLessThanOrEqual(1_000)
})
