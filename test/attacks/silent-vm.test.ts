// A fleet's key, while an affected VM is down and says nothing: onlookers end its event, so that a rule with
// `maxConcurrent` takes the next VM of the group.
import { afterEach, expect, test } from 'vitest'
import { list, publication, startWithAzure } from '../support/azure.ts'
import { hour, second, startRelay, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon, started } from '../support/world.ts'

const policy = [
  { name: 'one', match: { eventType: 'Redeploy' }, decide: 'approve', maxConcurrent: 1 },
]
const vm = { scaleSet: 'db', resourceGroup: 'rg' }
const other = 'b7061bac-afdc-4513-b24b-aa5f13a16123'
const type = 'Redeploy'

afterEach(() => world.store.close())

test.each([
  ['one liar, one that goes on showing it', 1, 1, false, false],
  ['one liar alone', 1, 0, false, false],
  ['one liar, who lies before the VM goes down', 1, 0, false, true],
  ['two liars and two others', 2, 2, false, false],
  ['one liar, one other, and Azure’s list shows it', 1, 1, true, false],
])('%s: the next VM waits', async (_, liars, honest, isListed, isEarly) => {
  if (isListed) await startWithAzure({}, { policy })
  else await startRelay({ policy })
  const notBeforeAt = world.clock.now + 3 * hour
  if (isListed) list(publication({ type, durationSeconds: -1, notBeforeAt }))
  const scheduled = event({ eventType: type, notBeforeAt })
  const running = started({ eventType: type })
  const next = event({ eventId: other, eventType: type, notBeforeAt, resources: ['web_1'] })
  const beacons = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => new FakeBeacon(world, `${name}_${i}`, { vm }))
  const [own] = beacons('web', 1)
  const waiting = new FakeBeacon(world, 'web_1', { vm })
  const onlookers = [...beacons('honest', honest), ...beacons('liar', liars)]
  await own!.sees([scheduled])
  await world.pass(6 * second)
  await own!.sees([scheduled])
  for (const one of onlookers) await one.sees([scheduled])
  const told = { eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }
  await own!.sees([scheduled], { starts: [told] })
  await world.pass(5 * second)
  for (const one of [own!, ...onlookers]) await one.sees([running])
  if (isListed) list(publication({ type, status: 'Started', durationSeconds: -1 }))

  if (isEarly) {
    for (const one of onlookers.slice(honest)) await one.sees([])
    await world.pass(20 * second)
    await own!.sees([running])
  }

  // nine minutes of a redeploy, in which it is silent
  for (let i = 0; i < 54; i++) {
    await world.pass(10 * second)
    for (const [at, one] of onlookers.entries()) await one.sees(at < honest ? [running] : [])
    await waiting.sees([next])
  }
  const record = await world.store.readEvent({ fleet: 'prod', eventId: other })
  expect(record?.decided).toBeUndefined()
  expect(record?.wait.slot).toMatchObject({ state: 'waits' })
})
