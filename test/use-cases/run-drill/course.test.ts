// A drill through the whole relay: what an owner sends, what channels get, and what beacons don't
// get.
import { beforeEach, describe, expect, test } from 'vitest'
import { nextDueAt } from '../../../functions/use-cases/deliver.ts'
import { receive } from '../../../functions/use-cases/receive-report.ts'
import { postDrill, problemOf } from '../../support/drills.ts'
import { linkOf, press, textOf } from '../../support/people.ts'
import { beacon, startRelay, world } from '../../support/relay.ts'
import { event, eventId } from '../../support/world.ts'

const hosts = ['slack', 'teams', 'pager', 'hook']
const notice = 120_000
const wish = { fleet: 'prod', type: 'Reboot' }

beforeEach(() => startRelay())

const post = (body: unknown, key?: string) => postDrill(world, body, key)

async function startDrill(more: object = {}): Promise<string> {
  const response = await post({ ...wish, ...more })
  const body = (await response.json()) as { eventId: string }
  expect([response.status, body]).toMatchObject([201, { drill: true }])
  await world.drain()
  return body.eventId
}

/** The bodies that each channel got. All channels get all moments here. */
const gotBy = (host: string) => world.sent.filter(({ url }) => url.includes(`//${host}.`))
const pagerActions = () => gotBy('pager').map(({ json }) => json.event_action)

describe('a drill goes the whole way', () => {
  test('without a decision it starts at NotBefore and is completed', async () => {
    const id = await startDrill()
    expect(id).toMatch(/^drill-[0-9a-f-]{36}$/)
    await world.pass(notice - 1)
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
    await world.pass(1)
    await world.pass(9_999)
    expect(world.told()).toHaveLength(2)
    await world.pass(1)
    expect(world.told().map((type) => type.split('.')[2])).toEqual([
      'scheduled',
      'started',
      'completed',
    ])
    expect(pagerActions()).toEqual(['trigger', 'trigger', 'resolve'])
    const { body } = await world.getEvent(id)
    expect(body).toMatchObject({ phase: 'completed', drill: true, outcome: 'completed' })
    expect(body).not.toHaveProperty('inferred')
    expect(await nextDueAt(world.relay)).toBeUndefined()
  })

  test('a person approves on the page, which says that it is a drill', async () => {
    const id = await startDrill({ resources: ['web_3'] })
    const link = linkOf(world)
    const shown = await textOf(await world.app.request(link))
    expect(shown).toContain('DRILL: Reboot of web_3')
    expect(shown).toContain('This is a drill: no VM is touched.')
    await press(world, link, 'approve')
    expect(await textOf(await world.app.request(link))).toContain('The drill starts in a moment.')
    for (const ms of [0, 5_000, 10_000]) await world.pass(ms)
    const { body } = await world.getEvent(id)
    expect(body.approvals).toMatchObject([{ decision: 'approved', how: 'link', who: 'chat' }])
    expect(body.history.map(({ what }: { what: string }) => what)).toEqual([
      ...['seen', 'approved', 'started', 'completed'],
    ])
    for (const host of hosts) {
      expect(gotBy(host), host).toHaveLength(4)
    }
    expect(pagerActions()).toEqual(['trigger', 'acknowledge', 'acknowledge', 'resolve'])
  })
})

describe('policy and routes judge it like the real event', () => {
  test('a rule that approves is applied, with the given facts about the VMs', async () => {
    const policy = [{ name: 'web', match: { tag: 'role=web' }, decide: 'approve' }]
    await startRelay({ policy })
    const asked = await startDrill()
    const id = await startDrill({ tags: { role: 'web' } })
    expect((await world.getEvent(asked)).body.policy.decide).toBe('ask')
    expect((await world.getEvent(id)).body).toMatchObject({
      policy: { decide: 'approve', rule: 'web' },
      approvals: [{ how: 'policy', who: 'web' }],
    })
    await world.pass(5_000)
    await world.pass(10_000)
    const { body } = await world.getEvent(id)
    expect([...new Set(body.deliveries.map(({ moment }: { moment: string }) => moment))]).toEqual([
      ...['scheduled', 'approved', 'started', 'completed'],
    ])
  })

  test('routes by scale set and group reach their channels in every moment', async () => {
    const routes = [
      { match: { scaleSet: 'web', resourceGroup: 'rg-web' }, channels: ['hook'] },
      { match: { scaleSet: 'db' }, channels: ['chat'] },
    ]
    await startRelay({ routes })
    await startDrill({ scaleSet: 'WEB', resourceGroup: 'rg-web' })
    await world.pass(notice)
    await world.pass(10_000)
    expect(world.told()).toHaveLength(3)
    expect(world.sent).toHaveLength(3)
  })

  test('an ignored drill notifies no channel, and ends', async () => {
    await startRelay({ policy: [{ match: {}, decide: 'ignore' }] })
    const id = await startDrill()
    await world.pass(notice)
    await world.pass(10_000)
    expect(world.sent).toEqual([])
    expect((await world.getEvent(id)).body.phase).toBe('completed')
  })

  test('without notice it wakes people like the real event', async () => {
    await startDrill({ noticeSeconds: 0 })
    expect(gotBy('pager')[0]?.json.payload.severity).toBe('critical')
    await world.pass(10_000)
    expect(pagerActions()).toEqual(['trigger', 'resolve'])
  })
})

describe('beacons have no part in it', () => {
  let id: string

  beforeEach(async () => {
    id = await startDrill({ resources: ['web_0'] })
    await press(world, linkOf(world), 'approve')
  })

  test('whatever a beacon sees, it never gets a directive for a drill', async () => {
    for (const events of [[], [event()], [event({ status: 'Started' })], null]) {
      world.clock.now += 1_000
      const answer = await beacon.sees(events)
      expect(answer.directives.map((one) => one.eventId)).not.toContain(id)
    }
  })

  test('a report that names a drill is refused, and changes nothing', async () => {
    const own = event({ eventId: id.toUpperCase(), resources: ['web_0'] })
    const change = { kind: 'gone' as const, ageMs: 1, firstPoll: false, event: own }
    const start = { eventId: id, ageMs: 1, outcome: 'accepted' as const, status: 200 }
    const before = (await world.getEvent(id)).body
    for (const [where, report] of [
      ['document.events[0].eventId', beacon.body([own])],
      ['changes[0].event.eventId', beacon.body([], { changes: [change] })],
      ['starts[0].eventId', beacon.body([], { starts: [start] })],
      ['document.events[1].eventId', beacon.body([event(), event({ eventId: 'drill-new' })])],
    ] as const) {
      const response = await beacon.post(report)
      const { code, detail } = await problemOf(response)
      expect([response.status, code]).toEqual([400, 'report_malformed'])
      expect(detail).toContain(`${where}: ids that begin with "drill-" are the relay's own`)
    }
    expect((await world.getEvent(id)).body).toEqual(before)
    expect((await world.getEvent('drill-new')).status).toBe(404)
    expect((await world.getEvent(eventId)).status).toBe(404)
  })

  test('a report that was not refused gets no directive for it and does not change it either', async () => {
    const before = await world.store.readEvent({ fleet: 'prod', eventId: id })
    for (const status of ['Scheduled', 'Started'] as const) {
      const body = beacon.body([event({ eventId: id, status })], {
        starts: [{ eventId: id, ageMs: 1, outcome: 'accepted', status: 200 }],
      })
      const received = await receive(world.relay, 'prod', 'id-web_0', body)
      expect(received).toMatchObject({ outcome: 'answered', answer: { directives: [] } })
    }
    await receive(world.relay, 'prod', 'id-web_0', beacon.body([]))
    expect(await world.store.readEvent({ fleet: 'prod', eventId: id })).toEqual(before)
    await world.pass(5_000)
    await world.pass(10_000)
    expect((await world.getEvent(id)).body).toMatchObject({ phase: 'completed' })
    expect((await world.getEvent(id)).body).not.toHaveProperty('azureAccepted')
  })
})
