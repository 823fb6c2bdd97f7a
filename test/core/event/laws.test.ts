// In whatever order the reports of several VMs arrive, and however often, one event comes to one end,
// and no step is told twice. The simulation (test/sim) says the same of the whole relay.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decideReport, decideTime } from '../../../functions/core/event/decide.ts'
import type { EventRecord } from '../../../functions/core/event/event.ts'
import type { EventNews } from '../../../functions/core/event/news.ts'
import type { Reporter } from '../../../functions/core/event/sight.ts'
import type { ScheduledEvent } from '../../../shared/document.ts'
import { at, key, sight } from '../../support/records.ts'
import { event, started } from '../../support/world.ts'

const second = 1_000
/** The same cases at every run; another one explores others. */
const seed = 20_261_121
const context = { rules: [], reminders: [], listeningSince: 0 }

/** What happened in truth, in seconds: when it changed and started, if ever, and when it was gone. */
const courses = fc.record({
  changedAfter: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
  startedAfter: fc.option(fc.integer({ min: 10, max: 40 }), { nil: undefined }),
  goneAfter: fc.integer({ min: 41, max: 50 }),
})
type Course = typeof courses extends fc.Arbitrary<infer T> ? T : never

function documentAt(
  { changedAfter = 99, startedAfter = 99, goneAfter }: Course,
  after: number,
): ScheduledEvent | undefined {
  if (after >= goneAfter) return undefined
  const change = after >= changedAfter ? { durationSeconds: 9 } : {}
  return after >= startedAfter ? started(change) : event(change)
}

/** Which VM reports the document of which second. Each VM's own reports arrive in order, unless repeated. */
const reports = fc.array(
  fc.record({ vm: fc.integer({ min: 0, max: 2 }), after: fc.integer({ min: 0, max: 60 }) }),
  { minLength: 1, maxLength: 30 },
)

interface Report {
  reporter: Reporter
  news: EventNews
}

function reportOf(course: Course, { vm, after }: { vm: number; after: number }): Report {
  const shown = documentAt(course, after)
  const { firstSeenAt: _f, shows: _s, isHit: _h, ...own } = sight(`web_${vm}`)
  const reporter = { ...own, counter: after + 1, heardAt: at + 60 * second }
  return {
    reporter: { ...reporter, polledAt: at + after * second },
    news: {
      ...key,
      ...(shown && { shown }),
      ...{ isLacking: shown === undefined, past: [], starts: [], runs: [] },
    },
  }
}

function play(all: Report[]): { record: EventRecord | undefined; told: string[] } {
  const told: string[] = []
  let record: EventRecord | undefined
  const now = at + 61 * second
  for (const { reporter, news } of all) {
    const decided = decideReport(record, reporter, news, context, now)
    record = decided.record ?? record
    told.push(...decided.moments.map((moment) => `${record?.epoch} ${moment}`))
  }
  const late = record && decideTime(record, context, now + 60 * second)
  told.push(...(late?.moments ?? []).map((moment) => `${record?.epoch} ${moment}`))
  return { record: late?.record ?? record, told }
}

test('no step is told twice, and the phase never falls within an epoch', () => {
  fc.assert(
    fc.property(courses, reports, (course, all) => {
      const { told } = play(all.map((one) => reportOf(course, one)))
      const steps = told.filter((step) => !step.endsWith('changed'))
      expect(new Set(steps).size).toBe(steps.length)
      const order = ['scheduled', 'started', 'cancelled', 'completed', 'lost']
      const ranks = steps.map((step) => {
        const [epoch, moment = ''] = step.split(' ')
        return Number(epoch) * 10 + order.indexOf(moment)
      })
      expect(ranks).toEqual(ranks.toSorted((a, b) => a - b))
    }),
    { seed, numRuns: 500 },
  )
})

test('heard once more, a report changes nothing', () => {
  fc.assert(
    fc.property(courses, reports, (course, all) => {
      const sent = all.map((one) => reportOf(course, one))
      const twice = sent.flatMap((one) => [one, one])
      expect(play(twice)).toEqual(play(sent))
    }),
    { seed, numRuns: 200 },
  )
})
