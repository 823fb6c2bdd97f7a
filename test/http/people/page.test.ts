// The page behind a link: what it shows in every state, and where invalid links lead.
import { describe, expect, test } from 'vitest'
import { createListToken } from '../../../functions/links/link.ts'
import { buttonsOf } from '../../support/form.ts'
import { forge, linkOf, press, textOf, watch } from '../../support/people.ts'
import { beacon, eventNow, relayForEach, report, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon, started, testKey } from '../../support/world.ts'

relayForEach(() => report(event()))

async function pageOf(response: Response) {
  const html = await response.text()
  const text = await textOf(new Response(html))
  return { status: response.status, text, buttons: buttonsOf(html) }
}

const show = async (path: string) => pageOf(await world.app.request(path))
const both = ['approve', 'not_now']

describe('the page', () => {
  test('the time left is calculated when it is opened', async () => {
    world.clock.now += 14 * 60_000
    expect((await show(linkOf(world))).text).toContain('1 min until')
  })

  test('not now: Azure still starts it, and it can still be approved', async () => {
    const path = linkOf(world)
    const { text, buttons } = await pageOf(await press(world, path, 'not_now'))
    expect(text).toContain('12:15 UTC')
    expect(buttons).toEqual(['approve'])
    expect((await press(world, path, 'approve')).status).toBe(200)
    await world.drain()
    expect(world.told().slice(1)).toEqual(['foghorn.event.declined', 'foghorn.event.approved'])
  })

  test('too late: started, and when', async () => {
    await beacon.sees([started()])
    world.clock.now += 120_000
    expect((await show(linkOf(world))).text).toContain('2 min ago')
    expect((await pageOf(await press(world, linkOf(world), 'approve'))).buttons).toEqual([])
    expect((await eventNow()).approvals).toEqual([])
  })

  test('after a reopening it shows the event as it is now', async () => {
    const path = linkOf(world)
    await beacon.sees([])
    await world.pass(10_001)
    await beacon.sees([event()])
    expect((await show(path)).buttons).toEqual(both)
  })
})

describe('links that lead nowhere', () => {
  test.each([
    ['made up', () => '/approve/AAAAAAAA.AAAA.AAAA'],
    ['cut off', () => linkOf(world).slice(0, -4)],
    ['without its last part', () => linkOf(world).replace(/\.[^.]*$/, '')],
    ['with another content', () => changed(1)],
    ['with another key id', () => changed(0)],
    ['with another signature', () => changed(2)],
    ['with a part too many', () => `${linkOf(world)}.AAAA`],
    ['signed by a stranger', () => forge(world, {}, [new Uint8Array(32).fill(9)])],
    ['badly encoded', () => '/approve/%E0%A4%A'],
    ['empty parts', () => '/approve/...'],
  ])('%s: refused, and nothing is decided', async (_, make) => {
    const before = await world.store.contents()
    const path = await make()
    const response = await world.app.request(path)
    expect([403, 404]).toContain(response.status)
    expect((await press(world, path, 'approve')).status).not.toBe(200)
    expect(await world.store.contents()).toEqual(before)
  })

  test('the page says what to do instead', async () => {
    expect((await show('/approve/AAAAAAAA.AAAA.AAAA')).text).toContain('Open the console')
  })

  /** The link with one letter of one part replaced. */
  function changed(part: number): string {
    const parts = linkOf(world).slice('/approve/'.length).split('.')
    const text = parts[part]!
    parts[part] = `${text.slice(0, 2)}${text[2] === 'A' ? 'B' : 'A'}${text.slice(3)}`
    return `/approve/${parts.join('.')}`
  }

  test('an unknown event', async () => {
    expect((await show(await forge(world, { eventId: 'nothing' }))).status).toBe(404)
  })

  test('the same event id in another fleet is another event', async () => {
    const path = await forge(world, { fleet: 'test' })
    expect((await show(path)).status).toBe(404)
    await new FakeBeacon(world, 'db_0', { fleet: 'test', key: testKey }).sees([event()])
    await press(world, path, 'approve')
    const mine = await world.getEvent(eventId)
    const theirs = await world.getEvent(eventId, 'test')
    expect(mine.body.approvals).toEqual([])
    expect(theirs.body.approvals).toHaveLength(1)
    expect((await beacon.sees([event()])).directives).toEqual([])
  })

  test('if a channel is removed from the configuration, its links and lists expire', async () => {
    const key = { fleet: 'prod', eventId }
    const list = { channel: 'old', issuedAt: world.clock.now, events: [key, key] }
    const paths = [
      await forge(world, { channel: 'old' }),
      `/approve/${await createListToken(world.relay.credentials.linkKeys, list)}`,
      await forge(world, { channel: 'constructor' }),
    ]
    const before = await world.store.contents()
    for (const path of paths) {
      expect((await show(path)).status).toBe(410)
      expect((await watch(world, path)).status).toBe(410)
      expect((await press(world, path, 'approve')).status).toBe(410)
    }
    expect(await world.store.contents()).toEqual(before)
  })

  test('a day after the end it has expired, not before', async () => {
    const path = linkOf(world)
    await beacon.sees([])
    await world.pass(10_001)
    world.clock.now += 86_400_000 - 10_001
    expect((await show(path)).status).toBe(200)
    world.clock.now += 1
    expect((await show(path)).status).toBe(410)
    expect((await press(world, path, 'approve')).status).toBe(410)
  })

  test('no link lives longer than 9 days', async () => {
    const old = await forge(world, { issuedAt: world.clock.now - 9 * 86_400_000 - 1 })
    const before = await world.store.contents()
    expect((await show(old)).status).toBe(410)
    expect((await press(world, old, 'approve')).status).toBe(410)
    expect(await world.store.contents()).toEqual(before)
    const aged = await forge(world, { issuedAt: world.clock.now - 9 * 86_400_000 })
    expect((await show(aged)).status).toBe(200)
  })

  test('after a change of keys, links of the second key still work; of none they do not', async () => {
    const path = linkOf(world)
    const [first, second] = world.relay.credentials.linkKeys
    world.relay.credentials.linkKeys = [second!, first!]
    expect((await show(path)).status).toBe(200)
    expect((await press(world, path, 'approve')).status).toBe(200)
    world.relay.credentials.linkKeys = [second!]
    expect((await show(path)).status).toBe(403)
  })
})
