// A wave of events that are decided in Slack. A list has no buttons, so each event has a message of
// its own, at the channel's pace.
import { afterEach, expect, test } from 'vitest'
import { idOf, sentTo } from '../../support/deliveries.ts'
import { beacon, second, startRelay, world } from '../../support/relay.ts'
import { approvalsOf, pressInSlack, slackDecides } from '../../support/slack-press.ts'
import { event } from '../../support/world.ts'

afterEach(() => world.store.close())

async function begin(routes: object[]): Promise<void> {
  await startRelay({ ...slackDecides, routes }, { paced: true, vm: 'vm0' })
}

async function strike(count: number, typeOf = (_: number) => 'Reboot'): Promise<void> {
  await beacon.sees(
    Array.from({ length: count }, (_, i) =>
      event({ eventId: idOf(i), eventType: typeOf(i), resources: [`vm${i}`] }),
    ),
  )
  await world.drain()
}

const told = () => sentTo(world, 'slack').map(({ json }) => json)
const shownIn = (message: object) =>
  [...JSON.stringify(message).matchAll(/(?:Reboot|Freeze) of vm(\d+) at/g)].map(([, i]) =>
    Number(i),
  )
const decides = (message: object) => JSON.stringify(message).includes('not_now')
const pass = async (seconds: number) => {
  for (let i = 0; i < seconds; i++) await world.pass(second)
}

const onlyAda = { approveIn: 'slack', approvers: ['slack:T0HOME/U0ADA'] }

test('each event gets its own buttons, one message a second, and none is sent twice', async () => {
  await begin([{ match: {}, channels: ['chat', 'hook'], ...onlyAda }])
  await strike(6)
  const atOnce = told().length
  expect(atOnce).toBeLessThanOrEqual(2)
  await pass(1)
  expect(told().length).toBe(atOnce + 1)
  await pass(10)
  expect(told().every(decides)).toBe(true)
  const shown = told().map((message) => [...new Set(shownIn(message))])
  expect(shown.toSorted()).toEqual([[0], [1], [2], [3], [4], [5]])
  for (let i = 0; i < 6; i++) {
    const { deliveries } = (await world.getEvent(idOf(i))).body
    const row = deliveries.find(({ channel }: { channel: string }) => channel === 'chat')
    expect(row).toMatchObject({ state: 'delivered', attempts: 1 })
  }
})

test('a listed person decides the last of them in Slack', async () => {
  await begin([{ match: {}, channels: ['chat', 'hook'], ...onlyAda }])
  await strike(6)
  await pass(10)
  const last = [...new Set(shownIn(told().at(-1)!))][0]!
  await pressInSlack(world)
  expect(await approvalsOf(world, idOf(last))).toMatchObject([
    { how: 'slack', who: 'T0HOME/U0ADA' },
  ])
})

test('events that are not decided in Slack stay in lists', async () => {
  await begin([
    { match: { eventType: 'Reboot' }, channels: ['chat'], ...onlyAda },
    { match: { eventType: 'Freeze' }, channels: ['chat'] },
  ])
  await strike(12, (i) => (i % 3 === 0 ? 'Reboot' : 'Freeze'))
  await pass(20)
  const shown = told().map((message) => new Set(shownIn(message)))
  expect(shown.flatMap((some) => [...some]).toSorted((a, b) => a - b)).toEqual([
    ...Array(12).keys(),
  ])
  expect(told().filter(decides)).toHaveLength(4)
  for (const message of told().filter(decides)) expect(new Set(shownIn(message)).size).toBe(1)
  // eight events in fewer messages
  expect(told().length).toBeLessThanOrEqual(8)
})
