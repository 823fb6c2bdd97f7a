// What happens to pending messages if the event ends first, or if their worker dies.
import { beforeEach, describe, expect, test } from 'vitest'
import { claimDue, deliverTogether } from '../../../functions/use-cases/deliver.ts'
import { answer, down, passInSteps, rowsOf, sentTo } from '../../support/deliveries.ts'
import { linkOf, press } from '../../support/people.ts'
import { beacon, hour, minute, report, startRelay, world } from '../../support/relay.ts'
import { event, startAt, started, usualAnswer } from '../../support/world.ts'

beforeEach(() => startRelay())

describe('the end overtakes', () => {
  const actions = (from = 0) => sentTo(world, 'pager', from).map(({ json }) => json.event_action)

  test.each([
    ['scheduled', async () => {}],
    ['changed, not yet tried', () => beacon.sees([event({ notBeforeAt: startAt + hour })])],
    ['started', () => beacon.sees([started()])],
  ])('PagerDuty: a trigger still pending (%s) is superseded, not sent', async (_, step) => {
    answer(world, 'pager', down)
    await report(event())
    await step()
    await world.pass(1_000)
    await beacon.sees([])
    world.clock.now += 10_001
    world.channels.answer = usualAnswer
    const from = world.sent.length
    await passInSteps(world, 5 * minute, 1_000)
    expect(actions(from)).toEqual(['resolve'])
    const states = (await rowsOf(world, 'pager')).map(({ state }) => state)
    expect(states.slice(0, -1).every((state) => state === 'superseded')).toBe(true)
    expect(states.at(-1)).toBe('delivered')
  })

  test('PagerDuty: an incident that was never tried is neither opened nor resolved', async () => {
    await beacon.sees([event()])
    await beacon.sees([])
    await world.pass(10_001)
    await passInSteps(world, minute, 1_000)
    expect(actions()).toEqual([])
  })

  test('PagerDuty: a route without the opening step never resolves', async () => {
    for (const moments of [['approved', 'completed'], ['started', 'completed'], ['completed']]) {
      const routes = [
        { match: {}, moments, channels: ['pager'] },
        { match: {}, channels: ['chat'] },
      ]
      await startRelay({ routes })
      await report(event())
      await press(world, linkOf(world), 'approve')
      await report(started())
      await beacon.sees([])
      await world.pass(10_001)
      expect(actions()).toEqual([])
    }
  })

  test('PagerDuty: if the opening is refused, nothing is resolved', async () => {
    answer(world, 'pager', () => new Response('{}', { status: 400 }))
    await report(event())
    await beacon.sees([])
    await world.pass(10_001)
    expect(actions()).toEqual(['trigger'])
  })
})

describe('a crash', () => {
  test('between claim and settlement is repeated after the lease of 20 s, with the same id', async () => {
    await beacon.sees([event()])
    const { requests: claims } = await claimDue(world.relay, 9)
    expect(claims).toHaveLength(4)
    await world.pass(19_999)
    expect(world.sent).toEqual([])
    await world.pass(1)
    expect(world.sent).toHaveLength(4)
    const [hookCall] = sentTo(world, 'hook')
    expect(hookCall?.headers['webhook-id']).toBe(
      claims.flat().find((c) => c.channel === 'hook')?.id,
    )
    expect(await rowsOf(world, 'hook')).toMatchObject([{ state: 'delivered', attempts: 2 }])
  })

  test('leaves a question that is not asked any more once the event has ended', async () => {
    await beacon.sees([event()])
    await claimDue(world.relay, 9)
    await beacon.sees([])
    await world.pass(10_001)
    await world.pass(20_000)
    const told = sentTo(world, 'slack').map(({ json }) => json.text as string)
    expect(told).toEqual([expect.stringContaining('Probably cancelled')])
    // the trigger may have reached PagerDuty before the crash, so its incident is resolved
    const actions = sentTo(world, 'pager').map(({ json }) => json.event_action)
    expect(actions).toEqual(['resolve'])
    expect(world.told()).toEqual(['foghorn.event.scheduled', 'foghorn.event.cancelled'])
  })

  test('a worker that wakes up after its lease changes nothing', async () => {
    await beacon.sees([event()])
    const [slow] = (await claimDue(world.relay, 1)).requests
    world.clock.now += 20_000
    await world.drain()
    const before = await rowsOf(world, slow![0]!.channel)
    world.channels.answer = () => new Response('no', { status: 404 })
    await deliverTogether(world.relay, slow!)
    expect(await rowsOf(world, slow![0]!.channel)).toEqual(before)
    expect(world.sent).toHaveLength(4)
    expect(world.lines.join()).toContain('delivery_lease_lost')
  })
})
