// What the last months had in common, from summaries of events: how many of each type, how much notice
// Azure gave, how fast people decided, and which VMs were hit most. Pure. Drills and advice do not count.
import { isAdvice } from '../../../shared/document.ts'
import type { EventSummary } from '../../core/event/summary.ts'

/** The page's place among the tabs of the console. */
export const insightsTab = { insights: { path: '/insights', label: 'Insights' } }

export interface Month {
  /** `2026-11` */
  month: string
  /** Events by type, the most frequent type of all months first. */
  types: [type: string, count: number][]
  people: number
  /** Events that other systems decided, by a token of the API. */
  tokens: number
  rules: number
  /** Events that ran or ended without a decision. */
  undecided: number
  /** Absent if there is no such event. */
  noticeMs?: number
  /** Time from the first sight to the decision of a person. */
  decidedMs?: number
}

export interface Insights {
  months: Month[]
  /** All types, the most frequent first. */
  types: string[]
  vms: { fleet: string; vm: string; count: number }[]
}

const shownMonths = 6
const shownTypes = 5
const shownVms = 10
const otherTypes = 'other'

export function computeInsights(all: readonly EventSummary[], now: number): Insights {
  const months = monthsUntil(now)
  const counts = (one: EventSummary) => !one.drill && !isAdvice(one)
  const events = all.filter((one) => counts(one) && months.includes(findMonth(one.firstSeenAt)))
  const types = findMost(events.map(({ eventType }) => eventType)).map(([type]) => type)
  const named = types.slice(0, shownTypes)
  const shown = types.length > named.length ? [...named, otherTypes] : named
  const byMonth = Map.groupBy(events, ({ firstSeenAt }) => findMonth(firstSeenAt))
  const hits = findMost(
    events.flatMap(({ fleet, vms }) => vms.map((vm) => JSON.stringify([fleet, vm]))),
  )
  return {
    months: months.map((month) => statistics(month, byMonth.get(month) ?? [], shown)),
    types: shown,
    vms: hits.slice(0, shownVms).map(([name, count]) => {
      const [fleet, vm] = JSON.parse(name) as [string, string]
      return { fleet, vm, count }
    }),
  }
}

/** The beginning of the first month, epoch ms. */
export function insightsSince(now: number): number {
  return Date.parse(`${monthsUntil(now).at(-1)}-01T00:00:00Z`)
}

function statistics(month: string, events: EventSummary[], types: string[]): Month {
  const chooseType = ({ eventType }: EventSummary) =>
    types.includes(eventType) ? eventType : otherTypes
  const counts = types.map((type): [string, number] => [
    type,
    events.filter((event) => chooseType(event) === type).length,
  ])
  const inTime = events.filter(wasDecidedInTime)
  const rules = inTime.filter(({ decidedHow }) => decidedHow === 'policy')
  const tokens = inTime.filter(({ decidedHow }) => decidedHow === 'token')
  const people = inTime.filter((one) => !rules.includes(one) && !tokens.includes(one))
  const over = events.filter((one) => one.startedAt !== undefined || one.endedAt !== undefined)
  const noticeMs = median(events.flatMap(measureNotice))
  const decidedMs = median(people.map((one) => one.decidedAt! - one.firstSeenAt))
  return {
    month,
    types: counts,
    people: people.length,
    tokens: tokens.length,
    rules: rules.length,
    undecided: over.filter((one) => !wasDecidedInTime(one)).length,
    ...(noticeMs === undefined ? {} : { noticeMs }),
    ...(decidedMs === undefined ? {} : { decidedMs }),
  }
}

function wasDecidedInTime({ decidedAt, startedAt = Number.POSITIVE_INFINITY }: EventSummary) {
  return decidedAt !== undefined && decidedAt <= startedAt
}

/** Time from the first sight to when Azure would start the event. No notice is 0. */
function measureNotice({ firstSeenAt, notBeforeAt, startedAt }: EventSummary): number[] {
  const due = notBeforeAt ?? startedAt
  return due === undefined ? [] : [Math.max(0, due - firstSeenAt)]
}

function median(values: number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)]
}

/** The most frequent first. */
function findMost(values: string[]): [value: string, count: number][] {
  const groups = [...Map.groupBy(values, (value) => value)]
  return groups
    .map(([value, all]): [string, number] => [value, all.length])
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}

/** The newest first. */
function monthsUntil(now: number): string[] {
  const date = new Date(now)
  return Array.from({ length: shownMonths }, (_, back) =>
    findMonth(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back, 1)),
  )
}

function findMonth(at: number): string {
  return new Date(at).toISOString().slice(0, 7)
}
