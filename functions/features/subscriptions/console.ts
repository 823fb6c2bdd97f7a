// Subscriptions in the console: below the channels, and a page for each. They need the scope `manage`.
import type { Context } from 'hono'
import { channelIn, readStoredId, storedChannel } from '../../core/delivery/delivery.ts'
import { may } from '../../core/rules/access.ts'
import { dayMs } from '../../core/units.ts'
import { buildBase, wrongAddress } from '../../http/console/answer.ts'
import {
  type Activity,
  channelQuery,
  describeRate,
  describeResend,
  pageSize,
  readActivity,
  showOne,
  unknownChannel,
} from '../../http/console/channels.ts'
import type { ChannelSection, ConsolePart } from '../../http/console/part.ts'
import { replayTo, sendBy } from '../../http/console/send.ts'
import type { Visitor } from '../../http/console/visitor.ts'
import { readQuery } from '../../http/query.ts'
import type { ShownChannel } from '../../pages/console/channels.ts'
import { utcOn } from '../../pages/times.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { replayFor } from '../../use-cases/replay.ts'
import { publicSubscription } from './http-answers.ts'
import { keptNote, subscriptionHealth, subscriptionsPart } from './page.ts'
import { canReplay, type Subscription } from './rule.ts'
import {
  deliveriesTo,
  readHealthOf,
  subscriptionFor,
  subscriptionsFor,
  testSubscription,
} from './use.ts'

/** An endpoint that works has a message within this time. */
const promptMs = 60_000
/** The API lists all. */
const maxShown = 50

export const subscriptionSection: ChannelSection = async (relay, { access }) => {
  if (!may(access, 'manage')) return ''
  const all = await subscriptionsFor(relay, access)
  const own = all.slice(0, maxShown)
  const activity = await readActivity(
    relay,
    access,
    own.map(({ id }) => storedChannel(id)),
  )
  const shown = own.map((one, i) => shownSubscription(relay, one, activity[i]!))
  return subscriptionsPart(shown, all.length > maxShown, relay.now())
}

export const subscriptionConsole: ConsolePart = (relay) => ({
  gets: { '/subscriptions/:id': (c, visitor) => showSubscription(relay, c, visitor) },
  posts: {
    '/subscriptions/replay': (c, visitor) =>
      sendBy(relay, c, visitor, async (fields) => {
        const id = fields.get('id') ?? ''
        const found = await findReplayable(relay, visitor, readStoredId(channelIn(id)) ?? '')
        const replayed = found === undefined ? 0 : await replayFor(relay, visitor.access, { id })
        return replayed > 0 ? 'replayed' : 'not_replayed'
      }),
    '/subscriptions/replay-all': (c, visitor) =>
      sendBy(relay, c, visitor, async (fields) => {
        const found = await findReplayable(relay, visitor, fields.get('name') ?? '')
        if (found === undefined) return 'not_replayed'
        return replayTo(relay, visitor, storedChannel(found.id), fields)
      }),
    '/subscriptions/test': (c, visitor) =>
      sendBy(relay, c, visitor, async (fields) => {
        const id = fields.get('name') ?? ''
        const tested = await testSubscription(relay, visitor.access, id, 'scheduled')
        return tested?.outcome === 'planned' ? 'tested' : 'no_test'
      }),
  },
})

/** The subscription may belong to another team. One that is not active keeps its messages. */
async function findReplayable(relay: Relay, { access }: Visitor, id: string) {
  const found = await subscriptionFor(relay, access, id)
  return found && canReplay(found) ? found : undefined
}

async function showSubscription(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  const read = readQuery(c, channelQuery)
  if ('refusal' in read) return wrongAddress(relay, c, visitor, read.refusal)
  const { after, said, resend } = read.query
  const { access } = visitor
  const found = may(access, 'manage')
    ? await subscriptionFor(relay, access, c.req.param('id')!)
    : undefined
  if (found === undefined) return unknownChannel(relay, c, visitor)
  const page = { limit: pageSize, brief: true as const, ...(after && { before: after }) }
  const since = relay.now() - dayMs
  const [[activity], health, list] = await Promise.all([
    readActivity(relay, access, [storedChannel(found.id)], { since }),
    readHealthOf(relay, found),
    deliveriesTo(relay, found, page),
  ])
  // the facts have the reason of its state
  const { note: _, ...shown } = shownSubscription(relay, found, activity!)
  const trouble = health === undefined || health.state === 'ok' ? {} : { note: health.note }
  return showOne(relay, c, visitor, {
    forms: `${buildBase(relay)}/subscriptions`,
    channel: { ...shown, ...trouble, kind: 'subscription' },
    facts: describeFacts(found, relay.now()),
    lists: 'all',
    tests: found.state !== 'disabled',
    ...(await describeResend(relay, visitor, resend && storedChannel(found.id))),
    ...list,
    ...(after && { after }),
    ...(said && { notice: said }),
  })
}

function shownSubscription(
  relay: Relay,
  { id, state, since, reason, description }: Subscription,
  { channel, ...counts }: Activity,
): ShownChannel {
  const { pendingSince = Number.POSITIVE_INFINITY } = counts
  const now = relay.now()
  const isFailing = state === 'active' && now - pendingSince > promptMs
  return {
    name: id,
    health: subscriptionHealth[isFailing ? 'failing' : state],
    ...(isFailing
      ? { fails: true, since: pendingSince, note: `since ${utcOn(pendingSince, now)}` }
      : { since, note: reason }),
    ...(state === 'active' ? {} : { kept: keptNote }),
    ...(description === undefined ? {} : { label: description }),
    path: `${buildBase(relay)}/subscriptions/${id}`,
    rate: describeRate(relay, channel),
    ...counts,
  }
}

function describeFacts(one: Subscription, now: number): [name: string, value: string][] {
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
