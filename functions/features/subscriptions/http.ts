// `/v1/subscriptions`: webhooks that other systems make for themselves. A token that is bound to
// fleets sees and makes only subscriptions that are bound to these fleets.
import type { Context } from 'hono'
import * as z from 'zod'
import { documentedTypes } from '../../../shared/document.ts'
import { looksSecret } from '../../../shared/presentable.ts'
import type { MomentFilter } from '../../core/delivery/moment-log.ts'
import { moments } from '../../core/event/moment.ts'
import { fleetsFor, readAccess } from '../../http/api/access.ts'
import { fleetUnknown, problem } from '../../http/problem.ts'
import { type Route, route } from '../../http/route.ts'
import { listChoices, maxListed, object, textBy, webUrl } from '../../schema/checks.ts'
import type { Relay } from '../../use-cases/relay.ts'
import {
  answerUnknown,
  answerWithSecret,
  maxSubscriptionBytes,
  publicHealth,
  publicSubscription,
  subscriptionAnswer,
  subscriptionOf,
  subscriptionPage,
  usualEntries,
  wholeAnswer,
} from './http-answers.ts'
import { consents, type Subscription } from './rule.ts'
import {
  changeWish,
  createSubscription,
  deleteSubscription,
  readHealthOf,
  subscriptionFor,
  subscriptionsFor,
} from './use.ts'

declare module '../../http/route.ts' {
  interface FeatureGroups {
    Subscriptions: string
  }
}

export const subscriptionGroup = {
  Subscriptions: 'Webhooks that other systems make for themselves.',
}

const maxUrlLength = 2_000
const maxDescriptionLength = 100
const maxGlobLength = 300
const cursorForm = /^\d{1,16}-[0-9a-f]{16}$/
const keyForm = /^[\x21-\x7e]{1,255}$/

const url = webUrl.refine((text) => text.length <= maxUrlLength, {
  error: `write at most ${maxUrlLength} characters`,
})
const descriptionRule = `write 1 to ${maxDescriptionLength} characters; it must not look like a key or a token`
const description = textBy(descriptionRule).refine(
  (text) => /^[^\p{Cc}]+$/u.test(text) && text.length <= maxDescriptionLength && !looksSecret(text),
  { error: descriptionRule },
)
const filters = object({
  fleets: z.array(z.string()).min(1).max(maxListed),
  eventTypes: z.array(listChoices(documentedTypes)).min(1).max(documentedTypes.length),
  moments: z.array(listChoices(moments)).min(1).max(moments.length),
  resource: z.string().min(1).max(maxGlobLength),
})

const json = { maxBytes: maxSubscriptionBytes, code: 'subscription_malformed' }
const list = { path: '/v1/subscriptions', group: 'Subscriptions', caller: 'manage' } as const
const listSubscriptions = route({
  ...list,
  method: 'get',
  name: 'listSubscriptions',
  summary: 'Lists subscriptions, the newest first.',
  query: subscriptionPage,
  answers: {
    200: {
      about: 'One page.',
      schema: z.object({
        subscriptions: z.array(subscriptionAnswer),
        more: z.boolean(),
        cursor: z.string().exactOptional(),
      }),
    },
  },
  handler:
    ({ relay }) =>
    async (c, { query: { limit = usualEntries, cursor } }) => {
      if (cursor !== undefined && !cursorForm.test(cursor)) {
        const detail = 'cursor is not one of this list; leave it out to begin with the first page'
        return problem(c, 400, 'query_invalid', detail)
      }
      const all = await subscriptionsFor(relay, readAccess(c))
      const rest = cursor === undefined ? all : all.filter((each) => isAfter(each, cursor))
      const page = rest.slice(0, limit)
      const more = rest.length > limit
      const last = page.at(-1)
      return c.json({
        subscriptions: page.map((each) => publicSubscription(each, relay.now())),
        more,
        ...(more && last && { cursor: `${last.createdAt}-${last.id}` }),
      })
    },
})

/**
 * Whether a subscription comes after the cursor, in the order of `subscriptionsFor`. The subscription of
 * the cursor may be deleted.
 */
function isAfter({ createdAt, id }: Subscription, cursor: string): boolean {
  const [at = '', last = ''] = cursor.split('-')
  return createdAt < Number(at) || (createdAt === Number(at) && id > last)
}

const postSubscription = route({
  ...list,
  method: 'post',
  name: 'createSubscription',
  rate: 'endpoints',
  summary: 'Makes a subscription. It is active once its endpoint answers a ping.',
  about: 'With the header `Idempotency-Key`, a repeated request makes no second one.',
  json: {
    ...json,
    schema: object({
      url,
      description: description.optional(),
      ...filters.partial().shape,
      consent: listChoices(consents).optional(),
    }),
    example: 'at least {"url": "https://…"}',
  },
  answers: { 201: { about: 'The subscription, with its secret.', schema: answerWithSecret } },
  problems: [409, 422],
  handler:
    ({ relay }) =>
    async (c, { body: { url, description, consent = 'ping', ...filter } }) => {
      const key = c.req.header('idempotency-key')
      if (key !== undefined && !keyForm.test(key)) {
        const detail = 'Idempotency-Key must have 1 to 255 visible ASCII characters'
        return problem(c, 400, 'idempotency_key_malformed', detail)
      }
      const refused = unknownFleet(relay, c, filter.fleets)
      if (refused !== undefined) return refused
      const wish = { url, ...(description !== undefined && { description }), filter, consent }
      const created = await createSubscription(relay, readAccess(c), wish, key)
      switch (created.outcome) {
        case 'created': {
          const { subscription, secret } = created
          const shown = publicSubscription(subscription, relay.now())
          return c.json({ ...shown, ...(secret === undefined ? {} : { secret }) }, 201)
        }
        case 'address_refused':
          return addressRefused(c, created.why)
        case 'key_reused': {
          const detail = 'another request with this Idempotency-Key had another body; use a new key'
          return problem(c, 422, 'idempotency_key_reused', detail)
        }
        case 'no_room': {
          const detail = `there are ${created.most} subscriptions, which is the limit; delete those that no system uses`
          return problem(c, 409, 'too_many_subscriptions', detail)
        }
      }
    },
})

function unknownFleet(relay: Relay, c: Context, fleets: string[] | undefined) {
  const seen = fleetsFor(relay, c)
  const unknown = fleets?.find((name) => !seen.includes(name))
  return unknown === undefined ? undefined : fleetUnknown(c, unknown, seen, 422)
}

function addressRefused(c: Context, why: string): Response {
  return problem(c, 422, 'address_refused', `url: ${why}`)
}

const getSubscription = route({
  ...subscriptionOf,
  method: 'get',
  name: 'getSubscription',
  summary: 'Reads a subscription and the health of its endpoint.',
  answers: { 200: { about: 'The subscription.', schema: wholeAnswer } },
  handler:
    ({ relay }) =>
    async (c, { params: { id } }) => {
      const found = await subscriptionFor(relay, readAccess(c), id)
      if (found === undefined) return answerUnknown(c, id)
      const health = publicHealth(await readHealthOf(relay, found))
      return c.json({ ...publicSubscription(found, relay.now()), health })
    },
})

const patchSubscription = route({
  ...subscriptionOf,
  method: 'patch',
  name: 'changeSubscription',
  rate: 'endpoints',
  summary: 'Changes a subscription. `null` removes a condition. A new address must consent.',
  json: {
    ...json,
    schema: object({
      url: url.optional(),
      description: description.nullish(),
      fleets: filters.shape.fleets.nullish(),
      eventTypes: filters.shape.eventTypes.nullish(),
      moments: filters.shape.moments.nullish(),
      resource: filters.shape.resource.nullish(),
    }).refine((change) => Object.keys(change).length > 0, {
      error: 'write at least one key to change',
    }),
    example: 'at least one key, such as {"moments": null}',
  },
  answers: { 200: { about: 'The subscription.', schema: subscriptionAnswer } },
  problems: [404, 422],
  handler:
    ({ relay }) =>
    async (c, { params: { id }, body }) => {
      const { url, description, ...conditions } = body
      const refused = unknownFleet(relay, c, conditions.fleets ?? undefined)
      if (refused !== undefined) return refused
      const filter = Object.fromEntries(
        Object.entries(conditions).map(([key, value]) => [key, value ?? undefined]),
      ) as MomentFilter
      const done = await changeWish(relay, readAccess(c), id, {
        ...(url !== undefined && { url }),
        ...('description' in body && { description: description ?? undefined }),
        filter,
      })
      if (done === undefined) return answerUnknown(c, id)
      if ('outcome' in done) return addressRefused(c, done.why)
      return c.json(publicSubscription(done, relay.now()))
    },
})

const removeSubscription = route({
  ...subscriptionOf,
  method: 'delete',
  name: 'deleteSubscription',
  summary: 'Deletes a subscription. What waits for it is not sent.',
  answers: { 204: { about: 'It is deleted.' } },
  handler:
    ({ relay }) =>
    async (c, { params: { id } }) => {
      const outcome = await deleteSubscription(relay, readAccess(c), id)
      return outcome === 'unknown' ? answerUnknown(c, id) : c.body(null, 204)
    },
})

export const subscriptionRoutes: Route[] = [
  listSubscriptions,
  postSubscription,
  getSubscription,
  patchSubscription,
  removeSubscription,
]
