// The relay's alerts about itself: once when a trouble begins, once when it is over.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ownChecks } from '../../../functions/features/problems/use.ts'
import { answer, gone, sentTo } from '../../support/deliveries.ts'
import { minute, report, startRelay, world } from '../../support/relay.ts'
import { event, usualAnswer } from '../../support/world.ts'

const gb = 1_000_000_000
let freeBytes = 0
const check = () => ownChecks.run(world.relay)

beforeEach(async () => {
  const routes = [{ match: {}, channels: ['chat', 'hook'] }]
  await startRelay({ owners: ['hook', 'pager'], routes })
  freeBytes = 10 * gb
  world.relay.host.abilities.disk = async () => ({ freeBytes, totalBytes: 20 * gb })
})
afterEach(() => world.store.close())

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5 * minute) {
    await world.pass(5 * minute)
    await check()
    await world.drain()
  }
}

const said = (kind: string) =>
  sentTo(world, 'hook')
    .filter(({ json }) => json.type === `foghorn.alert.${kind}`)
    .map(({ json }) => `${json.data.form}: ${json.data.title}`)

const incidents = (kind: string) =>
  sentTo(world, 'pager')
    .filter(({ json }) => json.dedup_key.includes(`/${kind}/`))
    .map(({ json }) => json.event_action)

test('a disk that fills up, and has space again after a restart', async () => {
  await pass(10 * minute)
  freeBytes = 1.9 * gb
  await pass(60 * minute)
  freeBytes = 1 * gb
  await pass(60 * minute)
  const begun = "begun: The relay's disk is nearly full: 1.9 GB of 20.0 GB are free"
  expect(said('disk_nearly_full')).toEqual([begun])
  expect(sentTo(world, 'hook')[0]!.json.data).not.toHaveProperty('fleet')
  freeBytes = 5 * gb
  await pass(60 * minute)
  expect(said('disk_nearly_full')).toEqual([begun, "over: The relay's disk has space again"])
  expect(incidents('disk_nearly_full')).toEqual(['trigger', 'resolve'])
})

test('a channel in trouble without a fallback, until it takes messages again', async () => {
  answer(world, 'slack', gone)
  await report(event())
  await pass(30 * minute)
  expect(said('channels_in_trouble')).toEqual(['begun: A channel gets no messages: chat'])
  const alert = sentTo(world, 'hook').find(
    ({ json }) => json.type === 'foghorn.alert.channels_in_trouble',
  )!
  expect(alert.json.data.lines[0]).toBe(
    'chat is refusing: HTTP 404: Slack no longer knows this webhook: no_service.',
  )
  world.channels.answer = usualAnswer
  await report(event({ resources: ['web_0', 'web_1'] }))
  await pass(30 * minute)
  expect(said('channels_in_trouble')).toEqual([
    'begun: A channel gets no messages: chat',
    'over: Channel chat works again',
  ])
  expect(world.lines.filter((line) => /"problem_begun".*channels/.test(line))).toHaveLength(1)
  expect(world.lines.filter((line) => /"problem_over".*channels/.test(line))).toHaveLength(1)
})

test('owners hear of a channel when its state changes, whenever the next check is', async () => {
  answer(world, 'slack', gone)
  await report(event())
  await world.pass(minute)
  expect(said('channels_in_trouble')).toEqual(['begun: A channel gets no messages: chat'])
  world.channels.answer = usualAnswer
  await report(event({ resources: ['web_0', 'web_1'] }))
  await world.pass(5 * minute)
  expect(said('channels_in_trouble')).toHaveLength(2)
})

test('what cannot be checked is logged, and hinders no other check', async () => {
  answer(world, 'slack', gone)
  await report(event())
  world.relay.host.abilities.disk = async () => Promise.reject(new Error('no such folder'))
  await ownChecks.run(world.relay)
  await world.pass(minute)
  expect(said('channels_in_trouble')).toHaveLength(1)
  expect(world.lines.join()).toContain('"own_check_failed"')
})
