// How the beacon reports to a relay that is slow or down, rejects reports or answers nonsense.
import { describe, expect, test } from 'vitest'
import type { Sent } from '../../beacon/relay-client.ts'
import type { Step } from '../../beacon/watch.ts'
import { accepted, aDirective, failing, startBeacon } from './agent-world.ts'
import { anEvent } from './events.ts'

const failed: Sent = { kind: 'failed', reason: 'ECONNREFUSED' }
const refused = (status: number, code = 'signature_invalid'): Sent => {
  return { kind: 'refused', status, code, reason: `${status}: no` }
}

/** Waits between the reports, from the one at `from` on. */
function gapsOf(reportedAt: number[], from = 0): number[] {
  return reportedAt.slice(from + 1).map((at, i) => at - (reportedAt[from + i] ?? 0))
}

test('with nothing new, the relay sets the pace', async () => {
  let paceMs = 60_000
  const { clock, reportedAt, reports } = startBeacon({ reply: () => accepted({ paceMs }) })
  await clock.advance(120_000)
  paceMs = 2_000
  await clock.advance(64_000)
  expect(reportedAt()).toEqual([0, 60_000, 120_000, 180_000, 182_000, 184_000])
  expect(reports.map(({ report }) => report.beacon.counter)).toEqual([1, 2, 3, 4, 5, 6])
})

test('an event that the relay refuses is logged once, until the relay takes it', async () => {
  const refusal = { eventId: 'e1', reason: 'the fleet is full' }
  let refused = [refusal]
  const { clock, log } = startBeacon({ reply: () => accepted({ paceMs: 60_000, refused }) })
  const logged = () => log.named('event_refused').map(({ eventId, reason }) => [eventId, reason])
  await clock.advance(180_000)
  expect(logged()).toEqual([['e1', 'the fleet is full']])
  refused = [refusal, { eventId: 'e2', reason: 'the fleet is full' }]
  await clock.advance(120_000)
  expect(logged().map(([id]) => id)).toEqual(['e1', 'e2'])
  refused = []
  await clock.advance(60_000)
  refused = [refusal]
  await clock.advance(60_000)
  expect(logged().map(([id]) => id)).toEqual(['e1', 'e2', 'e1'])
})

test('a document that does not fit into a report is logged once', async () => {
  const resources = Array.from({ length: 1_000 }, (_, i) => `production-web_${i}`)
  const events = Array.from({ length: 15 }, (_, i) => anEvent({ eventId: `e${i}`, resources }))
  const { clock, log, reports } = startBeacon({
    ...{ events, reply: () => accepted({ paceMs: 60_000 }) },
  })
  await clock.advance(300_000)
  expect(log.named('document_too_large')).toEqual([
    expect.objectContaining({ leftOut: expect.any(Number) }),
  ])
  expect(reports.at(-1)?.report.document).toMatchObject({ hidden: ['e12', 'e13', 'e14'] })
})

describe('while the relay is away', () => {
  test('the waits grow to 60 s where nothing is scheduled', async () => {
    const { clock, reportedAt } = startBeacon({ reply: () => failed })
    await clock.advance(300_000)
    const gaps = gapsOf(reportedAt())
    expect(gaps.slice(0, 7)).toEqual([750, 1_500, 3_000, 6_000, 12_000, 24_000, 45_000])
    expect(gaps.slice(7)).toEqual(gaps.slice(7).map(() => 45_000))
  })

  test('and to 10 s where something is', async () => {
    const { clock, reportedAt } = startBeacon({ reply: () => failed, events: [anEvent()] })
    await clock.advance(60_000)
    expect(gapsOf(reportedAt()).slice(3, 7)).toEqual([6_000, 7_500, 7_500, 7_500])
  })

  test('an event that comes up is not kept waiting', async () => {
    const { clock, world, reportedAt } = startBeacon({ reply: () => failed })
    await clock.advance(200_500)
    const before = reportedAt().length
    world.events = [anEvent()]
    await clock.advance(30_000)
    expect(reportedAt()[before]).toBe(201_000)
    expect(gapsOf(reportedAt(), before)[0]).toBe(7_500)
  })

  test.each([
    [4_000, [], 4_000],
    [3_600_000, [], 60_000],
    [3_600_000, [anEvent()], 10_000],
  ])('Retry-After of %i ms is honoured within bounds', async (retryAfterMs, events, expected) => {
    const { clock, reportedAt } = startBeacon({
      events,
      reply: () => ({ ...failed, retryAfterMs }),
    })
    await clock.advance(130_000)
    expect(gapsOf(reportedAt()).slice(0, 2)).toEqual([expected, expected])
  })

  test('that is said once, and once when it is back', async () => {
    const { clock, world, log, reports } = startBeacon({ reply: () => failed })
    await clock.advance(100_000)
    expect(log.named('relay_failing')).toMatchObject([{ reason: 'ECONNREFUSED' }])
    expect(log.named('report_failed')).toHaveLength(reports.length)
    world.reply = () => accepted()
    await clock.advance(100_000)
    expect(log.named('relay_failing')).toHaveLength(1)
    expect(log.named('relay_recovered')).toHaveLength(1)
    expect(log.named('report_accepted')).toHaveLength(1)
  })

  test('that accepts the first report is logged, once', async () => {
    const { clock, world, log } = startBeacon({ reply: () => failed })
    await clock.advance(100_000)
    expect(log.named('relay_reached')).toEqual([])
    world.reply = () => accepted({ paceMs: 1_000 })
    await clock.advance(100_000)
    expect(log.named('relay_reached')).toMatchObject([{ paceMs: 1_000 }])
  })

  test('after it is back, the next failure is a first one', async () => {
    const { clock, world, reportedAt } = startBeacon({ reply: () => failed })
    await clock.advance(100_000)
    world.reply = () => accepted({ paceMs: 1_000 })
    await clock.advance(100_000)
    world.reply = () => failed
    const before = reportedAt().length
    await clock.advance(100_000)
    expect(gapsOf(reportedAt(), before).slice(0, 2)).toEqual([750, 1_500])
  })
})

describe('a relay that refuses', () => {
  test('is asked again, ever more slowly, at least every 10 s while an event is open; nothing is dropped', async () => {
    const { clock, reportedAt, spool, log } = startBeacon({
      events: [anEvent()],
      reply: () => refused(401),
    })
    await clock.advance(600_000)
    expect(gapsOf(reportedAt()).at(-1)).toBe(7_500)
    expect(spool.read()).toHaveLength(1)
    expect(log.named('relay_failing')).toMatchObject([{ kind: 'refused', reason: '401: no' }])
  })

  test('in another way than before is said again', async () => {
    const { clock, world, log } = startBeacon({ reply: () => failed })
    await clock.advance(100_000)
    world.reply = () => refused(404)
    await clock.advance(100_000)
    expect(log.named('relay_failing')).toMatchObject([{ kind: 'failed' }, { status: 404 }])
  })

  test.each([
    [400, 'report_malformed'],
    [413, 'body_too_large'],
  ])('the content with %i three times: the oldest item goes', async (status, code) => {
    const { clock, world, spool, log, reports } = startBeacon({
      events: [anEvent({ eventId: 'poison' }), anEvent({ eventId: 'good' })],
      reply: (report) =>
        report.changes.some((change) => change.event.eventId === 'poison')
          ? refused(status, code)
          : accepted(),
    })
    await clock.advance(10_000)
    expect(reports.slice(0, 4).map(({ report }) => report.changes.length)).toEqual([2, 2, 2, 1])
    expect(log.named('item_given_up')).toMatchObject([{ reason: `${status}: no` }])
    expect(spool.read()).toEqual([])
    expect(world.events).toHaveLength(2)
  })

  test('anything else loses no item, however often', async () => {
    const { clock, spool } = startBeacon({
      events: [anEvent()],
      reply: () => refused(400, 'other'),
    })
    await clock.advance(600_000)
    expect(spool.read()).toHaveLength(1)
  })

  test('a report without items loses nothing by it', async () => {
    const { clock, log } = startBeacon({ reply: () => refused(400, 'report_malformed') })
    await clock.advance(600_000)
    expect(log.named('item_given_up')).toEqual([])
  })
})

describe('a boot that was retired', () => {
  test('is followed by a new one at once, with a counter of its own', async () => {
    const { clock, reports, spool } = startBeacon({
      events: [anEvent()],
      reply: ({ beacon }) => (beacon.bootId === 'boot-0001' ? { kind: 'retired' } : accepted()),
    })
    await clock.advance(1_000)
    expect(reports.map(({ report }) => report.beacon)).toMatchObject([
      { bootId: 'boot-0001', counter: 1 },
      { bootId: 'boot-0002', counter: 1 },
    ])
    expect(reports[1]?.report.changes).toHaveLength(1)
    expect(spool.read()).toEqual([])
  })

  test('again and again does not become a race', async () => {
    const { clock, reports } = startBeacon({ reply: () => ({ kind: 'retired' }) })
    await clock.advance(60_000)
    expect(reports.length).toBeLessThan(9)
    expect(reports.at(-1)?.report.beacon.counter).toBe(1)
  })
})

test('items of a report that the relay took for a repeated one are kept, and sent again', async () => {
  let isFirst = true
  const { clock, reports, spool } = startBeacon({
    events: [anEvent()],
    reply: () => {
      const outcome = isFirst ? 'repeated' : 'accepted'
      isFirst = false
      return accepted({ outcome })
    },
  })
  await clock.advance(1_000)
  expect(reports.map(({ report }) => report.changes.length)).toEqual([1, 1])
  expect(spool.read()).toEqual([])
})

describe('much to tell', () => {
  const step = (i: number): Step => ({
    kind: 'appeared',
    seenAt: 0,
    firstPoll: false,
    event: anEvent({ eventId: `e${i}`, description: 'x'.repeat(2_000) }),
  })

  test('goes out in parts, one after the other, and is forgotten part by part', async () => {
    const { clock, world, spool, reports } = startBeacon({ reply: () => failed, events: failing() })
    await clock.advance(0)
    spool.append(Array.from({ length: 300 }, (_, i) => step(i)))
    world.reply = () => accepted()
    await clock.advance(3_000)
    const told = reports.slice(1).flatMap(({ report }) => report.changes)
    expect(told.map(({ event }) => event.eventId)).toEqual(
      Array.from({ length: 300 }, (_, i) => `e${i}`),
    )
    expect(reports.length).toBeGreaterThan(3)
    expect(spool.read()).toEqual([])
  })

  test('news during a report is sent with the next one', async () => {
    const { clock, world, spool, reports } = startBeacon()
    await clock.advance(500)
    world.reply = () => {
      spool.append([step(1)])
      world.reply = () => accepted({ paceMs: 1_000 })
      return accepted({ paceMs: 1_000 })
    }
    world.events = [anEvent()]
    await clock.advance(3_000)
    const told = reports.flatMap(({ report }) => report.changes).map(({ event }) => event.eventId)
    expect(told).toEqual(['e1', 'e1'])
    expect(spool.read()).toEqual([])
  })
})

test('no answer of the relay makes the beacon report without a pause', async () => {
  const { clock, reports } = startBeacon({
    events: [anEvent({ status: 'Started' })],
    reply: () => accepted({ paceMs: 100, directives: [aDirective()] }),
  })
  await clock.advance(10_000)
  expect(reports.length).toBeGreaterThan(10)
  expect(reports.length).toBeLessThanOrEqual(51)
})
