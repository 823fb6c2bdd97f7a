// A Teams workflow webhook: takes an Adaptive Card in its envelope and answers 202 with nothing. The whole
// URL is the credential, so a request that lost part of the query is refused.

import { z } from 'zod'
import { explain } from '../requests.ts'
import { type Decided, type Sink, type SinkRequest, text, webUrl } from './sink.ts'

export const TEAMS_PREFIX = '/workflows/'
export const TEAMS_PATH =
  '/workflows/simulated/triggers/manual/paths/invoke?api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sig=simulated'
const MAX_BODY_BYTES = 28 * 1024

const openUrl = z.object({ type: z.literal('Action.OpenUrl'), title: text(1000), url: webUrl })

/** A bot's buttons: one sends a press, the other shows a card with such a button first. */
const execute = z.object({
  type: z.literal('Action.Execute'),
  title: text(1000),
  verb: z.string().min(1),
  data: z.object({ value: z.string().max(2_000) }),
})
const showCard = z.object({
  type: z.literal('Action.ShowCard'),
  title: text(1000),
  card: z.object({
    type: z.literal('AdaptiveCard'),
    body: z.array(z.looseObject({ type: z.string() })),
    actions: z.array(execute).min(1),
  }),
})

const element = z
  .looseObject({ type: z.string(), actions: z.array(openUrl).optional() })
  .refine(({ type, actions }) => type !== 'ActionSet' || actions, 'an ActionSet needs actions')

const envelope = messageWith(openUrl)
export const botMessage = messageWith(z.union([openUrl, execute, showCard]))

function messageWith(action: z.ZodType) {
  return z.object({
    type: z.literal('message'),
    attachments: z
      .array(
        z.object({
          contentType: z.literal('application/vnd.microsoft.card.adaptive'),
          contentUrl: z.null().optional(),
          content: z.object({
            type: z.literal('AdaptiveCard'),
            version: z.literal('1.4'),
            body: z.array(element).min(1),
            actions: z.array(action).optional(),
          }),
        }),
      )
      .min(1),
  })
}

export function teamsSink(): Sink {
  return { judge, accept: () => {} }
}

function judge({ path, body, json }: SinkRequest): Decided {
  if (path !== TEAMS_PATH) return refuse(401, 'the URL is not the one that was handed out')
  const bytes = Buffer.byteLength(body)
  if (bytes > MAX_BODY_BYTES) return refuse(413, `the body has ${bytes} bytes`)
  const parsed = envelope.safeParse(json)
  if (!parsed.success) return refuse(400, explain(parsed.error))
  return { valid: true, reply: { status: 202 } }
}

function refuse(status: number, message: string): Decided {
  return { valid: message, reply: { status, body: { error: { message } } } }
}
