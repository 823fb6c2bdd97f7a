// Trouble with a channel at the wrong moment must not affect later messages.
import { beforeEach, describe, expect, test } from 'vitest'
import { answer, down, idOf, passInSteps, rowsOf, sentTo } from '../../support/deliveries.ts'
import { forge, press } from '../../support/people.ts'
import { beacon, eventNow, minute, report, startRelay, world } from '../../support/relay.ts'
import { event, FakeBeacon, startAt, started, usualAnswer } from '../../support/world.ts'

beforeEach(() => startRelay())

const actions = () => sentTo(world, 'pager').map(({ json }) => json.event_action)

describe('PagerDuty', () => {
  test('is paged even if a reminder came due while it was down and a person decided then', async () => {
    await startRelay({
      routes: [{ match: {}, channels: ['pager', 'chat'], remindBeforeSeconds: 600 }],
    })
    answer(world, 'pager', down)
    await beacon.sees([event()])
    await passInSteps(world, 6 * minute, 5_000)
    await press(world, await forge(world), 'not_now')
    world.channels.answer = usualAnswer
    const from = world.sent.length
    await passInSteps(world, minute, 5_000)
    const told = sentTo(world, 'pager', from).map(({ json }) => json.event_action)
    expect(told).toEqual(['trigger', 'acknowledge'])
  })

  test('a decision acknowledges an incident that an escalation opened', async () => {
    const escalation = { match: {}, moments: ['reminder'], channels: ['pager'] }
    const routes = [
      { match: {}, channels: ['chat'] },
      { ...escalation, remindBeforeSeconds: 600 },
    ]
    await startRelay({ routes })
    await beacon.sees([event()])
    await passInSteps(world, 6 * minute, minute)
    await press(world, await forge(world), 'approve')
    await world.drain()
    expect(actions()).toEqual(['trigger', 'acknowledge'])
  })

  test('an event that is back and has started is an incident, also after *not now*', async () => {
    await report(event())
    await press(world, await forge(world), 'not_now')
    await report()
    await world.pass(11_000)
    await report(started())
    expect(actions()).toEqual(['trigger', 'acknowledge', 'resolve', 'trigger'])
  })

  test('a stuck approval is an incident of its own, which ends when the event starts', async () => {
    const said = () =>
      sentTo(world, 'pager').map(({ json }) => [
        json.event_action,
        json.dedup_key.replace(/.*\/1/, ''),
      ])
    const told = [
      ['trigger', ''],
      ['acknowledge', ''],
      ['trigger', '/stuck'],
    ]
    await report(event())
    await press(world, await forge(world), 'approve')
    await passInSteps(world, minute, 5_000)
    expect(said()).toEqual(told)
    await report(started())
    const begun = [...told, ['acknowledge', ''], ['resolve', '/stuck']]
    expect(said()).toEqual(begun)
    await beacon.sees([])
    await passInSteps(world, minute, 5_000)
    expect(said()).toEqual([...begun, ['resolve', '/stuck'], ['resolve', '']])
  })

  test('after "lost", a late report opens nothing that stays open', async () => {
    await beacon.sees([event()])
    await passInSteps(world, 40 * minute, minute)
    expect(actions()).toEqual(['trigger', 'resolve'])
    await beacon.sees([])
    await passInSteps(world, 60 * minute, minute)
    expect(actions().at(-1)).toBe('resolve')
    expect((await rowsOf(world, 'chat')).at(-1)?.moment).toMatch(/completed|cancelled/)
  })
})

test('a delivery that was overtaken or held back before a request counts no attempt', async () => {
  answer(world, 'slack', down)
  await report(event())
  await beacon.sees([started()])
  world.channels.answer = usualAnswer
  await world.pass(minute)
  const [scheduled] = await rowsOf(world, 'chat')
  expect(scheduled).toMatchObject({ state: 'superseded', attempts: 1 })
})

test('a delivery that waits after a long failure is retried when a newer one is pending', async () => {
  answer(world, 'hook', down)
  const far = event({ notBeforeAt: startAt + 5 * 24 * 60 * minute })
  await beacon.sees([far])
  await passInSteps(world, 3 * 60 * minute, minute)
  world.channels.answer = usualAnswer
  const from = world.sent.length
  await report(started({ notBeforeAt: far.notBeforeAt! }))
  const told = sentTo(world, 'hook', from).map(({ json }) => json.type)
  expect(told.slice(0, 1)).toEqual(['foghorn.event.scheduled'])
  expect(told.at(-1)).toBe('foghorn.event.started')
})

test('one message that Slack refuses does not take a whole list down', async () => {
  await startRelay({ routes: [{ match: {}, channels: ['chat'] }] }, { paced: true })
  world.channels.answer = ({ body }) =>
    body.includes('vm3') ? new Response('invalid_blocks', { status: 400 }) : new Response('ok')
  const wave = [...Array(6).keys()].map((i) => event({ eventId: idOf(i), resources: [`vm${i}`] }))
  await beacon.sees(wave)
  for (let seconds = 0; seconds < 20; seconds++) await world.pass(1_000)
  const states = await Promise.all(
    wave.map(async ({ eventId }) => (await eventNow(eventId)).deliveries[0].state),
  )
  const refused = states.map((state, i) => (state === 'refused' ? i : -1)).filter((i) => i >= 0)
  expect(refused).toEqual([3])
  expect(states.filter((state) => state === 'delivered')).toHaveLength(5)
})

test('a clock that was an hour ahead for a moment silences no channel', async () => {
  await startRelay({ routes: [{ match: {}, channels: ['chat'] }] }, { paced: true })
  world.clock.now += 60 * minute
  await report(event({ notBeforeAt: startAt + 90 * minute }))
  expect(world.sent).toHaveLength(1)
  world.clock.now = startAt
  await new FakeBeacon(world, 'vm1').sees([event({ eventId: idOf(1), resources: ['vm1'] })])
  for (let seconds = 0; seconds < 5; seconds++) await world.pass(1_000)
  expect(world.sent).toHaveLength(2)
})

test('of several reminders that come due at once, one is sent', async () => {
  const routes = [{ match: {}, channels: ['hook'], remindBeforeSeconds: [3_600, 1_800, 900] }]
  await startRelay({ routes })
  await beacon.sees([event({ notBeforeAt: startAt + 5 * 60 * minute })])
  world.clock.now += (4 * 60 + 50) * minute
  await beacon.sees([event({ notBeforeAt: startAt + 5 * 60 * minute })])
  for (let looks = 0; looks < 5; looks++) await world.pass(1_000)
  const reminders = world.told().filter((type) => type.endsWith('reminder'))
  expect(reminders).toHaveLength(1)
})
