// Reminders and pages after an event changed: nobody is asked about a time that is over, and nobody
// who must decide is left out.
import { expect, test } from 'vitest'
import { sentTo } from '../../support/deliveries.ts'
import { has } from '../../support/features.ts'
import { forge, press } from '../../support/people.ts'
import { beacon, minute, report, second, startRelay, world } from '../../support/relay.ts'
import { sentToEndpoint, subscribe } from '../../support/subscriptions.ts'
import { event, startAt, usualAnswer } from '../../support/world.ts'

const escalation = { match: {}, moments: ['reminder'], remindBeforeSeconds: [600] }
const at = (minutes: number) => event({ notBeforeAt: startAt + minutes * minute })

async function goOn(shown: ReturnType<typeof event>, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10 * second) {
    await beacon.sees([shown])
    await world.pass(10 * second)
  }
}

const momentsTo = async (channel: string) => {
  const { deliveries } = (await world.getEvent(event().eventId)).body
  return deliveries
    .filter((row: { channel: string }) => row.channel === channel)
    .map((row: { moment: string; state: string }) => `${row.moment} ${row.state}`)
}

test('a reminder that waited is not sent with a time that Azure has moved', async () => {
  await startRelay({
    routes: [
      { match: {}, channels: ['hook'] },
      { ...escalation, channels: ['pager'] },
    ],
  })
  await goOn(at(15), 4 * minute)
  world.channels.answer = (request) =>
    request.url.includes('pager') ? new Response('down', { status: 503 }) : usualAnswer(request)
  await goOn(at(15), 2 * minute)
  await goOn(at(300), minute)
  world.channels.answer = usualAnswer
  const before = world.sent.length
  await goOn(at(300), 2 * minute)
  expect(world.sent.slice(before).filter(({ url }) => url.includes('pager'))).toEqual([])
  expect(await momentsTo('pager')).toEqual(['reminder superseded'])
})

test('a late reminder reaches a channel that the change did not reach', async () => {
  const moments = ['scheduled', 'reminder', 'completed']
  await startRelay({
    routes: [{ match: {}, moments, remindBeforeSeconds: [600], channels: ['pager'] }],
  })
  await goOn(at(60), minute)
  await goOn(at(8), minute)
  expect(await momentsTo('pager')).toEqual(['scheduled delivered', 'reminder delivered'])
})

test('an event that is asked again has no reminder with the question', async () => {
  await startRelay({ routes: [{ match: {}, remindBeforeSeconds: [600], channels: ['chat'] }] })
  await goOn(at(12), 20 * second)
  await press(world, await forge(world), 'approve')
  world.clock.now += 3 * minute
  await report(event({ ...at(12), eventType: 'Redeploy' }))
  await world.pass(second)
  expect((await momentsTo('chat')).filter((row: string) => row.startsWith('reminder'))).toEqual([])
})

test('a page after the decision has no severity that wakes people', async () => {
  await startRelay({
    routes: [
      { match: {}, channels: ['hook'] },
      { match: { eventType: 'Redeploy' }, channels: ['pager'] },
    ],
  })
  await goOn(at(15), 20 * second)
  await press(world, await forge(world), 'not_now')
  await goOn(event({ ...at(15), eventType: 'Redeploy' }), 30 * second)
  const severities = sentTo(world, 'pager').map(({ json }) => json.payload?.severity)
  expect(severities).toEqual(['warning'])
})

test('a channel that a change has brought gets the later messages', async () => {
  await startRelay({
    routes: [
      { match: {}, channels: ['hook'] },
      { match: { eventType: 'Redeploy' }, channels: ['team'] },
    ],
  })
  await goOn(at(15), 20 * second)
  await goOn(event({ ...at(15), eventType: 'Redeploy' }), 20 * second)
  await goOn(at(15), 20 * second)
  await beacon.sees([])
  await world.pass(11 * second)
  const moments = (await momentsTo('team')).map((row: string) => row.split(' ')[0])
  expect(moments).toEqual(['changed', 'changed', 'cancelled'])
})

test.runIf(has('subscriptions'))(
  'if NotBefore moves away and back, the reminder is another one, with an id of its own',
  async () => {
    await startRelay({ routes: [{ match: {}, remindBeforeSeconds: [600], channels: ['chat'] }] })
    await subscribe(world)
    for (const minutes of [15, 60, 15]) await goOn(at(minutes), 6 * minute)
    const reminders = sentToEndpoint(world).filter(({ json }) => /reminder$/.test(json.type))
    expect(reminders).toHaveLength(2)
    expect(new Set(reminders.map(({ headers }) => headers['webhook-id'])).size).toBe(2)
  },
)
