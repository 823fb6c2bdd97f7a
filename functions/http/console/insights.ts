// `/console/insights`: charts from the summaries of the last months. They are read at most once a
// minute for all who look, as they may be thousands.
import type { Context } from 'hono'
import { type Insights, insightsOf, insightsSince } from '../../core/event/insights.ts'
import { insightsBody } from '../../pages/console/insights.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { answerPage, baseOf } from './answer.ts'
import type { Visitor } from './visitor.ts'

const keptMs = 60_000
/** Sets of fleets whose charts are kept. */
const maxKept = 100
/** More events are not counted. On Azure Tables, each 1,000 of a fleet are one call. */
const maxEvents = 4_000

interface Counted {
  insights: Insights
  isCut: boolean
}

/** The same for all visitors of the same fleets, until they are a minute old. */
type Charts = (fleets: string[]) => Promise<Counted>

export function createCharts(relay: Relay): Charts {
  const kept = new Map<string, { at: number; counted: Promise<Counted> }>()
  return (fleets) => {
    const name = JSON.stringify(fleets)
    const known = kept.get(name)
    const now = relay.now()
    if (known !== undefined && now >= known.at && now - known.at < keptMs) return known.counted
    const counted = count(relay, fleets)
    kept.delete(name)
    kept.set(name, { at: now, counted })
    const oldest = kept.keys().next().value
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest)
    counted.catch(() => kept.delete(name))
    return counted
  }
}

async function count({ store, now: clock }: Relay, fleets: string[]): Promise<Counted> {
  const now = clock()
  const search = { fleets, since: insightsSince(now), limit: maxEvents }
  const { events, next } = await store.findEvents(search)
  return { insights: insightsOf(events, now), isCut: next !== undefined }
}

export async function showInsights(
  relay: Relay,
  charts: Charts,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const { insights, isCut } = await charts(visitor.fleets)
  const body = insightsBody({
    ...{ base: baseOf(relay), insights },
    ...(isCut ? { cutAt: maxEvents } : {}),
  })
  return answerPage(relay, c, visitor, { title: 'Insights', tab: 'insights', body })
}
