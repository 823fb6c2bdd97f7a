// Forms of the console that send something: a failed message again, or a test. They need the scope
// `manage`, lead back to their page, and say there what happened.
import type { Context } from 'hono'
import { channelIn, readSubscription, subscriptionChannel } from '../../core/delivery/delivery.ts'
import { may } from '../../core/rules/access.ts'
import { dayMs } from '../../core/units.ts'
import type { Notice } from '../../pages/console/parts.ts'
import { testChannel } from '../../use-cases/channel-health.ts'
import { channelNamed, type Relay } from '../../use-cases/relay.ts'
import { replayFor, replayOpen } from '../../use-cases/replay.ts'
import { subscriptionFor, testSubscription } from '../../use-cases/subscriptions.ts'
import { readForm } from '../api/console-form.ts'
import { answerMessage, buildBase } from './answer.ts'
import { seesChannel } from './now.ts'
import type { Visitor } from './visitor.ts'

/** *Replay all* sends messages again that are not older. */
const replayedMs = 90 * dayMs

type Send<Said> = (fields: URLSearchParams) => Promise<Said>

/** Runs `send` with the fields of our own form. */
export async function sendBy<Said extends string = Notice | `replayed_${number}`>(
  relay: Relay,
  c: Context,
  visitor: Visitor,
  send: Send<Said>,
): Promise<Response> {
  const title = 'Nothing was sent'
  if (!may(visitor.access, 'manage')) {
    const text = 'This needs the admin key or a token with the scope "manage".'
    return answerMessage(relay, c, visitor, { status: 403, title, text })
  }
  const fields = await readForm(relay, c, 'send')
  if (fields === undefined) {
    const text = 'The relay accepts this form only from its own page. Open the page again.'
    return answerMessage(relay, c, visitor, { status: 403, title, text })
  }
  const said = await send(fields)
  const back = fields.get('back') ?? ''
  const path = /^\/[\w\-./%:]{1,500}$/.test(back) && !back.includes('//') ? back : ''
  return c.redirect(`${buildBase(relay)}${path}?said=${said}`, 303)
}

export function replay(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  return sendBy(relay, c, visitor, async (fields) => {
    const id = fields.get('id') ?? ''
    const subscription = readSubscription(channelIn(id))
    const mayReplay = subscription === undefined || (await isActive(relay, visitor, subscription))
    const replayed = mayReplay ? await replayFor(relay, visitor.access, { id }) : 0
    return replayed > 0 ? 'replayed' : 'not_replayed'
  })
}

/** The subscription may belong to another team. One that is not active keeps its messages. */
async function isActive(relay: Relay, { access }: Visitor, id: string): Promise<boolean> {
  return (await subscriptionFor(relay, access, id))?.state === 'active'
}

/**
 * Everything that failed, or with `which=open` what is about open events. A name is that of a configured
 * channel, or the id of a subscription.
 */
export function replayAll(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  return sendBy(relay, c, visitor, async (fields) => {
    const name = fields.get('name') ?? ''
    const { access } = visitor
    const subscription = await subscriptionFor(relay, access, name)
    const isOwn = channelNamed(relay, name) !== undefined && seesChannel(relay, visitor, name)
    const channel =
      subscription === undefined
        ? isOwn && name
        : subscription.state === 'active' && subscriptionChannel(name)
    if (!channel) return 'not_replayed'
    const replayed =
      fields.get('which') === 'open'
        ? await replayOpen(relay, access, channel)
        : await replayFor(relay, access, { since: relay.now() - replayedMs, channel })
    return replayed === 0 ? 'not_replayed' : replayed === 1 ? 'replayed' : `replayed_${replayed}`
  })
}

/** A name is that of a configured channel, or the id of a subscription. */
export function sendTest(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  return sendBy(relay, c, visitor, async (fields) => {
    const name = fields.get('name') ?? ''
    const { access } = visitor
    if ((await subscriptionFor(relay, access, name)) !== undefined) {
      const tested = await testSubscription(relay, access, name, 'scheduled')
      return tested?.outcome === 'planned' ? 'tested' : 'no_test'
    }
    if (channelNamed(relay, name) === undefined || !seesChannel(relay, visitor, name))
      return 'no_test'
    return (await testChannel(relay, access, name)).outcome === 'planned' ? 'tested' : 'too_soon'
  })
}
