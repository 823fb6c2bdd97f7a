// Nothing starts unasked: an approval needs the relay's directive and a document that shows
// Scheduled.
import { describe, expect, test } from 'vitest'
import type { Started } from '../../beacon/imds.ts'
import type { ScheduledEvent } from '../../shared/document.ts'
import type { Directive, Report } from '../../shared/report.ts'
import { accepted, aDirective, directing, failing, startBeacon } from './agent-world.ts'
import { anEvent } from './events.ts'

const started = anEvent({ status: 'Started' })

/** Directs once, in the answer to the first report that shows a document. */
function directOnce(...directives: Directive[]) {
  let isDone = false
  return ({ document }: { document: object | null }) => {
    if (isDone || document === null) return accepted()
    isDone = true
    return accepted({ directives })
  }
}

const directingOnce = (...eventIds: string[]) =>
  directOnce(...eventIds.map((eventId) => aDirective({ eventId })))

test('a directed event that is Scheduled is approved, and that is reported at once', async () => {
  const { clock, approvals, reports, log } = startBeacon({
    events: [anEvent()],
    reply: directingOnce('E1'),
  })
  await clock.advance(10_500)
  expect(approvals).toEqual([{ at: 0, eventId: 'e1' }])
  expect(reports.map(({ at, report }) => [at, report.starts])).toEqual([
    [0, []],
    [200, [{ eventId: 'e1', outcome: 'accepted', status: 200, ageMs: 200 }]],
  ])
  expect(log.named('directive_received')).toMatchObject([{ eventId: 'e1' }])
  expect(log.named('start_requested')).toMatchObject([
    { eventId: 'e1', outcome: 'accepted', status: 200 },
  ])
})

describe('what was approved', () => {
  const known = { durationSeconds: 9, source: 'User' }
  const { durationSeconds, source } = known

  test.each<[string, Partial<Directive>, Partial<ScheduledEvent>, 0 | 1]>([
    ['is what this VM sees', {}, {}, 1],
    ['is more than it sees', { resources: ['vm1', 'other'] }, {}, 1],
    ['is written in another case', { resources: ['vm1'] }, { resources: ['VM1'] }, 1],
    ['lacks a VM that it sees', { resources: ['other'] }, {}, 0],
    ['names VMs where it sees none', {}, { resources: [] }, 0],
    ['names none, as it sees none', { resources: [] }, { resources: [] }, 1],
    ['is of another type', { eventType: 'Terminate' }, {}, 0],
    ['is of the type in another case', { eventType: 'REBOOT' }, {}, 1],
    ['is of a type that it does not see', {}, { eventType: 'Unknown' }, 0],
    ['has the duration that it sees', { durationSeconds }, known, 1],
    ['is longer than it sees', { durationSeconds: 10 }, known, 0],
    ['is shorter than it sees', { durationSeconds: 8 }, known, 0],
    ['has a duration that it does not see', { durationSeconds }, { source }, 0],
    ['has no duration', { source }, known, 1],
    ['has the source that it sees', { source: 'user' }, known, 1],
    ['has another source', { source: 'Platform' }, known, 0],
    ['has a source that it does not see', { source }, { durationSeconds }, 0],
    ['has no source', { durationSeconds }, known, 1],
    [
      'is for what a rule read of this VM',
      { vm: { resourceGroup: 'RG1', tags: { env: 'dev', auto: null } } },
      {},
      1,
    ],
    ['is for a VM of another group', { vm: { resourceGroup: 'rg2' } }, {}, 0],
    ['is for a VM of another scale set', { vm: { scaleSet: 'vmss' } }, {}, 0],
    ['is for a VM with another tag', { vm: { tags: { env: 'prod' } } }, {}, 0],
    ['is for a VM with a tag more', { vm: { tags: { auto: 'yes' } } }, {}, 0],
    ['is for a VM without this tag', { vm: { tags: { env: null } } }, {}, 0],
  ])('%s', async (_, covered, seen, count) => {
    const { clock, approvals, reports } = startBeacon({
      events: [anEvent(seen)],
      reply: directOnce(aDirective(covered)),
    })
    await clock.advance(10_500)
    expect(approvals).toHaveLength(count)
    const outcomes = reports.flatMap(({ report }) => report.starts.map(({ outcome }) => outcome))
    expect(outcomes).toEqual([count === 1 ? 'accepted' : 'not_as_approved'])
  })

  test.each<[string, Partial<Directive>, 0 | 1]>([
    ['the same', known, 1],
    ['another source', { ...known, source: 'Platform' }, 0],
    ['another duration', { ...known, durationSeconds: 90 }, 0],
  ])('is compared with what an earlier api-version showed: %s', async (_, covered, count) => {
    const { clock, world, approvals } = startBeacon({ events: [anEvent(known)] })
    await clock.advance(1_500)
    world.apiVersion = '2019-04-01'
    world.events = [anEvent({ description: 'news' })]
    world.reply = directOnce(aDirective(covered))
    await clock.advance(10_000)
    expect(approvals).toHaveLength(count)
  })
})

test('an event that an unreadable entry may hide is kept, and not approved', async () => {
  const { clock, world, approvals, reports } = startBeacon({ events: [anEvent()] })
  await clock.advance(1_500)
  Object.assign(world, { events: [], unreadable: { count: 1, samples: ['?'] } })
  world.reply = directOnce(aDirective())
  await clock.advance(610_000)
  expect(approvals).toEqual([])
  expect(reports.flatMap(({ report }) => report.starts)).toMatchObject([
    { outcome: 'not_scheduled' },
  ])
})

test('a document of more than a minute ago starts nothing', async () => {
  const { clock, world, approvals, reports } = startBeacon({ events: [anEvent()] })
  await clock.advance(1_500)
  world.events = failing()
  await clock.advance(60_000)
  world.reply = directOnce(aDirective())
  await clock.advance(610_000)
  expect(approvals).toEqual([])
  expect(reports.flatMap(({ report }) => report.starts)).toMatchObject([
    { outcome: 'not_scheduled' },
  ])
})

describe('nothing is approved', () => {
  test.each<[string, Parameters<typeof startBeacon>[0]]>([
    ['that is Started', { events: [started] }],
    ['whose status is unknown', { events: [anEvent({ status: 'Unknown' })] }],
    ['that the document does not show', { events: [anEvent({ eventId: 'e2' })] }],
    ['while there are no events', { events: [] }],
  ])('%s: the report says so', async (_, played) => {
    const { clock, approvals, reports } = startBeacon({ ...played, reply: directingOnce('e1') })
    await clock.advance(10_500)
    expect(approvals).toEqual([])
    const starts = reports.flatMap(({ report }) => report.starts)
    expect(starts).toMatchObject([{ eventId: 'e1', outcome: 'not_scheduled' }])
    expect(starts[0]).not.toHaveProperty('status')
  })

  test('that the relay did not direct, in a whole life of events', async () => {
    const { clock, world, approvals } = startBeacon()
    for (const events of [[anEvent()], [anEvent(), anEvent({ eventId: 'e2' })], [started], []]) {
      world.events = events
      await clock.advance(60_000)
    }
    expect(approvals).toEqual([])
  })
})

test('the document of now counts, not the one that was reported', async () => {
  const { clock, world, approvals, reports } = startBeacon({ events: [anEvent()] })
  await clock.advance(500)
  world.reply = () => {
    world.reply = () => accepted()
    return directing('e1')
  }
  world.events = [started]
  await clock.advance(10_000)
  expect(approvals).toEqual([])
  const starts = reports.flatMap(({ report }) => report.starts)
  expect(starts).toMatchObject([{ outcome: 'not_scheduled' }])
})

test('the last good document counts while polls fail', async () => {
  const { clock, world, approvals } = startBeacon({
    events: [anEvent()],
    reply: () => accepted({ paceMs: 5_000 }),
  })
  await clock.advance(500)
  world.events = failing()
  world.reply = directingOnce('e1')
  await clock.advance(10_000)
  expect(approvals).toHaveLength(1)
})

test.each<[Started, object]>([
  [
    { outcome: 'rejected', status: 400, reason: 'no' },
    { outcome: 'rejected', status: 400 },
  ],
  [{ outcome: 'unreachable', reason: 'no answer' }, { outcome: 'unreachable' }],
])(
  'an approval that fails is reported once, and tried again when directed again: %o',
  async (approval, expected) => {
    const { clock, world, approvals, reports } = startBeacon({
      events: [anEvent()],
      approval,
      reply: directingOnce('e1'),
    })
    await clock.advance(10_500)
    expect(approvals).toHaveLength(1)
    expect(reports.flatMap(({ report }) => report.starts)).toMatchObject([expected])
    world.approval = { outcome: 'accepted', status: 200 }
    world.reply = directingOnce('e1')
    world.events = [anEvent({ description: 'changed' })]
    await clock.advance(10_000)
    expect(approvals).toHaveLength(2)
  },
)

test('an accepted approval is not repeated within 2 s, and repeated after', async () => {
  const { clock, approvals, reports } = startBeacon({
    events: [anEvent()],
    reply: () => accepted({ paceMs: 500, directives: [aDirective()] }),
  })
  await clock.advance(5_000)
  const gaps = approvals.map(({ at }, i) => at - (approvals[i - 1]?.at ?? 0)).slice(1)
  expect(gaps.length).toBeGreaterThan(0)
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(2_000)
  const starts = reports.flatMap(({ report }) => report.starts)
  expect(starts).toHaveLength(approvals.length)
})

describe('several events', () => {
  const ids = Array.from({ length: 60 }, (_, i) => `e${i}`)
  const events = ids.map((eventId) => anEvent({ eventId }))
  const outcomesOf = (reports: { report: Report }[]) =>
    reports.flatMap(({ report }) => report.starts.map(({ eventId, outcome }) => [eventId, outcome]))

  test('are approved in one request, without those that must not be', async () => {
    const seen = [anEvent({ eventId: 'a' }), anEvent({ eventId: 'b', eventType: 'Freeze' })]
    const { clock, posts, reports } = startBeacon({
      events: [...seen, anEvent({ eventId: 'c' })],
      reply: directingOnce('a', 'b', 'c', 'x'),
    })
    await clock.advance(10_000)
    expect(posts).toEqual([['a', 'c']])
    expect(Object.fromEntries(outcomesOf(reports))).toEqual({
      ...{ a: 'accepted', b: 'not_as_approved' },
      ...{ c: 'accepted', x: 'not_scheduled' },
    })
  })

  test('go 50 to a request', async () => {
    const { clock, posts } = startBeacon({ events, reply: directingOnce(...ids) })
    await clock.advance(10_000)
    expect(posts).toEqual([ids.slice(0, 50), ids.slice(50)])
  })

  test('that one answer refused otherwise are not tried one by one', async () => {
    const { clock, posts, reports } = startBeacon({
      events,
      approval: { outcome: 'rejected', status: 500, reason: '' },
      reply: directingOnce('e0', 'e1'),
    })
    await clock.advance(10_000)
    expect(posts).toEqual([['e0', 'e1']])
    expect(outcomesOf(reports).map(([, outcome]) => outcome)).toEqual(['rejected', 'rejected'])
  })
})

describe('an approval that IMDS throttles', () => {
  const throttled = (retryAfterMs: number): Started => {
    return { outcome: 'throttled', status: 429, reason: '', retryAfterMs }
  }

  test('is tried again as IMDS asks, and not reported before', async () => {
    let count = 0
    const { clock, approvals, reports } = startBeacon({
      events: [anEvent()],
      approval: () => (++count < 3 ? throttled(2_000) : { outcome: 'accepted', status: 200 }),
      reply: directingOnce('e1'),
    })
    await clock.advance(10_500)
    expect(approvals.map(({ at }) => at)).toEqual([0, 2_000, 4_000])
    const starts = reports.flatMap(({ report }) => report.starts)
    expect(starts).toMatchObject([{ outcome: 'accepted', status: 200 }])
  })

  test('is given up after some seconds, which is reported', async () => {
    const { clock, approvals, reports } = startBeacon({
      events: [anEvent()],
      approval: throttled(1_000),
      reply: directingOnce('e1'),
    })
    await clock.advance(60_000)
    expect(approvals.length).toBeGreaterThan(5)
    expect(approvals.at(-1)?.at).toBeLessThan(15_000)
    const starts = reports.flatMap(({ report }) => report.starts)
    expect(starts).toMatchObject([{ outcome: 'rejected', status: 429 }])
  })

  test('for longer than another VM would take is reported at once', async () => {
    const { clock, approvals, reports } = startBeacon({
      events: [anEvent()],
      approval: throttled(20_000),
      reply: directingOnce('e1'),
    })
    await clock.advance(1_000)
    expect(approvals).toHaveLength(1)
    expect(reports.flatMap(({ report }) => report.starts)).toMatchObject([{ outcome: 'rejected' }])
  })

  test('is not tried again once the event is another', async () => {
    const { clock, world, approvals, reports } = startBeacon({
      events: [anEvent()],
      approval: throttled(3_000),
      reply: directingOnce('e1'),
    })
    await clock.advance(1_500)
    world.events = [anEvent({ resources: ['vm1', 'vm2'] })]
    await clock.advance(10_000)
    expect(approvals).toHaveLength(1)
    const starts = reports.flatMap(({ report }) => report.starts)
    expect(starts).toMatchObject([{ outcome: 'not_as_approved' }])
  })
})

test('what our own stop cut off is not reported as a failure', async () => {
  const { clock, stop, spool, approvals } = startBeacon({
    events: [anEvent()],
    approval: 'hang',
    reply: directingOnce('e1'),
  })
  await clock.advance(1_000)
  await stop()
  expect(approvals).toHaveLength(1)
  expect(spool.read()).toEqual([])
})
