// Forms of the console that send something: a failed message again, or a test. They need the scope
// `manage`, lead back to their page, and say there what happened.
import type { Context } from 'hono'
import { may } from '../../core/rules/access.ts'
import type { Notice } from '../../pages/console/parts.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { replayOne } from '../../use-cases/replay.ts'
import { readForm } from '../admin/console-form.ts'
import { answerMessage, baseOf } from './answer.ts'
import type { Visitor } from './visitor.ts'

type Send = (fields: URLSearchParams) => Promise<Notice>

/** Runs `send` with the fields of our own form. */
async function sendBy(relay: Relay, c: Context, visitor: Visitor, send: Send): Promise<Response> {
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
  return c.redirect(`${baseOf(relay)}${path}?said=${said}`, 303)
}

export function replay(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  return sendBy(relay, c, visitor, async (fields) => {
    const done = await replayOne(relay, visitor.access, fields.get('id') ?? '')
    return done === 'replayed' ? 'replayed' : 'not_replayed'
  })
}
