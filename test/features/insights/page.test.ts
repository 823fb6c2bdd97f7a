// The sentence above the charts.
import { expect, test } from 'vitest'
import { insightsBody } from '../../../functions/features/insights/page.ts'
import type { Insights } from '../../../functions/features/insights/rule.ts'

const month = (name: string, undecided: number, people = 1) => ({
  ...{ month: name, types: [['Reboot', undecided + people]] as [string, number][] },
  ...{ people, tokens: 0, rules: 0, undecided },
})
const said = (months: object[]) =>
  String(
    insightsBody({
      base: '/console',
      insights: { months, types: ['Reboot'], vms: [] } as unknown as Insights,
    }),
  )

test('is about the newest month that has events', () => {
  const months = [
    { ...month('2026-11', 0, 0), types: [] },
    month('2026-10', 3),
    month('2026-09', 9),
  ]
  expect(said(months)).toContain('In Oct 2026, 3 of 4 events started or ended undecided.')
  expect(said([month('2026-11', 0)])).toContain('no event started undecided')
})

test('each month leads to its events', () => {
  expect(said([month('2026-02', 1)])).toContain(
    '<a href="/console/events?since=2026-02-01&amp;until=2026-02-28&amp;step=all">Feb 2026</a>',
  )
})
