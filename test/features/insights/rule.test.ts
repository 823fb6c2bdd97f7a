import { expect, test } from 'vitest'
import type { EventSummary } from '../../../functions/core/event/summary.ts'
import { computeInsights, insightsSince } from '../../../functions/features/insights/rule.ts'

const now = Date.UTC(2026, 10, 21, 12)
const minute = 60_000
const november = Date.UTC(2026, 10, 3)

function summary(changes: Partial<EventSummary> = {}): EventSummary {
  const times = { firstSeenAt: november, notBeforeAt: november + 15 * minute }
  const what = { fleet: 'prod', eventId: 'a', eventType: 'Reboot', step: 'completed' as const }
  return { ...what, vms: ['web_0'], vmCount: 1, ...times, ...changes }
}

const thisMonth = (events: EventSummary[]) => computeInsights(events, now).months[0]!

test('six months, the newest first, each event in the month of its first sight', () => {
  const may = Date.UTC(2026, 4, 31, 23)
  const { months } = computeInsights([summary(), summary({ firstSeenAt: may })], now)
  expect(months.map(({ month }) => month)).toEqual([
    ...['2026-11', '2026-10', '2026-09', '2026-08', '2026-07', '2026-06'],
  ])
  expect(months.map(({ types }) => types[0]![1])).toEqual([1, 0, 0, 0, 0, 0])
  expect(insightsSince(now)).toBe(Date.UTC(2026, 5, 1))
})

test('types by frequency; the rarest together; drills do not count', () => {
  const types = ['A', 'A', 'B', 'B', 'C', 'C', 'D', 'D', 'E', 'E', 'F', 'G']
  const events = types.map((eventType) => summary({ eventType }))
  const { types: shown } = computeInsights([...events, summary({ drill: true })], now)
  expect(shown).toEqual(['A', 'B', 'C', 'D', 'E', 'other'])
  expect(thisMonth(events).types.at(-1)).toEqual(['other', 2])
})

test.each([
  [
    'a person in time',
    { decidedAt: november + minute, decidedHow: 'slack' as const },
    [1, 0, 0, 0],
  ],
  ['a token', { decidedAt: november, decidedHow: 'token' as const }, [0, 1, 0, 0]],
  ['a rule', { decidedAt: november, decidedHow: 'policy' as const }, [0, 0, 1, 0]],
  ['nobody', {}, [0, 0, 0, 1]],
  ['too late', { decidedAt: november + 9 * minute, decidedHow: 'link' as const }, [0, 0, 0, 1]],
])('decided by %s', (_, changes, [people, tokens, rules, undecided]) => {
  const event = summary({ startedAt: november + 5 * minute, ...changes })
  expect(thisMonth([event])).toMatchObject({ people, tokens, rules, undecided })
})

test('an open event that nobody has decided is not late yet', () => {
  expect(thisMonth([summary({ step: 'open' })])).toMatchObject({ undecided: 0 })
})

test('medians of the notice, and of the time until people decide', () => {
  const after = (minutes: number, decided: number) =>
    summary({
      notBeforeAt: november + minutes * minute,
      decidedAt: november + decided * minute,
      decidedHow: 'link',
    })
  const events = [after(10, 1), after(15, 3), after(60, 9)]
  expect(thisMonth(events)).toMatchObject({ noticeMs: 15 * minute, decidedMs: 3 * minute })
  expect(thisMonth([])).not.toHaveProperty('noticeMs')
})

test('the VMs that were hit most, each in its fleet', () => {
  const events = [
    summary({ vms: ['web_1', 'web_2'] }),
    summary({ vms: ['web_1'] }),
    summary({ vms: ['web_1'], fleet: 'test' }),
  ]
  expect(computeInsights(events, now).vms).toEqual([
    { fleet: 'prod', vm: 'web_1', count: 2 },
    { fleet: 'prod', vm: 'web_2', count: 1 },
    { fleet: 'test', vm: 'web_1', count: 1 },
  ])
})
