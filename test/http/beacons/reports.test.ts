// The content of reports, over HTTP. Bad input changes nothing, and its error says what is wrong,
// where, and what to send instead. A repeated report changes nothing, too. Senders:
// `signatures.test.ts`.
import { describe, expect, test } from 'vitest'
import { maxReportBytes } from '../../../shared/report.ts'
import { expectRefused, type Post } from '../../support/refused.ts'
import { beacon, eventNow, relayForEach, report, world } from '../../support/relay.ts'
import { event, eventId, FakeBeacon, startAt, started, testKey } from '../../support/world.ts'

relayForEach()

const refused = (post: Post, status: number, code: string) =>
  expectRefused(world, post, status, code)

describe('the body', () => {
  test.each([
    ['empty', ''],
    ['not JSON', '{"version": 1,'],
    ['text', 'hello'],
    ['bytes that are no text', '\u0000\u0001'],
    ['nested without end', '['.repeat(100_000)],
  ])('a body that is %s', async (_, body) => {
    const detail = await refused(() => beacon.post(body), 400, 'report_malformed')
    expect(detail).toContain('not JSON')
  })

  test.each([
    ['an array', [], '(top level)'],
    ['another version', { version: 2 }, 'version'],
    ['no VM', { vm: undefined }, 'vm'],
    ['a VM without a name', { vm: { name: '' } }, 'vm.name'],
    ['a boot id that is too short', { beacon: { bootId: 'x' } }, 'beacon.bootId'],
    ['a counter of 0', { beacon: { counter: 0 } }, 'beacon.counter'],
    ['a counter that is no integer', { beacon: { counter: 1.5 } }, 'beacon.counter'],
    ['a counter beyond all numbers', { beacon: { counter: 1e300 } }, 'beacon.counter'],
    ['an age below 0', { document: { ageMs: -1 } }, 'document.ageMs'],
    ['an age of more than a year', { document: { ageMs: 1e15 } }, 'document.ageMs'],
    ['a document without events', { document: { events: undefined } }, 'document.events'],
    ['events that are an object', { document: { events: {} } }, 'document.events'],
    ['an event without an id', { document: { events: [{ ...event(), eventId: '' }] } }, 'eventId'],
    ['a status of ours', { document: { events: [{ ...event(), status: 'Done' }] } }, 'status'],
    ['a time that is text', { document: { events: [{ ...event(), notBeforeAt: 'soon' }] } }, 'not'],
    ['an unknown change', { changes: [{ kind: 'vanished', ageMs: 0, event: event() }] }, 'kind'],
    ['an unknown outcome', { starts: [{ eventId, ageMs: 0, outcome: 'fine' }] }, 'starts[0]'],
    ['no starts', { starts: undefined }, 'starts'],
  ])('%s', async (_, change, where) => {
    const report = Array.isArray(change) ? change : patched(change)
    const detail = await refused(() => beacon.post(report), 400, 'report_malformed')
    expect(detail).toContain(where)
  })

  /** A good report with parts replaced, two levels deep. */
  function patched(change: Record<string, unknown>): unknown {
    const report = beacon.body([event()]) as unknown as Record<string, object>
    const parts = Object.entries(change).map(([key, part]) => {
      const mixes = typeof part === 'object' && !Array.isArray(part)
      return [key, mixes ? { ...report[key], ...part } : part]
    })
    return { ...report, ...Object.fromEntries(parts) }
  }

  test('a hundred thousand mistakes are not listed one by one', async () => {
    const report = patched({ changes: Array(100_000).fill(1) })
    const detail = await refused(() => beacon.post(report), 400, 'report_malformed')
    expect(detail.length).toBeLessThan(5_000)
    expect(world.lines.join('').length).toBeLessThan(20_000)
  })

  test('more than 256 KB, with or without its length', async () => {
    const body = JSON.stringify(beacon.body([event()])).padEnd(maxReportBytes + 1)
    const length = { 'content-length': String(body.length) }
    await refused(() => beacon.post(body), 413, 'body_too_large')
    await refused(() => beacon.post(body, { headers: length }), 413, 'body_too_large')
    const fits = JSON.stringify(beacon.body([event()])).padEnd(maxReportBytes)
    expect((await beacon.post(fits)).status).toBe(200)
  })

  test('other methods and paths', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const post = async () => world.app.request('/v1/reports', { method })
      await refused(post, 404, 'not_found')
    }
    await refused(async () => world.app.request('/v2/reports'), 404, 'not_found')
  })

  test.each([
    ['ages with a fraction', { ageMs: 0.5 }, event()],
    ['an id that is half a character', {}, event({ eventId: 'a\ud83d' })],
    ['an id of odd letters', {}, event({ eventId: "/#?%2F' ☃ \u0000" })],
    ['numbers far out', {}, event({ durationSeconds: 1e308, notBeforeAt: -1 })],
    ['a time beyond all calendars', {}, event({ notBeforeAt: Number.MAX_SAFE_INTEGER })],
    ['empty texts', {}, event({ description: '', source: '', resources: [] })],
  ])('%s: odd, but taken and told', async (_, extra, odd) => {
    await beacon.sees([odd], extra)
    await world.drain()
    expect(world.told()).toEqual(['foghorn.event.scheduled'])
    const path = `/v1/events/prod/${encodeURIComponent(odd.eventId.toWellFormed())}`
    const headers = { authorization: 'Bearer admin-key-admin-key-admin-key-32' }
    expect((await world.app.request(path, { headers })).status).toBe(200)
  })
})

describe('a repeated report', () => {
  test('a repeated or older counter: 200, nothing changed, no directive', async () => {
    const reports = [beacon.body([event()]), beacon.body([event()])]
    for (const report of reports) {
      expect((await beacon.post(report)).status).toBe(200)
      world.clock.now += 2_000
    }
    world.clock.now = startAt
    await world.drain()
    const before = await world.store.contents()
    const liar = { ...reports[0]!, document: beacon.body([]).document }
    for (const report of [...reports, liar]) {
      const response = await beacon.post(report)
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({
        outcome: 'repeated',
        time: startAt,
        paceMs: 2_000,
        directives: [],
        preparations: [],
        refused: [],
      })
    }
    expect(await world.store.contents()).toEqual(before)
  })

  test('a report without news only reads from the store, except for one write per pace', async () => {
    await report(started())
    const before = await world.store.contents()
    for (const ms of [100, 9_000, 38_000]) {
      world.clock.now += ms
      await beacon.sees([started()])
    }
    expect(await world.store.contents()).toEqual(before)
    world.clock.now += 1_000
    await beacon.sees([started()])
    expect(await world.store.contents()).not.toEqual(before)
  })

  test('a new boot retires the old one for good', async () => {
    const old = new FakeBeacon(world, 'web_0')
    await old.sees([event()])
    await report(event())
    const detail = await refused(() => old.post(old.body([])), 409, 'boot_retired')
    expect(detail).toContain('boot id')
    await new FakeBeacon(world, 'web_0').sees([event()])
    await refused(() => beacon.post(beacon.body([])), 409, 'boot_retired')
    await refused(() => old.post(old.body([])), 409, 'boot_retired')
    expect((await eventNow()).phase).toBe('scheduled')
  })

  test('the boot of another VM is not touched', async () => {
    await beacon.sees([event()])
    await new FakeBeacon(world, 'web_1').sees([event()])
    await beacon.sees([event()])
  })
})

describe('fleets', () => {
  test('one event id in two fleets is two events, each with its own messages', async () => {
    const other = new FakeBeacon(world, 'web_0', { fleet: 'test', key: testKey })
    await beacon.sees([event()])
    await other.sees([event({ resources: ['db_0'] })])
    await other.sees([started({ resources: ['db_0'] })])
    await world.drain()
    const told = world.sent
      .filter(({ url }) => url.includes('hook'))
      .map(({ json }) => `${json.source} ${json.type} ${json.data.resources}`)
    expect(told.sort()).toEqual([
      '/fleets/prod foghorn.event.scheduled web_0',
      '/fleets/test foghorn.event.scheduled db_0',
      '/fleets/test foghorn.event.started db_0',
    ])
    expect((await eventNow()).phase).toBe('scheduled')
    expect((await world.getEvent(eventId, 'test')).body.phase).toBe('started')
    const ids = world.sent.map(({ headers }) => headers['webhook-id']).filter(Boolean)
    expect(new Set(ids).size).toBe(3)
  })

  test('an event that one fleet no longer sees is not gone for the other', async () => {
    const other = new FakeBeacon(world, 'web_0', { fleet: 'test', key: testKey })
    for (const one of [beacon, other]) await one.sees([event()])
    await other.sees([])
    await world.pass(10_001)
    expect((await eventNow()).outcome).toBeUndefined()
    expect((await world.getEvent(eventId, 'test')).body.outcome).toBe('cancelled')
  })
})
