// Beacons in the console: by fleet, name and state, and which expected ones are missing.
import { beforeEach, expect, test } from 'vitest'
import { jobs } from '../../../functions/use-cases/jobs.ts'
import { asAdmin, asToken, type Visit } from '../../support/console.ts'
import { has } from '../../support/features.ts'
import { textOf } from '../../support/people.ts'
import { hour, startRelay, world } from '../../support/relay.ts'
import { FakeBeacon, prodKey, testKey } from '../../support/world.ts'

const fleets = {
  prod: { key: prodKey, expectedBeacons: ['web_0', 'web_9'] },
  test: { key: testKey },
}

beforeEach(async () => {
  await startRelay({ fleets })
  for (const name of ['web_0', 'web_1', 'db_0']) await new FakeBeacon(world, name).sees([])
  await new FakeBeacon(world, 'secret_0', { fleet: 'test', key: testKey }).sees([])
})

const shown = async (visit: Visit, query = '') =>
  textOf(await visit.get(`/console/beacons${query}`))

test.runIf(has('silence'))('heard and silent, by name and by state', async () => {
  const visit = await asAdmin(world)
  expect(await shown(visit)).toMatch(/db_0 Reporting .* web_0 Reporting .* web_1 Reporting/)
  expect(await shown(visit, '?q=WEB')).not.toContain('db_0')
  await world.pass(2 * hour)
  await new FakeBeacon(world, 'db_0').sees([])
  await world.drain()
  const silent = await shown(visit, '?state=silent')
  expect(silent).toMatch(/web_0 Silent .* web_1 Silent/)
  expect(silent).not.toContain('db_0')
})

test.runIf(has('silence'))('silent ones of other fleets are named and lead there', async () => {
  await world.pass(2 * hour)
  for (const job of jobs) await job.run(world.relay)
  const visit = await asAdmin(world)
  const [all, html] = [await shown(visit), await (await visit.get('/console/beacons')).text()]
  expect(all).toContain('Silent in other fleets: 1 in test')
  expect(html).toContain('/console/beacons?fleet=test&amp;state=silent')
  expect(await shown(visit, '?fleet=test')).toContain('Silent in other fleets: 3 in prod')
  expect(await shown(await asToken(world, ['read'], ['prod']))).not.toContain('other fleets')
})

test('a column in which no beacon has a value is left out', async () => {
  const visit = await asAdmin(world)
  expect(await shown(visit)).not.toContain('Hooks')
  await new FakeBeacon(world, 'web_2').sees([], { hooks: { available: ['prepare'], runs: [] } })
  expect(await shown(visit)).toContain('Hooks')
})

test.runIf(has('silence'))('the expected beacons that never reported', async () => {
  await world.pass(2 * hour)
  for (const job of jobs) await job.run(world.relay)
  expect(await shown(await asAdmin(world))).toMatch(
    /1 of 2 expected beacons has never reported web_9/,
  )
})

test('a token of one fleet sees its beacons, and no other fleet by name', async () => {
  const visit = await asToken(world, ['read'], ['prod'])
  expect(await shown(visit)).not.toContain('secret')
  const other = await visit.get('/console/beacons?fleet=test')
  const none = await visit.get('/console/beacons?fleet=none')
  expect([other.status, await textOf(other)]).toEqual([400, await textOf(none)])
})
