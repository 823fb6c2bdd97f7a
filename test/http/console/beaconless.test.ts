// A fleet without beacons in the console: what the relay sees of it, and what it lacks.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { arm, publish, startWithAzure, subscription } from '../../support/azure.ts'
import { asAdmin } from '../../support/console.ts'
import { textOf } from '../../support/people.ts'
import { hour, minute, world } from '../../support/relay.ts'
import { eventId, FakeBeacon } from '../../support/world.ts'

beforeEach(() => startWithAzure({}, { fleets: { prod: { azureSubscriptions: subscription } } }))
afterEach(() => world.store.close())

const now = async () => textOf(await (await asAdmin(world)).get('/console'))

test('quiet only while Azure lists its events', async () => {
  expect(await now()).toMatch(/No beacons · Azure’s list was never read .* Foghorn sees no VM\./)
  await world.drain()
  await world.pass(minute)
  expect(await now()).toMatch(/No beacons · Azure’s list read 12:00 UTC .* All quiet\./)
  arm.options.canRead = false
  for (let i = 0; i < 9; i++) await world.pass(10 * minute)
  expect(await now()).toMatch(/Azure’s list last read 12:00 UTC .* Foghorn sees no VM\./)
  arm.options.canRead = true
  await world.pass(hour)
  expect(await now()).toContain('All quiet.')
})

test('Azure is no VM to search for', async () => {
  await publish()
  const answer = await (await asAdmin(world)).get(`/console/events/prod/${eventId}`)
  expect(await answer.text()).toMatch(/<li><b>Azure Event Grid<\/b>/)
})

test('the page of beacons says what such a fleet lacks, and a beacon is refused', async () => {
  const page = await textOf(await (await asAdmin(world)).get('/console/beacons'))
  expect(page).toContain('This fleet has no beacons')
  const answer = await new FakeBeacon(world, 'web_0').post('{}')
  expect(await answer.json()).toMatchObject({
    status: 401,
    detail: expect.stringContaining('takes no reports'),
  })
})
