// Fleets share channels, and channels have rates. Even if one fleet has many events waiting,
// another fleet's event is sent within about one turn.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { idOf, passInSteps, sentTo } from '../../support/deliveries.ts'
import { startRelay, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon, startAt, testKey } from '../../support/world.ts'

const invented = 200
const perBeacon = 100
beforeEach(async () => {
  await startRelay({}, { paced: true })
  // fleet "test" reports events that no other beacon sees
  for (let from = 0; from < invented; from += perBeacon) {
    const liar = new FakeBeacon(world, `liar_${from}`, { fleet: 'test', key: testKey })
    const events = Array.from({ length: perBeacon }, (_, i) =>
      event({ eventId: idOf(from + i), resources: [`vm${from + i}`] }),
    )
    await liar.sees(events)
  }
})
afterEach(() => world.store.close())

const vm = 'db_9'

/** When the first message about the VM reached a channel, in ms after the report. */
async function delays(): Promise<Record<string, number>> {
  const reportedAt = world.clock.now
  const found: Record<string, number> = {}
  for (let ms = 0; ms <= 60_000 && Object.keys(found).length < 4; ms += 100) {
    for (const host of ['slack', 'teams', 'pager', 'hook']) {
      const isThere = sentTo(world, host).some(({ body }) => body.includes(vm))
      if (isThere) found[host] ??= world.clock.now - reportedAt
    }
    await world.pass(100)
  }
  return found
}

test('a list names no event that its only link does not open', async () => {
  world.store.close()
  const push = {
    kind: 'http',
    url: 'https://push.example/in',
    body: { title: '{{title}}', message: '{{lines}}', url: '{{page}}' },
    limits: { title: 250, message: 1_024, url: 512 },
  }
  await startRelay(
    { channels: { push }, routes: [{ match: {}, channels: ['push'] }] },
    { paced: true },
  )
  // nothing in them repeats, so a link grows with each
  const sign = (i: number) => String.fromCharCode(0x4e00 + ((i * i * 7_919) % 20_000))
  const ids = Array.from({ length: 7 }, (_, i) =>
    Array.from({ length: 80 }, (__, k) => sign(i * 80 + k + 1)).join(''),
  )
  const liar = new FakeBeacon(world, 'liar', { fleet: 'test', key: testKey })
  const lies = ids.map((id) =>
    event({ eventId: id, resources: ['liar'], notBeforeAt: event().notBeforeAt! - 60_000 }),
  )
  await liar.sees(lies.slice(0, 2))
  await world.drain()
  await liar.sees(lies)
  await new FakeBeacon(world, vm).sees([event({ resources: [vm] })])
  for (let seconds = 0; seconds < 20; seconds++) await world.pass(1_000)
  const sent = sentTo(world, 'push').map(({ json }) => json)
  const own = sent.find(({ message, title }) => `${title} ${message}`.includes(vm))
  const page = await world.app.request(new URL(own.url).pathname)
  expect(await page.text()).toContain(vm)
  expect(sent.flatMap(({ url }) => (url.length > 512 ? [url] : []))).toEqual([])
})

test('200 events of one fleet delay an event of another by about one turn of each channel', async () => {
  await world.drain()
  await passInSteps(world, 2_000, 100)
  await new FakeBeacon(world, vm).sees([event({ resources: [vm] })])
  const { slack, teams, pager, hook } = await delays()
  // Slack accepts a message a second, PagerDuty one in 667 ms; one turn of the other fleet comes
  // first
  expect(slack).toBeLessThanOrEqual(2_100)
  expect(teams).toBeLessThanOrEqual(1_000)
  expect(pager).toBeLessThanOrEqual(1_500)
  expect(hook).toBeLessThanOrEqual(100)
})

test('and the next steps of that event, too', async () => {
  const beacon = new FakeBeacon(world, 'web_0')
  await beacon.sees([event()])
  await world.drain()
  await passInSteps(world, 3_000, 100)
  const before = sentTo(world, 'pager').length
  await beacon.sees([event({ notBeforeAt: startAt + 3_600_000 })])
  await passInSteps(world, 1_500, 100)
  const since = sentTo(world, 'pager').slice(before)
  expect(since.some(({ body }) => body.includes(eventId))).toBe(true)
  // the other fleet keeps its turn
  expect(since.some(({ body }) => !body.includes(eventId))).toBe(true)
})

test('an event that changes all the time delays another of its fleet by about one turn', async () => {
  const liar = new FakeBeacon(world, 'liar_0')
  for (let i = 0; i < 40; i++) {
    await liar.sees([event({ eventId: idOf(9_999), notBeforeAt: startAt + 600_000 + i * 60_000 })])
  }
  await new FakeBeacon(world, vm).sees([event({ resources: [vm] })])
  const { slack, pager, hook } = await delays()
  expect(slack).toBeLessThanOrEqual(2_100)
  expect(pager).toBeLessThanOrEqual(2_100)
  expect(hook).toBeLessThanOrEqual(100)
})
