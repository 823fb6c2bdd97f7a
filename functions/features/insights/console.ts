// `/console/insights`: charts from the summaries of the last months.
import type { Context } from 'hono'
import { answerPage, buildBase } from '../../http/console/answer.ts'
import type { ConsolePart } from '../../http/console/part.ts'
import type { Visitor } from '../../http/console/visitor.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { createShortCache, type ShortCache } from '../../use-cases/short-cache.ts'
import { insightsBody } from './page.ts'
import { computeInsights, type Insights, insightsSince } from './rule.ts'

/** Charts may count thousands of events. */
const keptMs = 60_000
/** More events are not counted. On Azure Tables, each 1,000 of a fleet are one call. */
const maxEvents = 4_000

interface Counted {
  insights: Insights
  isCut: boolean
}

export const insightsConsole: ConsolePart = (relay) => {
  const charts = createCharts(relay)
  return {
    gets: { '/insights': (c, visitor) => showInsights(relay, charts, c, visitor) },
    posts: {},
  }
}

/** All visitors of the same fleets get the same counts, until these are a minute old. */
function createCharts(relay: Relay): ShortCache<Counted> {
  return createShortCache(relay, keptMs, (fleets) => count(relay, fleets))
}

async function count({ store, now: clock }: Relay, fleets: string[]): Promise<Counted> {
  const now = clock()
  const search = { fleets, since: insightsSince(now), limit: maxEvents }
  const { events, next } = await store.findEvents(search)
  return { insights: computeInsights(events, now), isCut: next !== undefined }
}

async function showInsights(
  relay: Relay,
  charts: ShortCache<Counted>,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const { insights, isCut } = await charts.read(visitor.fleets)
  const body = insightsBody({
    base: buildBase(relay),
    insights,
    ...(isCut ? { cutAt: maxEvents } : {}),
  })
  return answerPage(relay, c, visitor, { title: 'Insights', tab: 'insights', body })
}
