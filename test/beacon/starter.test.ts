// Nothing starts unasked: an approval needs the relay's directive and a document that shows Scheduled.
import { describe, expect, test } from 'vitest'
import type { Started } from '../../beacon/metadata.ts'
import { accepted, directing, failing, startBeacon } from './agent-world.ts'
import { anEvent } from './events.ts'

const started = anEvent({ status: 'Started' })

/** Directs once, in the answer to the first report that shows a document. */
function directingOnce(...eventIds: string[]) {
  let isDone = false
  return ({ document }: { document: object | null }) => {
    if (isDone || document === null) return accepted()
    isDone = true
    return directing(...eventIds)
  }
}

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
  const covering = (resources: string[], eventType = 'Reboot') => {
    let isDone = false
    return ({ document }: { document: object | null }) => {
      if (isDone || document === null) return accepted()
      isDone = true
      return accepted({ directives: [{ eventId: 'e1', eventType, resources }] })
    }
  }
  const { eventType, resources } = anEvent()
  const names = resources.map((name) => name.toLowerCase())

  test.each([
    ['is what this VM sees', covering(names, eventType), 1],
    ['is more than it sees', covering([...names, 'other'], eventType), 1],
    ['lacks a VM that it sees', covering(['other'], eventType), 0],
    ['is of another type', covering(names, 'Terminate'), 0],
  ] as const)('%s', async (_, reply, count) => {
    const { clock, approvals, reports } = startBeacon({ events: [anEvent()], reply })
    await clock.advance(10_500)
    expect(approvals).toHaveLength(count)
    const outcomes = reports.flatMap(({ report }) => report.starts.map(({ outcome }) => outcome))
    expect(outcomes).toEqual([count === 1 ? 'accepted' : 'not_as_approved'])
  })
})

describe('nothing is approved', () => {
  test.each<[string, Parameters<typeof startBeacon>[0]]>([
    ['that is Started', { events: [started] }],
    ['whose status is unknown', { events: [anEvent({ status: 'Unknown' })] }],
    ['that the document does not show', { events: [anEvent({ eventId: 'e2' })] }],
    ['while there are no events', { events: [] }],
  ])('%s: the relay is told so', async (_, played) => {
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

  test('by the directive for another event', async () => {
    const { clock, approvals } = startBeacon({
      events: [anEvent({ eventId: 'e10' }), anEvent({ eventId: 'e1' })],
      reply: directingOnce('e1'),
    })
    await clock.advance(10_500)
    expect(approvals.map(({ eventId }) => eventId)).toEqual(['e1'])
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
    reply: () => accepted({ paceMs: 500, directives: [{ eventId: 'e1' }] }),
  })
  await clock.advance(5_000)
  const gaps = approvals.map(({ at }, i) => at - (approvals[i - 1]?.at ?? 0)).slice(1)
  expect(gaps.length).toBeGreaterThan(0)
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(2_000)
  const starts = reports.flatMap(({ report }) => report.starts)
  expect(starts).toHaveLength(approvals.length)
})

test('several directives are each carried out', async () => {
  const events = ['a', 'b', 'c'].map((eventId) => anEvent({ eventId }))
  const { clock, approvals, reports } = startBeacon({ events, reply: directingOnce('a', 'c', 'x') })
  await clock.advance(10_000)
  expect(approvals.map(({ eventId }) => eventId)).toEqual(['a', 'c'])
  const starts = reports.flatMap(({ report }) => report.starts)
  expect(starts.map(({ eventId, outcome }) => [eventId, outcome])).toEqual([
    ['a', 'accepted'],
    ['c', 'accepted'],
    ['x', 'not_scheduled'],
  ])
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
