// Slack's Web API as far as a bot posts, edits and deletes its messages: answers 200 to nearly everything, names
// messages by the time they came, and keeps what stands in the channel now.

import { z } from 'zod'
import type { Decided, Sink, SinkRequest } from './sink.ts'
import { faultOf } from './slack.ts'

export const SLACK_API_PREFIX = '/slack/api/'
export const SLACK_TOKEN = 'xoxb-simulated-token'
export const SLACK_CHANNEL = 'C0SIMULATED'

export interface SlackMessage {
  readonly ts: string
  readonly thread_ts?: string
  /** A reply that stands in the channel, too. */
  readonly broadcast: boolean
  text: string
  blocks: unknown[]
  edits: number
}

interface SlackBotSink extends Sink {
  /** What stands in the channel and its threads, in the order it came. */
  readonly messages: ReadonlyMap<string, Readonly<SlackMessage>>
  /** The next edits of this message are refused with this code. */
  freeze(ts: string, code: string): void
  /** Somebody deletes it. */
  remove(ts: string): void
}

const target = { channel: z.string(), text: z.string(), blocks: z.array(z.unknown()).optional() }

const methods = {
  'chat.postMessage': z.object({
    ...target,
    thread_ts: z.string().optional(),
    reply_broadcast: z.boolean().optional(),
    unfurl_links: z.literal(false),
    unfurl_media: z.literal(false),
  }),
  'chat.update': z.object({ ...target, ts: z.string() }),
  'chat.delete': z.object({ channel: z.string(), ts: z.string() }),
}

const FIRST_SECOND = 1_795_262_400

export function slackBotSink(): SlackBotSink {
  const messages = new Map<string, SlackMessage>()
  const frozen = new Map<string, string>()
  let count = 0
  const nextTs = () => `${FIRST_SECOND + count}.000100`

  const judge = ({ path, headers, json }: SinkRequest): Decided => {
    const method = path.slice(SLACK_API_PREFIX.length) as keyof typeof methods
    const schema = Object.hasOwn(methods, method) ? methods[method] : undefined
    if (schema === undefined) return refuse('unknown_method', `nothing is at ${path}`)
    if (!headers['content-type']?.includes('application/json')) {
      return refuse('invalid_arguments', 'the content type is not JSON')
    }
    if (headers.authorization === undefined) return refuse('not_authed', 'no token')
    if (headers.authorization !== `Bearer ${SLACK_TOKEN}`) return refuse('invalid_auth', 'a token')
    const parsed = schema.safeParse(json)
    if (!parsed.success) return refuse('invalid_arguments', parsed.error.message)
    const said = parsed.data as z.output<(typeof methods)['chat.update' | 'chat.postMessage']>
    if (said.channel !== SLACK_CHANNEL) return refuse('channel_not_found', said.channel)
    const fault = method === 'chat.delete' ? undefined : faultOf(json)
    if (fault !== undefined) return refuse(fault.code, fault.why)
    if ('ts' in said) {
      const code = messages.has(said.ts) ? frozen.get(said.ts) : 'message_not_found'
      return code === undefined ? take(said.ts, json) : refuse(code, `message ${said.ts}`)
    }
    const { thread_ts } = said as { thread_ts?: string }
    if (thread_ts !== undefined && !messages.has(thread_ts)) {
      return refuse('thread_not_found', `no message ${thread_ts}`)
    }
    return take(nextTs(), json)
  }

  const accept = ({ path, json }: SinkRequest): void => {
    const {
      ts,
      text,
      blocks = [],
      ...said
    } = json as {
      ts: string
      text: string
      blocks?: unknown[]
      thread_ts?: string
      reply_broadcast?: boolean
    }
    if (path.endsWith('delete')) messages.delete(ts)
    else if (path.endsWith('update')) {
      const known = messages.get(ts)!
      Object.assign(known, { text, blocks, edits: known.edits + 1 })
    } else {
      const own = nextTs()
      count += 1
      const thread = said.thread_ts === undefined ? {} : { thread_ts: said.thread_ts }
      const broadcast = said.reply_broadcast === true
      messages.set(own, { ts: own, ...thread, broadcast, text, blocks, edits: 0 })
    }
  }

  return {
    judge,
    accept,
    messages,
    freeze: (ts, code) => void frozen.set(ts, code),
    remove: (ts) => void messages.delete(ts),
  }
}

/** Repeats the message, as Slack does. */
function take(ts: string, json: unknown): Decided {
  const body = { ok: true, channel: SLACK_CHANNEL, ts, message: json }
  return { valid: true, reply: { status: 200, body } }
}

function refuse(code: string, why: string): Decided {
  return { valid: `${code}: ${why}`, reply: { status: 200, body: { ok: false, error: code } } }
}
