// While a decision may be near, the relay offers to hold its next answer. The beacon waits for it, and
// breaks off once it has news.
import { expect, test } from 'vitest'
import type { Report } from '../../shared/report.ts'
import { accepted, directing, startBeacon } from './agent-world.ts'
import { anEvent } from './events.ts'

const offer = () => accepted({ paceMs: 2_000, waitMs: 15_000 })
const holds = ({ waitMs }: Report) => (waitMs === undefined ? offer() : ('hang' as const))

test('the beacon waits at once, and says so only where it has no news', async () => {
  const { clock, reports, reportedAt } = startBeacon({ events: [anEvent()], reply: holds })
  await clock.advance(60_000)
  expect(reports.map(({ report }) => report.waitMs)).toEqual([undefined, 15_000])
  expect(reports.map(({ report }) => report.changes.length)).toEqual([1, 0])
  expect(reportedAt()).toEqual([0, 200])
})

test('an answer that was held is followed by the next report at once', async () => {
  let answers = 0
  const { clock, posts, reportedAt } = startBeacon({
    events: [anEvent()],
    reply: () => (++answers === 3 ? directing('e1') : offer()),
  })
  await clock.advance(1_000)
  expect(reportedAt().slice(0, 3)).toEqual([0, 200, 400])
  expect(posts).toEqual([['e1']])
})

test('a change is reported at once, and is no trouble of the relay', async () => {
  const { clock, world, log, reports, reportedAt } = startBeacon({
    events: [anEvent()],
    reply: holds,
  })
  await clock.advance(10_500)
  world.events = []
  await clock.advance(1_000)
  expect(reports.slice(2).map(({ report }) => [report.waitMs, report.changes.length])).toEqual([
    [undefined, 1],
    [15_000, 0],
  ])
  expect(reportedAt()[2]).toBe(11_000)
  expect(log.named('relay_failing')).toEqual([])
})

test('what a VM that is not hit sees ends the wait, and is reported when it is due', async () => {
  const { clock, world, reports, reportedAt } = startBeacon({ events: [anEvent()], reply: holds })
  await clock.advance(10_500)
  world.events = [anEvent(), anEvent({ eventId: 'e2', resources: ['vm9'] })]
  await clock.advance(5_000)
  expect(reportedAt().slice(2)).toEqual([12_000, 12_200])
  expect(reports[2]?.report.changes).toHaveLength(1)
})

test('if the wait fails, the next report does not wait', async () => {
  const { clock, log, reports } = startBeacon({
    events: [anEvent()],
    reply: ({ waitMs }) =>
      waitMs === undefined ? offer() : { kind: 'failed', reason: 'reset by a proxy' },
  })
  await clock.advance(1_500)
  expect(reports.map(({ report }) => report.waitMs)).toEqual([undefined, 15_000, undefined, 15_000])
  expect(log.named('relay_failing')).toHaveLength(2)
})

test('without an offer, or after it ended, nothing waits', async () => {
  const { clock, world, reports } = startBeacon({ events: [anEvent()], reply: holds })
  world.reply = () => accepted({ paceMs: 2_000 })
  await clock.advance(10_000)
  expect(reports.filter(({ report }) => report.waitMs !== undefined)).toEqual([])
})

test('a beacon that stops breaks off, and says goodbye', async () => {
  const { clock, reports, stop } = startBeacon({ events: [anEvent()], reply: holds })
  await clock.advance(5_000)
  await stop()
  expect(reports.at(-1)?.report).toMatchObject({ goodbye: 'stopped' })
  expect(reports.at(-1)?.report.waitMs).toBeUndefined()
})
