// The history in the console: the search, its downloads, and sending a failed message again.
import { beforeEach, describe, expect, test } from 'vitest'
import { asAdmin, asToken, type Visit } from '../../support/console.ts'
import { formsOf } from '../../support/form.ts'
import { forge, press, textOf } from '../../support/people.ts'
import { beacon, eventNow, report, startRelay, world } from '../../support/relay.ts'
import {
  event,
  eventId,
  FakeBeacon,
  startAt,
  started,
  testKey,
  usualAnswer,
} from '../../support/world.ts'

beforeEach(async () => {
  await startRelay()
  await report(
    event(),
    event({ eventId: 'frozen', eventType: 'Freeze', resources: ['=web_1', 'x;=2', '"+3', '|＝4'] }),
  )
  const other = new FakeBeacon(world, 'db_0', { fleet: 'test', key: testKey })
  await other.sees([event({ eventId: 'other', resources: ['db_0'] })])
  await world.drain()
})

const page = `/console/events/prod/${eventId}`

async function found(visit: Visit, query: string): Promise<string[]> {
  const html = await (await visit.get(`/console/events${query}`)).text()
  return [...html.matchAll(/<tr data-key="\w+\/([^"]+)"/g)].map(([, id]) => id!).sort()
}

describe('the search', () => {
  test.each([
    ['?step=all', ['frozen', 'other', eventId]],
    ['?q=web&step=all', [eventId]],
    ['?q=WEB_0&type=Reboot&step=open', [eventId]],
    ['?q=WEB_0&step=not_over', [eventId]],
    ['?q=c7061&step=all', [eventId]],
    ['?type=Freeze&step=all', ['frozen']],
    ['?fleet=test&q=&type=&step=open', ['other']],
    ['?step=completed', []],
    ['?step=all&since=2026-11-21&until=2026-11-21', ['frozen', 'other', eventId]],
    ['?step=all&until=2026-11-20', []],
  ])('%s', async (query, ids) => {
    expect(await found(await asAdmin(world), query)).toEqual(ids.toSorted())
  })

  test('has all that is not over in one list', async () => {
    const visit = await asAdmin(world)
    await report(started())
    expect(await found(visit, '?step=not_over')).toEqual(['frozen', 'other', eventId].toSorted())
    expect(await found(visit, '?step=open')).not.toContain(eventId)
  })

  test('shows what has ended, unless the visitor asks for more', async () => {
    const visit = await asAdmin(world)
    expect(await found(visit, '?q=')).toEqual([])
    const none = await (await visit.get('/console/events?q=web')).text()
    expect(none).toContain('No event that has ended matches.')
    const [, all] = /href="([^"]+)">Search all states/.exec(none)!
    expect(await found(visit, all!.replaceAll('&amp;', '&').split('/events')[1]!)).toEqual([
      eventId,
    ])
    await world.pass(30_000)
    await beacon.sees([])
    await world.pass(11_000)
    expect(await found(visit, '')).toEqual([eventId, 'frozen'].sort())
  })

  test.each(['?fleets=prod', '?step=gone', '?since=yesterday'])(
    'no such page: %s',
    async (query) => {
      expect((await (await asAdmin(world)).get(`/console/events${query}`)).status).toBe(400)
    },
  )

  test('a token of one fleet finds nothing of another, and no event by its address', async () => {
    const visit = await asToken(world, ['read'], ['test'])
    expect(await found(visit, '?step=all')).toEqual(['other'])
    expect(await found(visit, '?fleet=prod&step=all')).toEqual([])
    expect(await found(visit, '?q=web&step=all')).toEqual([])
    const [hidden, unknown] = [await visit.get(page), await visit.get('/console/events/prod/none')]
    expect([hidden.status, await hidden.text()]).toEqual([404, await unknown.text()])
  })
})

describe('downloads', () => {
  test('what the page shows as JSON', async () => {
    const response = await (await asAdmin(world)).get(
      '/console/events.json?type=Reboot&fleet=prod&step=all',
    )
    expect(response.headers.get('content-disposition')).toContain('attachment')
    const { events } = (await response.json()) as { events: object[] }
    const firstSeenAt = '2026-11-21T12:00:00.000Z'
    expect(events).toMatchObject([{ eventId, state: 'open', vms: ['web_0'], firstSeenAt }])
  })

  test('as CSV, which no spreadsheet runs', async () => {
    const response = await (await asAdmin(world)).get('/console/events.csv?type=Freeze&step=open')
    const [head, row, ...rest] = (await response.text()).split('\r\n')
    expect(head).toMatch(/^fleet,eventId,eventType,/)
    expect(row).toContain('"prod","frozen","Freeze"')
    expect(row).toContain(`"'=web_1 x;'=2 ""'+3 |'＝4"`)
    expect(rest).toEqual([''])
  })

  test('each column of an event that has run, in the page and in both files', async () => {
    await press(world, await forge(world), 'approve')
    for (const events of [[started()], []]) {
      await world.pass(30_000)
      await beacon.sees(events)
    }
    await world.pass(11_000)
    const visit = await asAdmin(world)
    const at = (seconds: number) => new Date(startAt + seconds * 1_000).toISOString()
    const json = await (await visit.get('/console/events.json?q=web_0')).json()
    expect((json as { events: object[] }).events).toEqual([
      {
        ...{ fleet: 'prod', eventId, eventType: 'Reboot', state: 'completed', inferred: false },
        ...{ drill: false, vmCount: 1, vms: ['web_0'], firstSeenAt: at(0), notBefore: at(900) },
        ...{ startedAt: at(30), endedAt: at(60), decidedAt: at(0), decidedBy: 'link' },
      },
    ])
    const csv = await (await visit.get('/console/events.csv?q=web_0')).text()
    expect(csv.split('\r\n')[1]).toContain(`"${at(900)}","${at(30)}","${at(60)}","${at(0)}","link"`)
    const html = await (await visit.get('/console/events?q=web_0')).text()
    expect(html).toContain('<td data-label="Took">30 s</td>')
    // not its NotBefore, 12:15
    expect(html).toContain('2026-11-21 12:00 UTC')
  })

  test('nothing for others', async () => {
    expect((await world.app.request('/console/events.csv')).status).toBe(303)
  })
})

describe('one event', () => {
  const failing = async () => {
    world.channels.answer = (request) =>
      request.url.includes('pager') ? new Response('no', { status: 400 }) : usualAnswer(request)
    await beacon.sees([event({ eventId: 'late', resources: ['web_7'] }), event()])
    await world.drain()
    world.channels.answer = usualAnswer
  }
  const late = '/console/events/prod/late'
  const formIn = async (visit: Visit) =>
    formsOf(await (await visit.get(late)).text()).find(({ id }) => id !== undefined)
  const stateOf = async () => {
    const { deliveries } = (await world.getEvent('late')).body
    return deliveries.find(({ channel }: { channel: string }) => channel === 'pager').state
  }

  test('a failed message is sent again', async () => {
    await failing()
    expect(await stateOf()).toBe('refused')
    const visit = await asAdmin(world)
    const response = await visit.post('/console/replay', (await formIn(visit))!)
    expect(response.headers.get('location')).toBe(`${late}?said=replayed`)
    await world.drain()
    expect(await stateOf()).toBe('delivered')
    expect(await textOf(await visit.get(`${late}?said=replayed`))).toContain('will be sent again')
    expect(await formIn(visit)).toBeUndefined()
  })

  test('only by the admin key and tokens with manage, of its fleet, with our form', async () => {
    await failing()
    const admin = await asAdmin(world)
    const fields = (await formIn(admin))!
    const reader = await asToken(world, ['decide'])
    expect(await formIn(reader)).toBeUndefined()
    expect((await reader.post('/console/replay', fields)).status).toBe(403)
    const own = await asToken(world, ['manage'], ['prod'])
    expect((await own.post('/console/replay', fields)).status).toBe(403)
    const site = { 'sec-fetch-site': 'cross-site' }
    expect((await admin.post('/console/replay', fields, site)).status).toBe(403)
    expect(await stateOf()).toBe('refused')
    expect((await own.post('/console/replay', (await formIn(own))!)).status).toBe(303)
    expect(await stateOf()).toBe('pending')
  })

  test('the form leads back into the console only', async () => {
    await failing()
    const visit = await asAdmin(world)
    const fields = { ...(await formIn(visit))!, back: '//evil.example' }
    const response = await visit.post('/console/replay', fields)
    expect(response.headers.get('location')).toBe('/console?said=replayed')
  })

  test('it is decided on its page, too', async () => {
    const visit = await asAdmin(world)
    const response = await visit.press(page, 'not_now')
    expect(await textOf(response)).toContain('You left it to Azure.')
    expect((await eventNow()).approvals).toMatchObject([{ decision: 'declined', how: 'admin' }])
  })

  test('an open page asks for news only while the event is open', async () => {
    const visit = await asAdmin(world)
    const etag = (await visit.get(page)).headers.get('etag')!
    expect((await visit.get(page, { 'if-none-match': etag })).status).toBe(304)
    await beacon.sees([])
    await world.pass(60_000)
    const over = await visit.get(page, { 'if-none-match': etag })
    expect([over.status, over.headers.get('etag')]).toEqual([200, null])
  })
})
