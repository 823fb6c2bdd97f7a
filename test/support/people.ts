// What a person does: opens the link of the newest message, and presses a button.
import { createToken, type LinkToken } from '../../functions/link.ts'
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
  keys = world.relay.linkKeys,
) {
  const token = { fleet: 'prod', eventId, channel: 'chat', issuedAt: world.clock.now, ...changes }
  return `/approve/${await createToken(keys, token)}`
}

export const formType = 'application/x-www-form-urlencoded'

export function press(
  world: World,
  path: string,
  decision: string,
  headers: Record<string, string> = {},
) {
  return world.app.request(path, {
    method: 'POST',
    body: new URLSearchParams({ decision }).toString(),
    headers: { 'content-type': formType, ...headers },
  })
}

/** The readable text of a page, without markup and style. */
export async function textOf(response: Response): Promise<string> {
  const html = await response.text()
  const plain = html.replace(/<style>[\s\S]*?<\/style>/, '').replace(/<[^>]+>/g, ' ')
  return plain.replaceAll('&quot;', '"').replace(/\s+/g, ' ')
}
