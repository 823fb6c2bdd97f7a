// What Slack does when somebody presses a button: a payload of the kind it documents, signed with the app's secret.
import { interactionsPath } from '../../functions/http/people/slack.ts'
import { webHmac } from '../../shared/signature.ts'
import { formType } from './people.ts'
import type { Sent, World } from './world.ts'

type Json = ReturnType<typeof JSON.parse>

export const signingSecret = '0f1e2d3c4b5a69788796a5b4c3d2e1f0'
export const home = 'T0HOME'
export const ada = 'U0ADA'
export const bob = 'U0BOB'
export const replyUrl = 'https://hooks.slack.com/actions/T0HOME/4711/reply-secret'

/** Chat decides; the webhook hears of it. */
export const slackDecides = {
  slackApp: { signingSecret, team: home },
  routes: [{ match: {}, channels: ['chat', 'hook'], approveIn: 'slack' }],
}

export async function signatureOf(body: string, timestamp: string, secret = signingSecret) {
  const mac = await webHmac(new TextEncoder().encode(secret), `v0:${timestamp}:${body}`)
  return `v0=${[...mac].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

interface Signing {
  secret?: string
  /** Epoch ms; the world's time when left out. */
  at?: number
  headers?: Record<string, string>
}

/** Any host that answers. */
type Reached = Pick<World, 'app' | 'clock'>

/** Sends one body as Slack signs it; `again` sends the very same request. */
export async function postSigned(world: Reached, body: string, signing: Signing = {}) {
  const timestamp = String(Math.floor((signing.at ?? world.clock.now) / 1000))
  const headers = {
    'content-type': formType,
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': await signatureOf(body, timestamp, signing.secret),
    ...signing.headers,
  }
  const again = () =>
    world.app.request(interactionsPath, { method: 'POST', body, headers }) as Promise<Response>
  return { response: await again(), again }
}

export function formOf(payload: unknown): string {
  return new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
}

/** The parts of Slack's payload that are of use, and some that are not. */
export function payloadOf(value: string, changes: object = {}): Json {
  return {
    type: 'block_actions',
    api_app_id: 'A0APP',
    token: 'verification-token',
    trigger_id: '12321423423.333649436676.d8c1bb837935619ccad0f624c448ffb3',
    user: { id: ada, username: 'ada', name: 'ada', team_id: home },
    team: { id: home, domain: 'home' },
    enterprise: null,
    is_enterprise_install: false,
    container: { type: 'message', message_ts: '1795262401.000100', channel_id: 'C0OPS' },
    channel: { id: 'C0OPS', name: 'ops' },
    message: { type: 'message', ts: '1795262401.000100', text: 'Reboot of web_0' },
    response_url: replyUrl,
    actions: [
      {
        type: 'button',
        action_id: 'approve',
        block_id: 'b=1',
        value,
        style: 'primary',
        action_ts: '1795262402.123456',
      },
    ],
    ...changes,
  }
}

export function actionOf(value: string, action_id: string) {
  return { actions: [{ type: 'button', action_id, block_id: 'b=1', value }] }
}

export function personOf(id: string, team_id: string | undefined = home, name?: string) {
  return { user: { id, ...(team_id === undefined ? {} : { team_id }), ...(name && { name }) } }
}

/** Presses a button of the newest message in a chat, as somebody. */
export async function pressInSlack(
  world: World,
  {
    person = ada,
    team = home,
    action = 'approve',
    value = valueIn(world),
    name,
    ...changes
  } = {} as {
    name?: string
    person?: string
    team?: string
    action?: string
    value?: string
    response_url?: string
  },
) {
  const payload = payloadOf(value, {
    ...personOf(person, team, name),
    ...actionOf(value, action),
    ...changes,
  })
  return (await postSigned(world, formOf(payload))).response
}

const isReply = ({ url }: Sent) => url.includes('/actions/')

/** The buttons of the newest message to a chat that decide, or open a page of the relay. */
export function elementsIn(world: World): Json[] {
  const messages = world.sent.filter((one) => one.url.includes('slack') && !isReply(one))
  const blocks: Json[] = messages.at(-1)?.json.blocks ?? []
  return blocks
    .filter(({ type }) => type === 'actions')
    .flatMap(({ elements }) => elements)
    .filter(({ url = '' }) => !url.startsWith('https://portal.azure.com/'))
}

export function valueIn(world: World): string {
  return elementsIn(world).find(({ action_id }) => action_id === 'approve')!.value
}

/** What was answered to presses, in order. */
export function repliesIn(world: World): Json[] {
  return world.sent.filter(isReply).map(({ json }) => json)
}

/** The words of the last answer, which is one person's alone. */
export function toldInPrivate(world: World): string {
  const reply = repliesIn(world).at(-1)
  if (reply?.response_type !== 'ephemeral' || reply.replace_original !== false) {
    throw new Error(`not in private: ${JSON.stringify(reply)}`)
  }
  return reply.text
}

export async function approvalsOf(world: World, eventId: string) {
  return (await world.getEvent(eventId)).body.approvals as Json[]
}
