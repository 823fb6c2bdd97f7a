// What a person does: opens the link of the newest message, and presses a button.
import { makeStamp } from '../../functions/core/event/approval.ts'
import {
  createFormToken,
  createToken,
  type LinkToken,
  readToken,
} from '../../functions/links/link.ts'
import { fieldsOf, formType } from './form.ts'
import { eventId, type World } from './world.ts'

/** Path of the link in the newest Slack message. */
export function linkOf(world: World): string {
  const messages = world.sent.filter(({ url }) => url.includes('slack'))
  const blocks: { type: string; elements: { url: string }[] }[] = messages.at(-1)?.json.blocks
  const actions = blocks.find(({ type }) => type === 'actions')
  return new URL(actions!.elements[0]!.url).pathname
}

/** Path of a link as the relay itself would make it. */
export async function forge(
  world: World,
  changes: Partial<LinkToken> = {},
  keys = world.relay.credentials.linkKeys,
) {
  const token = { fleet: 'prod', eventId, channel: 'chat', issuedAt: world.clock.now, ...changes }
  return `/approve/${await createToken(keys, token)}`
}

export { formType } from './form.ts'

/**
 * Presses a button of the page behind the link. Where the page has none any more, it is pressed on one
 * that was opened while it had.
 */
export async function press(
  world: World,
  path: string,
  decision: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const shown = fieldsOf(await (await world.app.request(path)).text())
  const fields = shown.form === undefined ? await keptForm(world, path) : shown
  return submit(world, path, { ...fields, decision }, headers)
}

/** Sends these fields, whatever the page says. */
export function submit(
  world: World,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
) {
  return world.app.request(path, {
    method: 'POST',
    body: new URLSearchParams(fields).toString(),
    headers: { 'content-type': formType, ...headers },
  })
}

async function keptForm(world: World, path: string): Promise<Record<string, string>> {
  const { store } = world.relay
  const { linkKeys } = world.relay.credentials
  const link = path.slice('/approve/'.length)
  const token = await readToken(linkKeys, link)
  const record = token && 'eventId' in token ? await store.readEvent(token) : undefined
  if (record === undefined) return {}
  return { form: await createFormToken(linkKeys, link, makeStamp(record)) }
}

/** The readable text of a page, without markup and style. */
export async function textOf(response: Response): Promise<string> {
  const html = await response.text()
  const plain = html.replace(/<(style|script)>[\s\S]*?<\/\1>/g, '').replace(/<[^>]+>/g, ' ')
  return plain.replaceAll('&quot;', '"').replace(/\s+/g, ' ')
}

/** Asks for news, as an open page does. `etag`: of what it shows. */
export function watch(
  { app }: Pick<World, 'app'>,
  path: string,
  { etag = '"old"', headers = {} }: { etag?: string; headers?: Record<string, string> } = {},
) {
  return app.request(path, { headers: { 'if-none-match': etag, ...headers } })
}
