// `/console/channels`: the health of channels, what failed, and sending it again. A visitor of some fleets sees the
// channels that are routed for them.
import type { Context } from 'hono'
import * as z from 'zod'
import { type Delivery, noFleet } from '../../core/delivery/delivery.ts'
import { publicDelivery } from '../../core/event/public-view.ts'
import { describeSubject } from '../../core/message/phrases.ts'
import { type Access, isBound, may, seesFleet } from '../../core/rules/access.ts'
import type { Match } from '../../core/rules/match.ts'
import {
  channelBody,
  channelHealth,
  channelsBody,
  type ShownChannel,
} from '../../pages/console/channels.ts'
import type { ChannelActivity } from '../../store/store.ts'
import { channelsInTrouble, lastTest } from '../../use-cases/channel-health.ts'
import { channelNamed, findRate, nameService, type Relay } from '../../use-cases/relay.ts'
import { failedIn } from '../../use-cases/replay.ts'
import { tokenFor } from '../api/console-form.ts'
import { readQuery } from '../query.ts'
import { answerMessage, answerPage, buildBase, wrongAddress } from './answer.ts'
import { seesChannel } from './now.ts'
import type { ChannelSection } from './part.ts'
import type { Visitor } from './visitor.ts'

const refreshSeconds = 15
export const pageSize = 50

/** What the address of a channel's page may have. */
export const channelQuery = z.strictObject({
  after: z.string().max(400).optional(),
  said: z.string().max(40).optional(),
  resend: z.literal('1').optional(),
})

export async function showChannels(
  relay: Relay,
  sections: readonly ChannelSection[],
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const { access } = visitor
  const names = Object.keys(relay.config.channels).filter((name) =>
    seesChannel(relay, visitor, name),
  )
  const [activity, troubles, below] = await Promise.all([
    readActivity(relay, access, names),
    channelsInTrouble(relay),
    Promise.all(sections.map((section) => section(relay, visitor))),
  ])
  const shown = activity.map((one) => shownChannel(relay, access, one, troubles))
  const form = may(access, 'manage') ? await tokenFor(relay, c, 'send') : undefined
  const tests = form === undefined ? {} : { tests: { base: buildBase(relay), form } }
  const body = channelsBody(shown, below, { now: relay.now(), ...tests })
  return answerPage(relay, c, visitor, { title: 'Channels', tab: 'channels', body, refreshSeconds })
}

export type Activity = ChannelActivity & { hidesSuccess?: true }

/** A visitor of some fleets must not see that others use the channel. */
export async function readActivity(
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
  const state = trouble?.state ?? otherwise
  return {
    name,
    kind: nameService(relay, configured),
    path: `${buildBase(relay)}/channels/${encodeURIComponent(name)}`,
    health: channelHealth[state],
    fails: trouble !== undefined || state === 'failing',
    rate: describeRate(relay, name),
    ...(isBound(access) ? {} : { gets: describeUse(relay, name) }),
    ...counts,
    ...(trouble && { note: trouble.note, since: trouble.since }),
    ...(fallback === undefined ? {} : { fallback }),
  }
}

/** In the table of channels. */
const routesShown = 2

/** What sends messages there: `all events; fallback of on-call`. */
function describeUse({ config }: Relay, name: string): string {
  const routes = config.routes.filter(({ channels }) => channels.includes(name))
  const matches = [...new Set(routes.map(({ match }) => describeMatch(match)))]
  const more = matches.length - routesShown
  const others = Object.entries(config.channels).flatMap(([other, { fallback }]) =>
    fallback === name ? [other] : [],
  )
  const uses = [
    ...matches.slice(0, routesShown),
    ...(more > 0 ? [more === 1 ? '1 more route' : `${more} more routes`] : []),
    ...(others.length === 0 ? [] : [`fallback of ${others.join(', ')}`]),
  ]
  return uses.length === 0 ? 'no route names it' : uses.join('; ')
}

export function describeRate(relay: Relay, channel: string): string {
  const { everyMs, together, atOnce } = findRate(relay, channel)
  const list = together > 1 ? `, up to ${together} messages in each` : ''
  if (everyMs === 0) return `${atOnce === 1 ? '1 request' : `${atOnce} requests`} at a time${list}`
  if (everyMs < 1_000) return `${Math.round(60_000 / everyMs)} requests a minute${list}`
  return `a request each ${everyMs / 1_000} s${list}`
}

/** What a route asks for: `fleet prod, resource db_*`. */
function describeMatch({ time: _, ...match }: Match): string {
  const asked = Object.entries(match).filter(([, value]) => value !== undefined)
  if (asked.length === 0) return 'all events'
  return asked.map(([key, value]) => `${key} ${[value].flat().join(' or ')}`).join(', ')
}

export async function showChannel(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  const read = readQuery(c, channelQuery)
  if ('refusal' in read) return wrongAddress(relay, c, visitor, read.refusal)
  const { after, said, resend } = read.query
  const name = c.req.param('name')!
  if (channelNamed(relay, name) === undefined || !seesChannel(relay, visitor, name))
    return unknownChannel(relay, c, visitor)
  const { access } = visitor
  const own = isBound(access) ? { fleets: access.fleets } : {}
  const [[activity], troubles, failed, tested] = await Promise.all([
    readActivity(relay, access, [name]),
    channelsInTrouble(relay),
    relay.store.listFailed({ channel: name, limit: pageSize, ...own, ...(after && { after }) }),
    lastTest(relay, name),
  ])
  const shown = shownChannel(relay, access, activity!, troubles)
  const named = relay.config.routes.flatMap(({ channels, match }, i) =>
    channels.includes(name) ? [`routes[${i}] (${describeMatch(match)})`] : [],
  )
  const facts: [string, string][] = [
    [
      'Routes',
      named.length > 0 ? named.join('; ') : 'none: it gets only what it is the fallback for',
    ],
    ...(shown.fallback === undefined ? [] : [['Fallback', shown.fallback] as [string, string]]),
  ]
  return showOne(relay, c, visitor, {
    forms: buildBase(relay),
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

/** What a replay would send, once the visitor asks for one. */
export async function describeResend(
  relay: Relay,
  { access }: Visitor,
  channel: string | undefined,
) {
  if (channel === undefined || !may(access, 'manage')) return {}
  return { resend: await failedIn(relay, access, channel) }
}

type Page = Omit<Parameters<typeof channelBody>[0], 'base' | 'deliveries'> & {
  deliveries: Delivery[]
}

export async function showOne(
  relay: Relay,
  c: Context,
  visitor: Visitor,
  page: Page,
): Promise<Response> {
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

export function unknownChannel(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  const text = 'There is no such channel or subscription.'
  return answerMessage(relay, c, visitor, { status: 404, title: 'Unknown channel', text })
}
