// In whatever order and however often beacons report, one event comes to one end, and no step is
// sent twice. Through the pure functions, and through the whole relay.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plan } from '../../../functions/core/delivery/delivery.ts'
import type { EventRecord, Moment } from '../../../functions/core/event/event.ts'
import { advance, type Observation } from '../../../functions/core/event/life.ts'
import type { ScheduledEvent } from '../../../shared/document.ts'
import { at, key } from '../../support/records.ts'
import { createWorld, event, eventId, FakeBeacon, started } from '../../support/world.ts'

const second = 1_000
/** The same cases at every run; another one explores others. */
const seed = 20_261_121

/** What happened in truth: seconds after which it started, if ever, and was gone, if ever. */
interface Course {
  startedAfter: number | undefined
  goneAfter: number | undefined
  changedAfter: number | undefined
}

const courses: fc.Arbitrary<Course> = fc.record({
  changedAfter: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
  startedAfter: fc.option(fc.integer({ min: 10, max: 40 }), { nil: undefined }),
  goneAfter: fc.option(fc.integer({ min: 41, max: 50 }), { nil: undefined }),
})

/** The document's view of the event at a second; undefined where it is not in it. */
function truthAt(course: Course, after: number): ScheduledEvent | undefined {
  if (course.goneAfter !== undefined && after >= course.goneAfter) return undefined
  const changed = course.changedAfter !== undefined && after >= course.changedAfter
  const change = changed ? { description: 'changed', durationSeconds: 9 } : {}
  const begun = course.startedAfter !== undefined && after >= course.startedAfter
  return begun ? started(change) : event(change)
}

interface Poll {
  beacon: number
  after: number
}

/** Polls of three beacons within a minute. */
const polls = fc.array(
  fc.record({ beacon: fc.integer({ min: 0, max: 2 }), after: fc.integer({ min: 0, max: 60 }) }),
  { minLength: 1, maxLength: 24 },
)

/** Every poll as an observation, with what its beacon saw before it. */
function observe(course: Course, all: Poll[]): Observation[] {
  const ordered = [...all].sort((a, b) => a.after - b.after)
  return ordered.flatMap(({ beacon, after }, i): Observation[] => {
    const earlier = ordered.slice(0, i).filter((poll) => poll.beacon === beacon)
    const previous = earlier.map((poll) => truthAt(course, poll.after)).at(-1)
    const seen = truthAt(course, after)
    const common = { at: at + after * second, vm: `web_${beacon}`, live: true }
    if (seen !== undefined) {
      const firstPoll = earlier.length === 0
      const reopening = { missedBefore: previous === undefined && !firstPoll, since: at }
      const before = previous && { previous }
      return [{ ...common, ...reopening, kind: 'seen', event: seen, firstPoll, ...before }]
    }
    const lastSeenAt = at + Math.max(0, ...earlier.map((poll) => poll.after)) * second
    return previous === undefined ? [] : [{ ...common, kind: 'gone', lastSeenAt }]
  })
}

/** Runs the observations, and returns the record with the ids of everything planned on the way. */
function run(observations: Observation[]) {
  const now = at + 61 * second
  let record: EventRecord | undefined
  const told: Moment[] = []
  const ids: string[] = []
  for (const one of observations) {
    const step = advance(record, one, now, key)
    if (step.record !== undefined) {
      ids.push(...plan(step.record, step.moments, () => ['chat'], now).map(({ id }) => id))
    }
    told.push(...step.moments)
    record = step.record
  }
  return { record, told, ids }
}

const shuffled = fc
  .tuple(
    courses,
    polls,
    fc.array(fc.nat(), { minLength: 60, maxLength: 60 }),
    fc.integer({ min: 1, max: 3 }),
  )
  .map(([course, all, keys, times]) => {
    const observations = observe(course, all)
    const repeated = Array.from({ length: times }, () => observations).flat()
    const order = repeated.map((one, i) => ({ one, rank: keys[i % keys.length]! * 7 + i }))
    return { observations, any: order.sort((a, b) => a.rank - b.rank).map(({ one }) => one) }
  })

describe('any order and any number of the same observations', () => {
  test('lead to the same phase, and to no moment twice', () => {
    fc.assert(
      fc.property(shuffled, ({ observations, any }) => {
        const inOrder = run(observations)
        const mixed = run(any)
        expect(mixed.record?.phase).toBe(inOrder.record?.phase)
        expect(mixed.record?.epoch).toBe(inOrder.record?.epoch)
        for (const { told, ids } of [inOrder, mixed]) {
          const steps = told.filter((moment) => moment !== 'changed')
          expect(new Set(steps).size).toBe(steps.length)
          const distinct = new Set(ids.filter((id) => id.includes('/changed/')))
          // values change only once, so at most the old and the new ones are sent
          expect(distinct.size).toBeLessThanOrEqual(2)
        }
      }),
      { seed, numRuns: 500 },
    )
  })

  test('heard once more, they leave the record as it is', () => {
    fc.assert(
      fc.property(shuffled, ({ any }) => {
        const { record } = run(any)
        if (record === undefined) return
        const quiet = any.filter((one) => one.kind === 'seen' && one.previous === undefined)
        for (const one of quiet) {
          expect(advance(record, one, at + 61 * second, key).record).toBe(record)
        }
      }),
      { seed, numRuns: 200 },
    )
  })
})

describe('the whole relay', () => {
  /** Each beacon reports in its own order, with repetitions. The order of beacons is random. */
  const runs = fc.record({
    course: courses,
    polls,
    turns: fc.array(fc.record({ beacon: fc.integer({ min: 0, max: 2 }), twice: fc.boolean() }), {
      minLength: 24,
      maxLength: 48,
    }),
  })

  async function play({
    course,
    polls,
    turns,
  }: {
    course: Course
    polls: Poll[]
    turns: { beacon: number; twice: boolean }[]
  }) {
    const world = await createWorld()
    world.clock.now = at + 61 * second
    const beacons = [0, 1, 2].map((i) => new FakeBeacon(world, `web_${i}`))
    // the last poll of all is late enough for everybody to agree on the end
    const queues = beacons.map((_, i) => {
      const own = polls.filter(({ beacon }) => beacon === i).map(({ after }) => after)
      return [...own.sort((a, b) => a - b), 61]
    })
    const rest = queues.flatMap((queue, beacon) => queue.map(() => ({ beacon, twice: false })))
    for (const { beacon, twice } of [...turns, ...rest]) {
      const after = queues[beacon]!.shift()
      if (after === undefined) continue
      const seen = truthAt(course, after)
      const one = beacons[beacon]!
      const report = one.body(seen === undefined ? [] : [seen], { ageMs: (61 - after) * second })
      for (const _ of twice ? [1, 2] : [1]) expect((await one.post(report)).status).toBe(200)
    }
    await world.pass(10_001)
    const { status, body } = await world.getEvent(eventId)
    world.store.close()
    const told: string[] = world.told().map((type) => type.replace('foghorn.event.', ''))
    return { known: status === 200, phase: body.phase, outcome: body.outcome, told, body }
  }

  test('comes to one end, and sends no step twice', async () => {
    await fc.assert(
      fc.asyncProperty(runs, async (run) => {
        const mixed = await play(run)
        const inOrder = [...run.polls].sort((a, b) => a.after - b.after)
        const ordered = await play({
          ...run,
          turns: inOrder.map(({ beacon }) => ({ beacon, twice: false })),
        })
        expect([mixed.known, mixed.phase, mixed.outcome]).toEqual([
          ordered.known,
          ordered.phase,
          ordered.outcome,
        ])
        for (const { told } of [mixed, ordered]) {
          const steps = told.filter((moment) => moment !== 'changed')
          expect(new Set(steps).size).toBe(steps.length)
          expect(told.filter((moment) => moment === 'changed').length).toBeLessThanOrEqual(1)
          expect(
            told.filter((moment) => ['completed', 'cancelled', 'lost'].includes(moment)).length,
          ).toBeLessThanOrEqual(1)
        }
      }),
      { seed, numRuns: 40 },
    )
  })
})
