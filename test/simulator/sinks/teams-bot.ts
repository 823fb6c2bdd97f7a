// The Bot Connector as far as a bot posts, edits and deletes its messages in a channel of Teams, and keeps what
// stands there now. Written from Microsoft's documentation; nobody compared it with the real one.
import { z } from 'zod'
import { explain } from '../requests.ts'
import { tokenFor } from './ship.ts'
import type { Decided, Sink, SinkRequest } from './sink.ts'
import { botMessage } from './teams.ts'

export const CONNECTOR_PREFIX = '/connector/'
export const TEAMS_CHANNEL = '19:simulated@thread.tacv2'
export const TEAMS_TENANT = '7e7e7e7e-0000-4000-8000-000000000001'

interface TeamsMessage {
  readonly id: string
  /** The conversation that begins with the message, or that the reply is in. */
  readonly place: string
  readonly isReply: boolean
  content: ReturnType<typeof JSON.parse>
  edits: number
}

interface TeamsBotSink extends Sink {
  readonly messages: ReadonlyMap<string, Readonly<TeamsMessage>>
  /** Somebody deletes it. */
  remove(id: string): void
}

const conversation = z.object({
  isGroup: z.literal(true),
  tenantId: z.literal(TEAMS_TENANT),
  channelData: z.object({ channel: z.object({ id: z.string() }) }),
  activity: botMessage,
})

const maxBytes = 28 * 1024

export function teamsBotSink(): TeamsBotSink {
  const messages = new Map<string, TeamsMessage>()
  let count = 0
  const nextId = () => String(1_795_262_400_000 + count)

  const judge = ({ method, path, headers, body, json }: SinkRequest): Decided => {
    if (headers.authorization !== `Bearer ${tokenFor('https://api.botframework.com')}`) {
      return refuse(401, 'Unauthorized', 'not a token for the Bot Connector')
    }
    if (Buffer.byteLength(body) > maxBytes) return refuse(413, 'MessageSizeTooBig', 'too long')
    const { place, id } = partsOf(path)
    if (place === undefined) return judgeNew(json)
    const root = [...messages.values()].find((one) => one.place === place && !one.isReply)
    if (root === undefined) return refuse(404, 'ConversationNotFound', place)
    if (id !== undefined && !messages.has(id)) return refuse(404, 'ActivityNotFound', id)
    if (method === 'DELETE') return { valid: true, reply: { status: 200 } }
    const read = botMessage.safeParse(json)
    if (!read.success) return refuse(400, 'BadSyntax', explain(read.error))
    const status = method === 'PUT' ? 200 : 201
    return { valid: true, reply: { status, body: { id: id ?? nextId() } } }
  }

  const judgeNew = (json: unknown): Decided => {
    const read = conversation.safeParse(json)
    if (!read.success) return refuse(400, 'BadSyntax', explain(read.error))
    const { id } = read.data.channelData.channel
    if (id !== TEAMS_CHANNEL) return refuse(403, 'BotNotInConversationRoster', id)
    const own = nextId()
    const body = { id: `${id};messageid=${own}`, activityId: own }
    return { valid: true, reply: { status: 201, body } }
  }

  const accept = ({ method, path, json }: SinkRequest): void => {
    const { place, id } = partsOf(path)
    if (method === 'DELETE') return void messages.delete(id!)
    const { attachments } = (
      place === undefined ? (json as { activity: unknown }).activity : json
    ) as {
      attachments: { content: unknown }[]
    }
    const { content } = attachments[0]!
    if (method === 'PUT') {
      const known = messages.get(id!)!
      Object.assign(known, { content, edits: known.edits + 1 })
      return
    }
    const own = nextId()
    count += 1
    const isReply = place !== undefined
    const where = place ?? `${TEAMS_CHANNEL};messageid=${own}`
    messages.set(own, { id: own, place: where, isReply, content, edits: 0 })
  }

  return { judge, accept, messages, remove: (id) => void messages.delete(id) }
}

/** `/connector/v3/conversations/{place}/activities/{id}`, of which the end may be absent. */
function partsOf(path: string): { place?: string; id?: string } {
  const [place, , id] = path
    .slice(`${CONNECTOR_PREFIX}v3/conversations/`.length)
    .split('/')
    .map(decodeURIComponent)
  return { ...(place && { place }), ...(id && { id }) }
}

function refuse(status: number, code: string, message: string): Decided {
  return { valid: `${code}: ${message}`, reply: { status, body: { error: { code, message } } } }
}
