// `POST /v1/drills`: starts a drill.

import * as z from 'zod'
import { drillEndsBy } from '../../core/event/drill.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { publicView } from '../../core/event/public-view.ts'
import { toView } from '../../core/event/view.ts'
import { time } from '../../schema/checks.ts'
import { publicEventSchema } from '../../schema/event.ts'
import { drillSchema, startDrill } from '../../use-cases/run-drill.ts'
import { fleetUnknown, problem } from '../problem.ts'
import { route } from '../route.ts'
import { fleetsFor } from './access.ts'

export const drillRoute = route({
  method: 'post',
  path: '/v1/drills',
  name: 'startDrill',
  summary: 'Starts a drill: an event of the relay’s own, with your rules and real channels.',
  about:
    '`changeAfterSeconds` must be less than `noticeSeconds`. A fleet has at most three open drills.',
  group: 'Drills',
  caller: 'manage',
  rate: 'drills',
  json: {
    schema: drillSchema,
    maxBytes: 65_536,
    code: 'drill_malformed',
    example: 'at least {"fleet": "prod", "type": "Reboot"}',
  },
  answers: {
    201: {
      about: 'The drill, as an event.',
      schema: z.object({
        ...publicEventSchema.shape,
        endsBy: time.describe('While a relay runs, the drill is not open later than this.'),
      }),
    },
  },
  problems: [404, 429, 503],
  handler:
    ({ relay }) =>
    async (c, { body: wish }) => {
      const { fleet } = wish
      const fleets = fleetsFor(relay, c)
      if (!fleets.includes(fleet)) return fleetUnknown(c, fleet, fleets)
      const begun = await startDrill(relay, wish, crypto.randomUUID())
      if (begun.outcome === 'conflict') {
        return problem(c, 503, 'busy', 'the id of the new drill is in use; send the request again')
      }
      if (begun.outcome === 'too_many') {
        const waitMs = Math.min(...begun.open.map(findEnd)) - relay.now()
        c.header('retry-after', String(Math.max(1, Math.ceil(waitMs / 1_000))))
        const detail =
          `fleet "${fleet}" has ${begun.open.length} open drills, which is the limit; ` +
          `wait until one of them ends: ${begun.open.map(({ eventId }) => eventId).join(', ')}`
        return problem(c, 429, 'too_many_drills', detail)
      }
      const { record } = begun
      const endsBy = new Date(findEnd(record)).toISOString()
      return c.json({ ...publicView(toView(record)), endsBy }, 201)
    },
})

function findEnd(record: EventRecord): number {
  return drillEndsBy(record, record.drill!)
}
