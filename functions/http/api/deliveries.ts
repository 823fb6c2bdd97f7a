// `POST /v1/deliveries/replay`: sends messages again that were refused or given up.

import * as z from 'zod'
import { channelIn, readStoredId } from '../../core/delivery/delivery.ts'
import { moments } from '../../core/event/moment.ts'
import { time } from '../../schema/checks.ts'
import { count } from '../../schema/event.ts'
import { replayFor } from '../../use-cases/replay.ts'
import { problem } from '../problem.ts'
import { route } from '../route.ts'
import { readAccess } from './access.ts'

export const deliveryAnswer = z
  .object({
    id: z.string(),
    channel: z.string(),
    moment: z.enum([...moments, 'alert']),
    epoch: z.int(),
    state: z
      .enum(['pending', 'delivered', 'refused', 'superseded', 'given_up'])
      .describe(
        '`refused`: the channel rejected it. `superseded`: a later message says more. `given_up`: after 24 h.',
      ),
    attempts: count,
    note: z.string().describe('The result of the last attempt.'),
    insteadOf: z.string().exactOptional().describe('The channel that a fallback message replaces.'),
    plannedAt: time,
    nextAttemptAt: time.exactOptional(),
    settledAt: time.exactOptional(),
  })
  .meta({ id: 'Delivery' })

export const replayAnswer = z.object({ replayed: count })

const replayRule = 'send {"id": "…"}, or {"since": "2026-11-21T00:00:00Z"} and optionally "channel"'

export const replayRoute = route({
  method: 'post',
  path: '/v1/deliveries/replay',
  name: 'replayDeliveries',
  summary: 'Sends messages again that were refused or given up: one, or all since a time.',
  about: 'At most 1,000 at once.',
  group: 'Channels',
  caller: 'manage',
  json: {
    schema: z.union(
      [
        z.strictObject({ id: z.string().min(1) }),
        z.strictObject({
          since: z.iso.datetime({ offset: true }),
          channel: z.string().exactOptional(),
        }),
      ],
      replayRule,
    ),
    maxBytes: 4_096,
    code: 'replay_malformed',
    example: replayRule.replace('send ', ''),
  },
  answers: { 200: { about: 'How many are sent again.', schema: replayAnswer } },
  handler:
    ({ relay }) =>
    async (c, { body }) => {
      const channel = 'id' in body ? channelIn(body.id) : body.channel
      if (channel !== undefined && readStoredId(channel) !== undefined) {
        const detail = 'this is a subscription; use POST /v1/subscriptions/:id/replay'
        return problem(c, 400, 'replay_malformed', detail)
      }
      const which = 'id' in body ? body : { ...body, since: Date.parse(body.since) }
      return c.json({ replayed: await replayFor(relay, readAccess(c), which) })
    },
})
