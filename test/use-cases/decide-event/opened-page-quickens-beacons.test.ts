// Far from NotBefore beacons report once a minute. If a person opens the page, a decision is near,
// so they report more often.
import { beforeEach, expect, test } from 'vitest'
import { press, watch } from '../../support/people.ts'
import { beacon, report, startRelay, world } from '../../support/relay.ts'
import { event, startAt } from '../../support/world.ts'

const far = event({ notBeforeAt: startAt + 3 * 3_600_000 })

beforeEach(async () => {
  await startRelay()
  await report(far)
})

function link(): string {
  const chat = world.sent.find(({ url }) => url.includes('slack'))
  const actions = chat?.json.blocks.find(({ type }: { type: string }) => type === 'actions')
  return new URL(actions.elements[0].url).pathname
}

test('after a page was opened, beacons report often for a quarter of an hour', async () => {
  expect((await beacon.sees([far])).paceMs).toBe(60_000)
  await world.app.request(link())
  expect((await beacon.sees([far])).paceMs).toBe(2_000)
  world.clock.now += 15 * 60_000
  expect((await beacon.sees([far])).paceMs).toBe(60_000)
})

test('a HEAD, an OPTIONS, a prefetch or an open page does not count', async () => {
  for (const method of ['HEAD', 'OPTIONS']) await world.app.request(link(), { method })
  for (const name of ['sec-purpose', 'purpose', 'x-moz']) {
    await world.app.request(link(), { headers: { [name]: 'prefetch' } })
  }
  await watch(world, link())
  expect((await beacon.sees([far])).paceMs).toBe(60_000)
})

test('an approval is not stuck before a beacon at the slow pace could have fetched it', async () => {
  await press(world, link(), 'approve')
  await world.pass(89_999)
  expect(world.told()).not.toContain('foghorn.event.stuck')
  await world.pass(1)
  expect(world.told()).toContain('foghorn.event.stuck')
})
