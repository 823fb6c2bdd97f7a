// What requests about subscriptions may contain, and how answers show a subscription and its
// deliveries.
import type { Context } from 'hono'
import * as z from 'zod'
import { eventTypes } from '../../../shared/document.ts'
import { describeIssues } from '../../../shared/errors.ts'
import { defined, iso, parseJson } from '../../../shared/json.ts'
import { looksSecret } from '../../../shared/presentable.ts'
import { type Delivery, isPing } from '../../core/delivery/delivery.ts'
import type { ChannelHealth } from '../../core/delivery/health.ts'
import type { MomentFilter } from '../../core/delivery/moment-log.ts'
import {
  consents,
  messageIdOf,
  oldSecretsUntil,
  type Subscription,
} from '../../core/delivery/subscription.ts'
import { type Moment, moments } from '../../core/event/moment.ts'
import { maxListed, object, oneOf, remedyOf, textBy, webUrl } from '../../schema/checks.ts'
import type { SubscriptionWish } from '../../use-cases/subscriptions.ts'
import { problem } from '../problem.ts'

const maxUrlLength = 2_000
const maxDescriptionLength = 100
const maxGlobLength = 300

const descriptionRule = `write 1 to ${maxDescriptionLength} characters; it must not look like a key or a token`
const description = textBy(descriptionRule).refine(
  (text) => /^[^\p{Cc}]+$/u.test(text) && text.length <= maxDescriptionLength && !looksSecret(text),
  { error: descriptionRule },
)

const url = webUrl.refine((text) => text.length <= maxUrlLength, {
  error: `write at most ${maxUrlLength} characters`,
})

const filters = {
  fleets: z.array(z.string()).min(1).max(maxListed),
  eventTypes: z.array(oneOf(eventTypes)).min(1).max(eventTypes.length),
  moments: z.array(oneOf(moments)).min(1).max(moments.length),
  resource: z.string().min(1).max(maxGlobLength),
}

export const wishSchema = object({
  url,
  description: description.optional(),
  fleets: filters.fleets.optional(),
  eventTypes: filters.eventTypes.optional(),
  moments: filters.moments.optional(),
  resource: filters.resource.optional(),
  consent: oneOf(consents).optional(),
})

/** `null` removes a condition. */
export const changeSchema = object({
  url: url.optional(),
  description: description.nullish(),
  fleets: filters.fleets.nullish(),
  eventTypes: filters.eventTypes.nullish(),
  moments: filters.moments.nullish(),
  resource: filters.resource.nullish(),
}).refine((change) => Object.keys(change).length > 0, { error: 'write at least one key to change' })

export async function wishIn(c: Context): Promise<SubscriptionWish | Response> {
  const wish = await bodyOf(c, wishSchema, 'send at least {"url": "https://…"}')
  if (wish instanceof Response) return wish
  const { url, description, consent = 'ping', ...filter } = wish
  return { url, ...(description === undefined ? {} : { description }), filter, consent }
}

export async function changeIn(
  c: Context,
): Promise<Partial<Pick<SubscriptionWish, 'url' | 'description' | 'filter'>> | Response> {
  const change = await bodyOf(c, changeSchema, 'send at least one key, such as {"moments": null}')
  if (change instanceof Response) return change
  const { url, description, ...conditions } = change
  const filter = Object.fromEntries(
    Object.entries(conditions).map(([key, value]) => [key, value ?? undefined]),
  ) as MomentFilter
  return {
    ...(url === undefined ? {} : { url }),
    ...('description' in change ? { description: description ?? undefined } : {}),
    filter,
  }
}

export const testSchema = object({ moment: oneOf(moments).optional() })

/** The moment of a test event. The body may be left out. */
export async function testIn(c: Context): Promise<{ moment: Moment } | Response> {
  if ((await c.req.text()) === '') return { moment: 'scheduled' }
  const wish = await bodyOf(c, testSchema, 'send {"moment": "started"}, or no body')
  return wish instanceof Response ? wish : { moment: wish.moment ?? 'scheduled' }
}

async function bodyOf<Schema extends z.ZodType>(
  c: Context,
  schema: Schema,
  remedy: string,
): Promise<z.output<Schema> | Response> {
  const json = parseJson(await c.req.text())
  const body = schema.safeParse(json, { error: remedyOf })
  if (body.success) return body.data
  const detail =
    json === undefined
      ? `the body is not JSON; ${remedy}`
      : describeIssues(body.error, json).join('\n')
  return problem(c, 400, 'subscription_malformed', detail)
}

export const replayToSchema = z.union([
  z.strictObject({ id: z.string().min(1) }),
  z.strictObject({ since: z.iso.datetime({ offset: true }) }),
])

export async function replayIn(c: Context): Promise<{ id: string } | { since: number } | Response> {
  const wish = replayToSchema.safeParse(parseJson(await c.req.text()))
  if (!wish.success) {
    const detail = 'the body is not a replay; send {"id": "…"} or {"since": "2026-11-21T00:00:00Z"}'
    return problem(c, 400, 'replay_malformed', detail)
  }
  return 'id' in wish.data ? wish.data : { since: Date.parse(wish.data.since) }
}

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

/** As `GET /v1/channels` shows that of a configured channel. */
export function publicHealth(health: ChannelHealth | undefined): object {
  if (health === undefined || health.state === 'ok') return { state: 'ok' }
  return { state: health.state, since: iso(health.since), note: health.note }
}

/** Some addresses are secrets, as everybody who knows one can post to it. */
function shownUrl(url: string): string {
  const { origin, search } = new URL(url)
  return search !== '' || looksSecret(url) ? `${origin}/…` : url
}

export function publicDeliveryTo(delivery: Delivery) {
  const { id, telling, state, attempts, note, plannedAt, nextAt, answered } = delivery
  const tests = isPing(telling) ? telling.about.tests : undefined
  const isBare = isPing(telling) && tests === undefined
  const moment = isBare ? 'ping' : (tests ?? telling.moment)
  const { status, text, tookMs, at } = answered ?? {}
  return defined({
    id,
    messageId: messageIdOf(delivery),
    moment,
    ...(tests && { test: true }),
    ...(isBare ? {} : { fleet: telling.event.fleet, eventId: delivery.eventId }),
    state,
    attempts,
    note,
    plannedAt: iso(plannedAt),
    ...(state === 'pending' ? { nextAttemptAt: iso(nextAt) } : { settledAt: iso(nextAt) }),
    answer: at === undefined ? undefined : defined({ at: iso(at), tookMs, status, text }),
  })
}
