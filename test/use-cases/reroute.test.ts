// A channel is renamed or removed, or a new one is routed, while events are open.
import { expect, test, vi } from 'vitest'
import { readConfig } from '../../functions/config/config.ts'
import { rerouteOpen } from '../../functions/use-cases/reroute.ts'
import { asAdmin } from '../support/console.ts'
import { hour, relayForEach, report, startRelay, world } from '../support/relay.ts'
import { baseConfig, event } from '../support/world.ts'

const hook = {
  kind: 'webhook',
  url: 'https://one.example/hook',
  secret: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0',
}
const routed = (...names: string[]) => ({
  channels: Object.fromEntries(
    names.map((name) => [name, { ...hook, url: `https://${name}.example/hook` }]),
  ),
  routes: [{ match: {}, channels: names }],
})

relayForEach(() => startRelay(routed('one')))

/** The relay starts again, with this configuration. */
async function restart(...names: string[]): Promise<void> {
  world.relay.config = readConfig(JSON.stringify({ ...baseConfig, ...routed(...names) }), {})
  await rerouteOpen(world.relay)
  await world.drain()
}

/** Channel and moment of each message, in order. */
const told = () =>
  world.sent.map(({ url, json }) => [
    new URL(url).hostname.split('.')[0],
    (json as { type: string }).type.split('.').at(-1),
  ])

test('the new name of a channel gets the newest message of each open event, once', async () => {
  await restart('one')
  await report(event())
  await restart('two')
  expect(told()).toEqual([
    ['one', 'scheduled'],
    ['two', 'scheduled'],
  ])
  await restart('two')
  await restart('two', 'three')
  expect(told().slice(2)).toEqual([['three', 'scheduled']])
  expect(world.lines.filter((line) => line.includes('channel_removed'))).toHaveLength(1)
})

test('the relay pauses before each open event, as it may be large', async () => {
  await restart('one')
  await report(event(), event({ eventId: 'another' }))
  const pause = vi.spyOn(world.relay.host, 'pause')
  world.relay.config = readConfig(JSON.stringify({ ...baseConfig, ...routed('one', 'two') }), {})
  const pauses = async (work: () => Promise<void>) => {
    pause.mockClear()
    await work()
    return pause.mock.calls.length
  }
  expect(await pauses(() => rerouteOpen(world.relay))).toBe(2)
  expect(await pauses(() => rerouteOpen(world.relay))).toBe(0)
})

test('an event that has started or ended: how far it is, or nothing', async () => {
  await restart('one')
  await report(event())
  world.clock.now += 60_000
  await report(event({ status: 'Started' }))
  await restart('two')
  expect(told().at(-1)).toEqual(['two', 'started'])
  await report()
  await world.pass(60_000)
  await report()
  const before = told().length
  await restart('three')
  expect(told()).toHaveLength(before)
})

test('Now says for a day that a channel is gone, unless it is back', async () => {
  await restart('one')
  await report(event())
  await restart('two')
  const now = async () => (await (await asAdmin(world)).get('/console')).text()
  expect(await now()).toContain('one gets no messages</b><span>: removed from the configuration')
  await restart('one', 'two')
  world.clock.now += 2_001
  expect(await now()).not.toContain('removed from')
  await restart('two')
  world.clock.now += 24 * hour
  expect(await now()).not.toContain('removed from')
})

test('a channel that no open event had reached may go without a word', async () => {
  await restart('one')
  await restart('two')
  expect(world.lines.join()).not.toContain('channel_removed')
})
