// `/console/channels`: the health of channels and subscriptions, what failed, and sending it again. A
// visitor of some fleets sees the channels that are routed for them. Subscriptions need `manage`.
import type { Context } from 'hono'
import * as z from 'zod'
import { type Delivery, noFleet, subscriptionChannel } from '../../core/delivery/delivery.ts'
import type { Subscription } from '../../core/delivery/subscription.ts'
import { publicDelivery } from '../../core/event/public-view.ts'
import { describeSubject } from '../../core/message/phrases.ts'
import { type Access, isBound, may, seesFleet } from '../../core/rules/access.ts'
import type { Match } from '../../core/rules/match.ts'
import { dayMs } from '../../core/units.ts'
import { channelBody, channelsBody, type ShownChannel } from '../../pages/console/channels.ts'
import { utcOn } from '../../pages/times.ts'
import type { ChannelActivity } from '../../store/store.ts'
import { channelsInTrouble, lastTest } from '../../use-cases/channel-health.ts'
import { channelNamed, findRate, nameService, type Relay } from '../../use-cases/relay.ts'
import { failedIn } from '../../use-cases/replay.ts'
import {
  deliveriesTo,
  judgeHealth,
  subscriptionFor,
  subscriptionsFor,
} from '../../use-cases/subscriptions.ts'
import { tokenFor } from '../api/console-form.ts'
import { publicSubscription } from '../api/subscription-answers.ts'
import { readQuery } from '../query.ts'
import { answerMessage, answerPage, buildBase, wrongAddress } from './answer.ts'
import { seesChannel } from './now.ts'
import type { Visitor } from './visitor.ts'

const refreshSeconds = 15
const pageSize = 50
/** An endpoint that works has a message within this time. */
const promptMs = 60_000
/** The API lists all. */
const maxSubscriptions = 50

const pageQuery = z.strictObject({
  after: z.string().max(400).optional(),
  said: z.string().max(40).optional(),
  resend: z.literal('1').optional(),
})

export async function showChannels(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  const { access } = visitor
  const names = Object.keys(relay.config.channels).filter((name) =>
    seesChannel(relay, visitor, name),
  )
  const all = may(access, 'manage') ? await subscriptionsFor(relay, access) : undefined
  const subscriptions = all?.slice(0, maxSubscriptions)
  const ids = (subscriptions ?? []).map(({ id }) => subscriptionChannel(id))
  const [activity, troubles] = await Promise.all([
    activityFor(relay, access, [...names, ...ids]),
    channelsInTrouble(relay),
  ])
  const ofChannel = (name: string) => activity.find(({ channel }) => channel === name)!
  const body = channelsBody(
    {
      channels: names.map((name) => shownChannel(relay, access, ofChannel(name), troubles)),
      ...(subscriptions && {
        subscriptions: subscriptions.map((one) =>
          shownSubscription(relay, one, ofChannel(subscriptionChannel(one.id))),
        ),
      }),
      more: (all?.length ?? 0) > maxSubscriptions,
    },
    relay.now(),
  )
  return answerPage(relay, c, visitor, { title: 'Channels', tab: 'channels', body, refreshSeconds })
}

type Activity = ChannelActivity & { hidesSuccess?: true }

/** A visitor of some fleets must not see that others use the channel. */
async function activityFor(
  { store }: Relay,
  access: Access,
  channels: string[],
  since: { since?: number } = {},
): Promise<Activity[]> {
  if (!isBound(access)) return store.channelActivity(channels, since)
  const found = await store.channelActivity(channels, { fleets: access.fleets, ...since })
  return found.map(({ deliveredAt: _, ...own }) => ({ ...own, hidesSuccess: true }))
}

type Troubles = Awaited<ReturnType<typeof channelsInTrouble>>

function shownChannel(
  relay: Relay,
  access: Access,
  activity: Activity,
  troubles: Troubles,
): ShownChannel {
  const { channel: name, ...counts } = activity
  const configured = channelNamed(relay, name)!
  const { fallback } = configured
  const trouble = troubles.find(({ channel }) => channel === name)
  // without a success, nobody knows whether it works; a visitor of some fleets sees no success of others
  const worked = activity.deliveredAt !== undefined || isBound(access)
  const otherwise = worked ? 'ok' : counts.failed > 0 ? 'failing' : 'untried'
  return {
    name,
    kind: nameService(relay, configured),
    path: `${buildBase(relay)}/channels/${encodeURIComponent(name)}`,
    state: trouble?.state ?? otherwise,
    rate: describeRate(relay, name),
    ...counts,
    ...(trouble && { note: trouble.note, since: trouble.since }),
    ...(fallback === undefined ? {} : { fallback }),
  }
}

function shownSubscription(
  relay: Relay,
  { id, state, since, reason, description }: Subscription,
  { channel, ...counts }: Activity,
): ShownChannel {
  const { pendingSince = Number.POSITIVE_INFINITY } = counts
  const isFailing = state === 'active' && relay.now() - pendingSince > promptMs
  return {
    name: id,
    kind: 'subscription',
    ...(isFailing
      ? { state: 'failing', since: pendingSince, note: `since ${utcOn(pendingSince, relay.now())}` }
      : { state, since, note: reason }),
    ...(description === undefined ? {} : { label: description }),
    path: `${buildBase(relay)}/subscriptions/${id}`,
    rate: describeRate(relay, channel),
    ...counts,
  }
}

function describeRate(relay: Relay, channel: string): string {
  const { everyMs, together, atOnce } = findRate(relay, channel)
  const list = together > 1 ? `, up to ${together} messages in each` : ''
  if (everyMs === 0) return `${atOnce === 1 ? '1 request' : `${atOnce} requests`} at a time${list}`
  if (everyMs < 1_000) return `${Math.round(60_000 / everyMs)} requests a minute${list}`
  return `a request each ${everyMs / 1_000} s${list}`
}

/** What a route asks for: ` (fleet prod, resource db_*)`. Empty if it takes every event. */
function describeMatch({ time: _, ...match }: Match): string {
  const asked = Object.entries(match).filter(([, value]) => value !== undefined)
  if (asked.length === 0) return ''
  return ` (${asked.map(([key, value]) => `${key} ${[value].flat().join(' or ')}`).join(', ')})`
}

export async function showChannel(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  const read = readQuery(c, pageQuery)
  if ('refusal' in read) return wrongAddress(relay, c, visitor, read.refusal)
  const { after, said, resend } = read.query
  const name = c.req.param('name')!
  if (channelNamed(relay, name) === undefined || !seesChannel(relay, visitor, name))
    return unknown(relay, c, visitor)
  const { access } = visitor
  const own = isBound(access) ? { fleets: access.fleets } : {}
  const [[activity], troubles, failed, tested] = await Promise.all([
    activityFor(relay, access, [name]),
    channelsInTrouble(relay),
    relay.store.listFailed({ channel: name, limit: pageSize, ...own, ...(after && { after }) }),
    lastTest(relay, name),
  ])
  const shown = shownChannel(relay, access, activity!, troubles)
  const named = relay.config.routes.flatMap(({ channels, match }, i) =>
    channels.includes(name) ? [`routes[${i}]${describeMatch(match)}`] : [],
  )
  const facts: [string, string][] = [
    [
      'Routes',
      named.length > 0 ? named.join('; ') : 'none: it gets only what it is the fallback for',
    ],
    ...(shown.fallback === undefined ? [] : [['Fallback', shown.fallback] as [string, string]]),
  ]
  return show(relay, c, visitor, {
    channel: shown,
    facts,
    lists: 'failed',
    tests: true,
    ...(await describeResend(relay, visitor, resend && name)),
    ...failed,
    ...(tested && { tested: publicDelivery(tested) }),
    ...(after && { after }),
    // once the test has its result, the page says that instead
    ...(said && !(said === 'tested' && tested?.state !== 'pending') && { notice: said }),
  })
}

export async function showSubscription(
  relay: Relay,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const read = readQuery(c, pageQuery)
  if ('refusal' in read) return wrongAddress(relay, c, visitor, read.refusal)
  const { after, said, resend } = read.query
  const { access } = visitor
  const found = may(access, 'manage')
    ? await subscriptionFor(relay, access, c.req.param('id')!)
    : undefined
  if (found === undefined) return unknown(relay, c, visitor)
  const page = { limit: pageSize, brief: true as const, ...(after && { before: after }) }
  const since = relay.now() - dayMs
  const [[activity], health, list] = await Promise.all([
    activityFor(relay, access, [subscriptionChannel(found.id)], { since }),
    judgeHealth(relay, found),
    deliveriesTo(relay, found, page),
  ])
  // the facts have the reason of its state
  const { note: _, ...shown } = shownSubscription(relay, found, activity!)
  const trouble = health === undefined || health.state === 'ok' ? {} : { note: health.note }
  return show(relay, c, visitor, {
    channel: { ...shown, ...trouble },
    facts: describeChannel(found, relay.now()),
    lists: 'all',
    tests: found.state !== 'disabled',
    ...(await describeResend(relay, visitor, resend && subscriptionChannel(found.id))),
    ...list,
    ...(after && { after }),
    ...(said && { notice: said }),
  })
}

/** What a replay would send, once the visitor asks for one. */
async function describeResend(relay: Relay, { access }: Visitor, channel: string | undefined) {
  if (channel === undefined || !may(access, 'manage')) return {}
  return { resend: await failedIn(relay, access, channel) }
}

function describeChannel(one: Subscription, now: number): [name: string, value: string][] {
  const shown = publicSubscription(one, now) as Record<string, string | string[] | undefined>
  const named: [string, string][] = [
    ['Address', 'url'],
    [`Is ${one.state} because`, 'reason'],
    ['Fleets', 'fleets'],
    ['Types', 'eventTypes'],
    ['Moments', 'moments'],
    ['VMs', 'resource'],
    ['Made by', 'createdBy'],
  ]
  return named.flatMap(([name, key]): [string, string][] => {
    const value = shown[key]
    return value === undefined ? [] : [[name, [value].flat().join(', ')]]
  })
}

type Page = Omit<Parameters<typeof channelBody>[0], 'base' | 'deliveries'> & {
  deliveries: Delivery[]
}

async function show(relay: Relay, c: Context, visitor: Visitor, page: Page): Promise<Response> {
  const sends = may(visitor.access, 'manage')
  const deliveries = page.deliveries
    .filter(({ fleet }) => isShown(visitor.access, fleet))
    .map((one) => ({ ...publicDelivery(one), ...ofEvent(one) }))
  const body = channelBody(
    {
      ...page,
      base: buildBase(relay),
      deliveries,
      ...(sends ? { send: await tokenFor(relay, c, 'send') } : {}),
    },
    relay.now(),
  )
  const { name } = page.channel
  return answerPage(relay, c, visitor, { title: name, tab: 'channels', body, refreshSeconds })
}

function ofEvent({ fleet, eventId, notification: { event } }: Delivery) {
  return { fleet, eventId, subject: describeSubject(event) }
}

/** A ping or a test belongs to no fleet. */
function isShown(access: Access, fleet: string): boolean {
  return fleet === noFleet || seesFleet(access, fleet)
}

function unknown(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  const text = 'There is no such channel or subscription.'
  return answerMessage(relay, c, visitor, { status: 404, title: 'Unknown channel', text })
}
