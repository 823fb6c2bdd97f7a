// Forms of the console that send something: a failed message again, or a test. They need the scope
// `manage`, lead back to their page, and say there what happened.
import type { Context } from 'hono'
import { channelIn, readStoredId } from '../../core/delivery/delivery.ts'
import { may } from '../../core/rules/access.ts'
import { dayMs } from '../../core/units.ts'
import type { Notice } from '../../pages/console/parts.ts'
import { testChannel } from '../../use-cases/channel-health.ts'
import { channelNamed, type Relay } from '../../use-cases/relay.ts'
import { replayFor, replayOpen } from '../../use-cases/replay.ts'
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
    // a stored channel has forms of its own
    const isStored = readStoredId(channelIn(id)) !== undefined
    const replayed = isStored ? 0 : await replayFor(relay, visitor.access, { id })
    return replayed > 0 ? 'replayed' : 'not_replayed'
  })
}

export function replayAll(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  return sendBy(relay, c, visitor, async (fields) => {
    const name = fields.get('name') ?? ''
    const isOwn = channelNamed(relay, name) !== undefined && seesChannel(relay, visitor, name)
    return isOwn ? replayTo(relay, visitor, name, fields) : 'not_replayed'
  })
}

/** Everything that failed, or with `which=open` what is about open events. */
export async function replayTo(
  relay: Relay,
  { access }: Visitor,
  channel: string,
  fields: URLSearchParams,
): Promise<'not_replayed' | 'replayed' | `replayed_${number}`> {
  const replayed =
    fields.get('which') === 'open'
      ? await replayOpen(relay, access, channel)
      : await replayFor(relay, access, { since: relay.now() - replayedMs, channel })
  return replayed === 0 ? 'not_replayed' : replayed === 1 ? 'replayed' : `replayed_${replayed}`
}

export function sendTest(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  return sendBy(relay, c, visitor, async (fields) => {
    const name = fields.get('name') ?? ''
    if (channelNamed(relay, name) === undefined || !seesChannel(relay, visitor, name))
      return 'no_test'
    const { outcome } = await testChannel(relay, visitor.access, name)
    return outcome === 'planned' ? 'tested' : 'too_soon'
  })
}
