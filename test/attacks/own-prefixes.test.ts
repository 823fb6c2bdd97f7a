// A fleet's key names what is the relay's own, such as the row of a problem: once that stopped all messages.
import { expect, test } from 'vitest'
import { startRelay, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon } from '../support/world.ts'

test.each<[where: string, (body: ReturnType<typeof JSON.parse>, id: string) => void]>([
  [
    'a run of a hook',
    (body, eventId) => {
      const run = { eventId, hook: 'prepare', state: 'running', ageMs: 0 }
      body.hooks = { available: ['prepare'], runs: [run] }
    },
  ],
  [
    'an event that the document hides',
    (body, eventId) => {
      body.document.hidden = [eventId]
    },
  ],
  [
    'a start',
    (body, eventId) => {
      body.starts = [{ eventId, outcome: 'accepted', ageMs: 0 }]
    },
  ],
])('%s has no id of the relay', async (_, name) => {
  await startRelay()
  const beacon = new FakeBeacon(world, 'web_0')
  const body = beacon.body([event()])
  name(body, 'alert-over_limits')
  const refused = await beacon.post(body)
  expect(refused.status).toBe(400)
  expect(await refused.text()).toContain('alert-')
  const own = beacon.body([event()])
  name(own, eventId)
  expect((await beacon.post(own)).status).toBe(200)
  world.store.close()
})
