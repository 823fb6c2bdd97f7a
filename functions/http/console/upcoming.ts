// `/console/upcoming`: the open events on a line of time.
import type { Context } from 'hono'
import * as z from 'zod'
import { lanesOf } from '../../core/event/upcoming.ts'
import { reaches, reachFor, upcomingBody } from '../../pages/console/upcoming.ts'
import { oneOf } from '../../schema/checks.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { readQuery } from '../query.ts'
import { answerPage, baseOf } from './answer.ts'
import { wrongAddress } from './history.ts'
import type { Snapshots } from './snapshot.ts'
import type { Visitor } from './visitor.ts'

const refreshSeconds = 15

const upcomingQuery = z.strictObject({ hours: oneOf(['1', '6', '24', '72', '168']).optional() })

export async function showUpcoming(
  relay: Relay,
  snapshots: Snapshots,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const read = readQuery(c, upcomingQuery)
  if ('refusal' in read) return wrongAddress(relay, c, visitor, read.refusal)
  const { records, deliveries, more } = await snapshots.read(visitor.fleets)
  const now = relay.now()
  const lanes = lanesOf(records, deliveries.flat(), now)
  const asked = reaches.find((hours) => String(hours) === read.query.hours)
  const view = { base: baseOf(relay), lanes, reach: asked ?? reachFor(lanes, now), more }
  const body = upcomingBody(view, now)
  return answerPage(relay, c, visitor, { title: 'Upcoming', tab: 'upcoming', body, refreshSeconds })
}
