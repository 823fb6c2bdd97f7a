// Reports as released beacons sent them, recorded from their own code: a folder for each version. A
// relay must accept them for as long as docs/operate.md promises. Never change a recorded file.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { startRelay, world } from '../support/relay.ts'
import { adminKey, FakeBeacon } from '../support/world.ts'

const versions = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((one) => one.isDirectory())
  .map(({ name }) => name)

/** In the order in which one beacon sent them. */
const course = ['idle', 'first-sight', 'with-events', 'changes-and-starts', 'unreadable-entries']

const read = (version: string, name: string) =>
  readFileSync(join(import.meta.dirname, version, `${name}.json`), 'utf8')

test.each(versions)('those of beacon %s have every kind of content, and no secret', (version) => {
  expect(readdirSync(join(import.meta.dirname, version)).sort()).toEqual(
    course.map((name) => `${name}.json`).sort(),
  )
  for (const name of course) expect(read(version, name)).not.toMatch(/whsec_|eyJ|Bearer/)
})

describe.each(versions)('reports of beacon %s', (version) => {
  afterEach(() => world.store.close())

  test('are accepted, and mean what they meant then', async () => {
    await startRelay({ policy: [{ match: { eventType: 'Freeze' }, decide: 'approve' }] })
    const beacon = new FakeBeacon(world, 'web_0')
    const answers: ReturnType<typeof JSON.parse>[] = []
    for (const name of course) {
      const response = await beacon.post(read(version, name))
      expect(response.status, name).toBe(200)
      answers.push(await response.json())
      world.clock.now += 1_000
    }
    expect(answers.map(({ outcome, refused }) => [outcome, refused])).toEqual(
      course.map(() => ['accepted', []]),
    )
    const freeze = 'c7061bac-afdc-4513-b24b-aa5f13a16123'
    expect(answers[1].directives).toMatchObject([{ eventId: freeze, eventType: 'Freeze' }])
    await world.pass(60_000)
    const { body } = await world.getEvent(freeze)
    expect(body).toMatchObject({ phase: 'completed', azureAccepted: { vm: 'web_0' } })
    expect(body.inferred).toBeUndefined()
    const reboot = await world.getEvent('f020ba2e-3bc0-4c40-a10b-86575a9eabd5')
    expect(reboot.body).toMatchObject({ phase: 'scheduled', resources: ['web_0'] })
  })
})

test.each(versions)('the list of beacons shows version %s', async (version) => {
  await startRelay()
  await new FakeBeacon(world, 'web_0').post(read(version, 'idle'))
  const headers = { authorization: `Bearer ${adminKey}` }
  const response = await world.app.request('/v1/beacons?fleet=prod', { headers })
  expect(await response.json()).toMatchObject({ beacons: [{ vm: 'web_0', version }] })
  world.store.close()
})
