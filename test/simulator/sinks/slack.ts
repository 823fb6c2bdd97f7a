// Slack's incoming webhook, and the address that takes answers to a press: `ok`, or one of its short error texts. It insists on `text` beside blocks,
// which Slack only advises: without it the notification on a phone is empty.

import { z } from 'zod'
import { explain } from '../requests.ts'
import { type Decided, type Sink, type SinkRequest, text, webUrl } from './sink.ts'

export const SLACK_PATH = '/services/T0SIM/B0SIM/simulated'
export const SLACK_REPLY_PREFIX = '/actions/'
export const SLACK_REPLY_PATH = `${SLACK_REPLY_PREFIX}T0SIM/1/simulated`
const MAX_BLOCK_TEXT = 13_000

const id = text(255).optional()
const plain = (max: number) => z.object({ type: z.literal('plain_text'), text: text(max) })
const rich = (max: number) => z.object({ type: z.enum(['plain_text', 'mrkdwn']), text: text(max) })

const image = z.object({ type: z.literal('image'), image_url: webUrl, alt_text: text(2000) })

const button = z.object({
  type: z.literal('button'),
  text: plain(75),
  action_id: id,
  value: text(2000).optional(),
  url: webUrl.max(3000).optional(),
  style: z.enum(['primary', 'danger']).optional(),
  confirm: z
    .strictObject({
      title: plain(100),
      text: rich(300),
      confirm: plain(30),
      deny: plain(30),
      style: z.enum(['primary', 'danger']).optional(),
    })
    .optional(),
})

const buttons = z
  .array(button)
  .min(1)
  .max(25)
  .refine((all) => {
    const ids = all.flatMap(({ action_id }) => action_id ?? [])
    return new Set(ids).size === ids.length
  }, 'each action_id of a block is another')

const section = z
  .object({
    type: z.literal('section'),
    block_id: id,
    text: rich(3000).optional(),
    fields: z.array(rich(2000)).min(1).max(10).optional(),
    accessory: z.union([button, image]).optional(),
  })
  .refine((block) => block.text || block.fields, 'a section needs text or fields')

const block = z.discriminatedUnion('type', [
  z.object({ type: z.literal('header'), block_id: id, text: plain(150) }),
  section,
  z.object({
    type: z.literal('context'),
    block_id: id,
    elements: z
      .array(z.union([image, rich(3000)]))
      .min(1)
      .max(10),
  }),
  z.object({ type: z.literal('actions'), block_id: id, elements: buttons }),
  z.object({ type: z.literal('divider'), block_id: id }),
  image.extend({ block_id: id }),
])

const blocks = z.array(block).max(50)

export function slackSink(): Sink {
  return { judge, accept: () => {} }
}

/** In the person's eyes alone, or in place of the message; anything else would show it to everybody once more. */
const reply = z.union([
  z.object({ response_type: z.literal('ephemeral'), replace_original: z.literal(false) }),
  z.object({ response_type: z.undefined().optional(), replace_original: z.literal(true) }),
])

function judge({ path, headers, json }: SinkRequest): Decided {
  const isReply = path === SLACK_REPLY_PATH
  if (!isReply && path.split('?')[0] !== SLACK_PATH) {
    return refuse(404, 'no_service', `nothing is at ${path}`)
  }
  const isJson = headers['content-type']?.includes('application/json')
  if (!isJson) return refuse(400, 'invalid_payload', 'the content type is not JSON')
  const fault = faultOf(json)
  if (fault !== undefined) return refuse(400, fault.code, fault.why)
  if (isReply && !reply.safeParse(json).success) {
    return refuse(400, 'invalid_payload', 'neither ephemeral nor in place of the message')
  }
  return { valid: true, reply: { status: 200, body: 'ok' } }
}

/** What is wrong with a message, whichever way it comes. */
export function faultOf(json: unknown): { code: string; why: string } | undefined {
  const message = z.record(z.string(), z.unknown()).safeParse(json)
  if (!message.success) return { code: 'invalid_payload', why: 'the body is not a JSON object' }
  const { text: fallback, blocks: given = [] } = message.data
  if (typeof fallback !== 'string' || fallback === '') {
    return { code: 'no_text', why: 'text is missing or empty' }
  }
  const parsed = blocks.safeParse(given)
  if (!parsed.success) return { code: 'invalid_blocks', why: explain(parsed.error) }
  const length = textLength(parsed.data)
  if (length <= MAX_BLOCK_TEXT) return undefined
  return { code: 'msg_blocks_too_long', why: `the blocks hold ${length} characters of text` }
}

/** All the text that people get to read, wherever in the blocks it stands. */
function textLength(part: unknown): number {
  if (typeof part !== 'object' || part === null) return 0
  return Object.entries(part).reduce((sum, [key, value]) => {
    return (
      sum + (key === 'text' && typeof value === 'string' ? [...value].length : textLength(value))
    )
  }, 0)
}

function refuse(status: number, code: string, why: string): Decided {
  return { valid: `${code}: ${why}`, reply: { status, body: code } }
}
