// In whatever order and however often beacons report, one event comes to one end, and no step is
// sent twice. The simulation (test/sim) says the same of the whole relay.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plan } from '../../../functions/core/delivery/delivery.ts'
import type { EventRecord } from '../../../functions/core/event/event.ts'
import { advance, type Observation } from '../../../functions/core/event/life.ts'
import type { Moment } from '../../../functions/core/event/moment.ts'
import type { ScheduledEvent } from '../../../shared/document.ts'
import { at, key } from '../../support/records.ts'
import { event, started } from '../../support/world.ts'

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
      return [
        { ...common, ...reopening, kind: 'seen', event: seen, appeared: !firstPoll, ...before },
      ]
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
