// What all routes for subscriptions share: how answers show a subscription and the deliveries to it.
import type { Context } from 'hono'
import * as z from 'zod'
import { defined, iso } from '../../../shared/json.ts'
import { looksSecret } from '../../../shared/presentable.ts'
import { buildMessageId, type Delivery, isPing } from '../../core/delivery/delivery.ts'
import type { ChannelHealth } from '../../core/delivery/health.ts'
import { moments } from '../../core/event/moment.ts'
import { type Access, readsAnswers } from '../../core/rules/access.ts'
import { named, problem } from '../../http/problem.ts'
import { time, wholeNumber } from '../../schema/checks.ts'
import { count } from '../../schema/event.ts'
import { consents, oldSecretsUntil, type Subscription } from './rule.ts'

export const maxSubscriptionBytes = 16_384
const maxPage = 200
export const usualEntries = 50

const cursorRule = 'write the cursor of the page before'
export const subscriptionPage = z.strictObject({
  limit: wholeNumber(1, maxPage)
    .optional()
    .describe(`Entries in the answer, ${usualEntries} if absent.`),
  cursor: z
    .string()
    .min(1, cursorRule)
    .max(2_000, cursorRule)
    .optional()
    .describe('The `cursor` of the page before.'),
})

/** What the routes for one subscription share. */
export const subscriptionOf = {
  path: '/v1/subscriptions/{id}',
  group: 'Subscriptions',
  caller: 'manage',
  params: { id: 'Its id from the list.' },
  problems: [404],
} as const

/** The subscription may exist, but the sender must not know. */
export function answerUnknown(c: Context, id: string): Response {
  const detail = `there is no subscription ${named(id)}; GET /v1/subscriptions lists all`
  return problem(c, 404, 'subscription_unknown', detail)
}

const shown = z.object({
  id: z.string(),
  state: z.enum(['pending', 'active', 'paused', 'disabled']),
  since: time.describe('When this state began.'),
  reason: z.string().describe('Why the subscription is in this state.'),
  url: z.string().describe('Without its path, if that may be a secret.'),
  description: z.string().exactOptional(),
  fleets: z.array(z.string()).exactOptional(),
  eventTypes: z.array(z.string()).exactOptional(),
  moments: z.array(z.enum(moments)).exactOptional(),
  resource: z.string().exactOptional(),
  consent: z.enum(consents),
  boundTo: z.array(z.string()).exactOptional().describe('The fleets of the token that made it.'),
  oldSecretUntil: time.exactOptional().describe('Until then, the old secret also signs.'),
  createdAt: time,
  createdBy: z.string(),
})
export const subscriptionAnswer = shown.meta({ id: 'Subscription' })
export const wholeAnswer = shown.extend({
  health: z.object({
    state: z.enum(['ok', 'refusing', 'unreachable']),
    since: time.exactOptional(),
    note: z.string().exactOptional(),
  }),
})
export const answerWithSecret = shown.extend({
  secret: z.string().exactOptional().describe('Signs what is sent. No later answer contains it.'),
})

export function publicSubscription(one: Subscription, now: number) {
  const { id, state, since, reason, description, filter, bound, consent } = one
  const { fleets, eventTypes, moments, resource } = filter
  const until = oldSecretsUntil(one, now)
  return defined({
    id,
    state,
    since: iso(since),
    reason,
    url: shownUrl(one.url),
    description,
    fleets,
    eventTypes,
    moments,
    resource,
    consent,
    boundTo: bound,
    oldSecretUntil: until === undefined ? undefined : iso(until),
    createdAt: iso(one.createdAt),
    createdBy: one.createdBy,
  })
}

/** Shows a subscription's health as `GET /v1/channels` shows that of a configured channel. */
export function publicHealth(health: ChannelHealth | undefined): object {
  if (health === undefined || health.state === 'ok') return { state: 'ok' }
  return { state: health.state, since: iso(health.since), note: health.note }
}

/** Some addresses are secrets, as everybody who knows one can post to it. */
function shownUrl(url: string): string {
  const { origin, search } = new URL(url)
  return search !== '' || looksSecret(url) ? `${origin}/…` : url
}

export const deliveryToAnswer = z
  .object({
    id: z.string(),
    messageId: z.string().describe('`webhook-id`, and the `id` of the CloudEvent.'),
    moment: z.enum([...moments, 'ping']),
    test: z.literal(true).exactOptional().describe('Only for a test event, which is made up.'),
    fleet: z.string().exactOptional(),
    eventId: z.string().exactOptional(),
    state: z.enum(['pending', 'delivered', 'refused', 'superseded', 'given_up']),
    attempts: count,
    note: z.string(),
    plannedAt: time,
    nextAttemptAt: time.exactOptional(),
    settledAt: time.exactOptional(),
    answer: z
      .object({
        at: time,
        tookMs: z.number(),
        status: z.int().exactOptional().describe('Absent: no answer came.'),
        text: z.string().exactOptional().describe('The first 4 KB. Only for the admin key.'),
      })
      .exactOptional()
      .describe('The answer to the last attempt.'),
  })
  .meta({ id: 'DeliveryToSubscription' })

export function publicDeliveryTo(delivery: Delivery, access: Access) {
  const { id, notification, state, attempts, note, plannedAt, nextAt, answered } = delivery
  const tests = isPing(notification) ? notification.about.tests : undefined
  const isBare = isPing(notification) && tests === undefined
  const moment = isBare ? 'ping' : (tests ?? notification.moment)
  const { status, text, tookMs, at } = answered ?? {}
  return defined({
    id,
    messageId: buildMessageId(delivery),
    moment,
    ...(tests && { test: true }),
    ...(isBare ? {} : { fleet: notification.event.fleet, eventId: delivery.eventId }),
    state,
    attempts,
    note,
    plannedAt: iso(plannedAt),
    ...(state === 'pending' ? { nextAttemptAt: iso(nextAt) } : { settledAt: iso(nextAt) }),
    answer:
      at === undefined
        ? undefined
        : defined({
            ...{ at: iso(at), tookMs, status },
            text: readsAnswers(access) ? text : undefined,
          }),
  })
}
