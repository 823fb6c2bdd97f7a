// An owner's note on an event: who reads it, and that it tells nobody.
import { expect, test } from 'vitest'
import { linkOf } from '../../support/people.ts'
import { relayForEach, report, startRelay, world } from '../../support/relay.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import { adminKey, event, eventId } from '../../support/world.ts'

relayForEach(() => startRelay())

const path = `/v1/events/prod/${eventId}/note`
const write = (text: string, key = adminKey) =>
  askApi(world, key, path, { method: 'PUT', body: { text } })
const noteNow = async () => (await world.getEvent(eventId)).body.ownerNote

test('is in the API and in the history until it is removed, and notifies nobody', async () => {
  await report(event())
  const sent = world.sent.length
  const { token, id } = await makeToken(world, { name: 'robot', scopes: ['decide'] })
  expect((await write('The database fails over at 14:00.', token)).status).toBe(204)
  await world.drain()
  const at = new Date(world.clock.now).toISOString()
  const by = `token: ${id}/robot`
  expect(await noteNow()).toEqual({ text: 'The database fails over at 14:00.', at, by })
  expect((await write('Wait.')).status).toBe(204)
  expect((await noteNow()).text).toBe('Wait.')
  expect((await askApi(world, adminKey, path, { method: 'DELETE' })).status).toBe(204)
  expect(await noteNow()).toBeUndefined()
  const { history } = (await world.store.readEvent({ fleet: 'prod', eventId }))!
  const notes = history.filter(({ what }) => what === 'owner_note').map(({ note }) => note)
  expect(notes).toEqual([
    `${by}: The database fails over at 14:00.`,
    'admin: admin: Wait.',
    undefined,
  ])
  await world.drain()
  expect(world.sent).toHaveLength(sent)
})

test('the console shows it: a badge in the list, the text in the timeline', async () => {
  await report(event())
  await write('<b>Wait</b> for the database.')
  const page = await (await world.app.request(linkOf(world))).text()
  expect(page).toContain('&lt;b&gt;Wait&lt;/b&gt; for the database.')
  expect(page).not.toContain('<b>Wait</b>')
})

test('of an event that nobody knows', async () => {
  expect((await write('Wait.')).status).toBe(404)
})
