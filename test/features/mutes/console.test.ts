// Mutes in the console: the page, its forms, and the line on Now.
import { beforeEach, expect, test } from 'vitest'
import { asAdmin, asToken, type Visit } from '../../support/console.ts'
import { formsOf } from '../../support/form.ts'
import { textOf } from '../../support/people.ts'
import { report, startRelay, world } from '../../support/relay.ts'
import { event } from '../../support/world.ts'

beforeEach(() => startRelay())

const textAt = async (visit: Visit, path: string) => textOf(await visit.get(path))
/** The fields of a form of the page; the last one mutes events. */
const formIn = async (visit: Visit, place: number) =>
  formsOf(await (await visit.get('/console/mutes')).text()).at(place)!

test('an admin mutes a fleet, Now says what the mute hides, and the admin ends it', async () => {
  const visit = await asAdmin(world)
  expect(await textAt(visit, '/console/mutes')).toContain('Nothing is muted.')
  const wish = { fleet: 'prod', scaleSet: '', tag: ' ', minutes: '120', reason: 'new <disks>' }
  const answer = await visit.post('/console/mute', { ...(await formIn(visit, -1)), ...wish })
  expect(answer.headers.get('location')).toBe('/console/mutes?said=muted')
  expect(await textAt(visit, '/console/mutes')).toMatch(
    /prod .*14:00 UTC .*the admin key .*new &lt;disks&gt;|prod .*14:00 UTC .*new <disks>/,
  )
  await report(event())
  await world.drain()
  expect(world.sent.filter(({ url }) => url.includes('slack'))).toEqual([])
  world.clock.now += 5_000
  const now = await textAt(visit, '/console')
  expect(now).toMatch(/Muted\s?: prod until .*14:00 UTC/)
  expect(now).toContain('1 muted event waits for a decision. Decide here: people get no message.')
  const end = (await formIn(visit, -2))!
  expect((await visit.post('/console/end-mute', end)).headers.get('location')).toBe(
    '/console/mutes?said=unmuted',
  )
  await world.drain()
  expect(world.sent.filter(({ url }) => url.includes('slack'))).toHaveLength(1)
  world.clock.now += 5_000
  expect(await textAt(visit, '/console')).not.toContain('Muted:')
  expect((await visit.post('/console/end-mute', end)).headers.get('location')).toBe(
    '/console/mutes?said=not_unmuted',
  )
})

test('a mute may begin tonight', async () => {
  const visit = await asAdmin(world)
  const wish = { fleet: 'prod', minutes: '120', from: '2026-11-21T22:00' }
  await visit.post('/console/mute', { ...(await formIn(visit, -1)), ...wish })
  const times = 'from 22:00 UTC until 2026-11-22 00:00 UTC'
  expect(await textAt(visit, '/console/mutes')).toContain(times)
  expect(await textAt(visit, '/console')).toMatch(new RegExp(`Muted\\s?: prod ${times}`))
})

test.each([
  { fleet: '' },
  { fleet: 'none' },
  { minutes: '0' },
  { minutes: 'x' },
  { from: 'tonight' },
  { from: '2027-11-21T22:00' },
])('a form with %j mutes nothing', async (wrong) => {
  const visit = await asAdmin(world)
  const wish = { ...(await formIn(visit, -1)), fleet: 'prod', minutes: '60', ...wrong }
  const answer = await visit.post('/console/mute', wish)
  expect(answer.headers.get('location')).toBe('/console/mutes?said=not_muted')
  expect(await textAt(visit, '/console/mutes')).toContain('Nothing is muted.')
})

test('a token that may only read sees the mutes of its fleets, and no form', async () => {
  const admin = await asAdmin(world)
  for (const fleet of ['prod', 'test']) {
    await admin.post('/console/mute', { ...(await formIn(admin, -1)), fleet, minutes: '60' })
  }
  const reader = await asToken(world, ['read'], ['prod'])
  const html = await (await reader.get('/console/mutes')).text()
  expect(html).toContain('scope "manage"'.replaceAll('"', '&quot;').slice(0, 5))
  expect(formsOf(html).filter(({ back }) => back !== undefined)).toEqual([])
  const text = await textAt(reader, '/console/mutes')
  expect([text.includes('prod'), text.includes('test until')]).toEqual([true, false])
  const foreign = { ...(await formIn(admin, -1)), fleet: 'prod', minutes: '60' }
  expect((await reader.post('/console/mute', foreign)).status).toBe(403)
})
