// A receiver of Standard Webhooks, as another system would build it with the reference library.

import { Webhook } from 'standardwebhooks'
import type { Decided, Sink, SinkRequest } from './sink.ts'

export const WEBHOOK_PATH = '/webhook'

interface WebhookSink extends Sink {
  /** How often each webhook-id was taken. */
  readonly counts: ReadonlyMap<string, number>
}

export function webhookSink(secret: string): WebhookSink {
  const verifier = new Webhook(secret)
  const counts = new Map<string, number>()
  return {
    counts,
    judge: (request) => judge(verifier, request),
    accept: ({ headers }) => {
      const id = headers['webhook-id']!
      counts.set(id, (counts.get(id) ?? 0) + 1)
    },
  }
}

function judge(verifier: Webhook, { body, headers }: SinkRequest): Decided {
  try {
    verifier.verify(body, headers, { jsonParse: false })
  } catch (error) {
    const why = (error as Error).message
    return { valid: why, reply: { status: 401, body: { error: why } } }
  }
  return { valid: true, reply: { status: 204 } }
}
