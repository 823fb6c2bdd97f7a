// `/console/insights`: charts from the summaries of the last months. They are read at most once a
// minute for all who look, as they may be thousands.
import type { Context } from 'hono'
import { type Insights, insightsOf, insightsSince } from '../../core/event/insights.ts'
import { insightsBody } from '../../pages/console/insights.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { answerPage, baseOf } from './answer.ts'
import { createKept, type Kept } from './kept.ts'
import type { Visitor } from './visitor.ts'

const keptMs = 60_000
/** More events are not counted. On Azure Tables, each 1,000 of a fleet are one call. */
const maxEvents = 4_000

interface Counted {
  insights: Insights
  isCut: boolean
}

/** The same for all visitors of the same fleets, until they are a minute old. */
export function createCharts(relay: Relay): Kept<Counted> {
  return createKept(relay, keptMs, (fleets) => count(relay, fleets))
}

async function count({ store, now: clock }: Relay, fleets: string[]): Promise<Counted> {
  const now = clock()
  const search = { fleets, since: insightsSince(now), limit: maxEvents }
  const { events, next } = await store.findEvents(search)
  return { insights: insightsOf(events, now), isCut: next !== undefined }
}

export async function showInsights(
  relay: Relay,
  charts: Kept<Counted>,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const { insights, isCut } = await charts.read(visitor.fleets)
  const body = insightsBody({
    base: baseOf(relay),
    insights,
    ...(isCut ? { cutAt: maxEvents } : {}),
  })
  return answerPage(relay, c, visitor, { title: 'Insights', tab: 'insights', body })
}
