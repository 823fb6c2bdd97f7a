// In which order the page of a list has its events, whatever the order of the message was.
import { expect, test } from 'vitest'
import { createListToken } from '../../../functions/links/link.ts'
import { decideEvent } from '../../../functions/use-cases/decide-event.ts'
import { beacon, minute, relayForEach, world } from '../../support/relay.ts'
import { event, startAt } from '../../support/world.ts'

relayForEach()

test('what is to come first, by time; what runs or is gone comes last, and a decision moves nothing', async () => {
  const due = { running: 1, late: 30, decided: 5, soon: 10 }
  const events = Object.entries(due).map(([eventId, minutes], i) =>
    event({ eventId, resources: [`web_${i}`], notBeforeAt: startAt + minutes * minute }),
  )
  await beacon.sees(events)
  const running = events.map((one) =>
    one.eventId === 'running' ? { ...one, status: 'Started' as const } : one,
  )
  await beacon.sees(running)
  const shown = (await world.relay.store.readEvent({ fleet: 'prod', eventId: 'decided' }))!
  const by = { how: 'admin', who: 'admin' } as const
  await decideEvent(world.relay, shown, { decision: 'approved', by })
  const names = ['gone', ...Object.keys(due)].map((eventId) => ({ fleet: 'prod', eventId }))
  const list = { channel: 'chat', issuedAt: startAt, events: names }
  const path = `/approve/${await createListToken(world.relay.credentials.linkKeys, list)}`
  const html = await (await world.app.request(path)).text()
  const places = [...html.matchAll(/<article class="item" id="e(\d)"/g)].map(([, place]) => place)
  expect(places).toEqual(['3', '4', '2', '1', '0'])
})
