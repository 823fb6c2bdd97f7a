// PagerDuty's Events API v2, with the incidents that come of the events. What is said about a key that
// nothing was triggered for is taken and dropped, as the real one does.

import { z } from 'zod'
import { explain } from '../requests.ts'
import { type Decided, type Sink, type SinkRequest, text, webUrl } from './sink.ts'

export const PAGERDUTY_PATH = '/v2/enqueue'
const MAX_BODY_BYTES = 512_000

export interface Incident {
  state: 'triggered' | 'acknowledged' | 'resolved'
  /** How many incidents this key had: a trigger after a resolve opens another. */
  opened: number
  triggers: number
  acknowledges: number
  resolves: number
}

const routing_key = z.string().length(32)
const dedup_key = text(255)

const payload = z.object({
  summary: text(1024),
  source: z.string().min(1),
  severity: z.enum(['critical', 'error', 'warning', 'info']),
  timestamp: z.iso.datetime({ offset: true }).optional(),
  component: z.string().optional(),
  group: z.string().optional(),
  class: z.string().optional(),
  custom_details: z.unknown().optional(),
})

const event = z.discriminatedUnion('event_action', [
  z.object({
    event_action: z.literal('trigger'),
    routing_key,
    dedup_key: dedup_key.optional(),
    payload,
    links: z.array(z.object({ href: webUrl, text: z.string().optional() })).optional(),
    images: z
      .array(z.object({ src: webUrl, href: webUrl.optional(), alt: z.string().optional() }))
      .optional(),
    client: z.string().optional(),
    client_url: webUrl.optional(),
  }),
  z.object({ event_action: z.enum(['acknowledge', 'resolve']), routing_key, dedup_key }),
])

interface PagerDutySink extends Sink {
  /** By `${routing_key} ${dedup_key}`. */
  readonly incidents: ReadonlyMap<string, Readonly<Incident>>
}

export function pagerDutySink(): PagerDutySink {
  const incidents = new Map<string, Incident>()
  return { judge, incidents, accept: (request) => accept(incidents, request) }
}

function judge({ path, body, json }: SinkRequest): Decided {
  if (path !== PAGERDUTY_PATH) return { valid: 'unknown path', reply: { status: 404 } }
  const bytes = Buffer.byteLength(body)
  if (bytes > MAX_BODY_BYTES) return refuse(`the event has ${bytes} bytes`)
  const parsed = event.safeParse(json)
  if (!parsed.success) return refuse(explain(parsed.error))
  const answer = {
    status: 'success',
    message: 'Event processed',
    dedup_key: parsed.data.dedup_key ?? 'made-up-by-the-service',
  }
  return { valid: true, reply: { status: 202, body: answer } }
}

function refuse(why: string): Decided {
  const body = { status: 'invalid event', message: 'Event object is invalid', errors: [why] }
  return { valid: why, reply: { status: 400, body } }
}

function accept(incidents: Map<string, Incident>, request: SinkRequest): void {
  const said = event.parse(request.json)
  if (said.dedup_key === undefined) return
  const key = `${said.routing_key} ${said.dedup_key}`
  const known = incidents.get(key)
  if (said.event_action === 'trigger') {
    const incident = known ?? {
      state: 'resolved',
      opened: 0,
      triggers: 0,
      acknowledges: 0,
      resolves: 0,
    }
    incidents.set(key, incident)
    incident.triggers += 1
    if (incident.state !== 'resolved') return
    incident.state = 'triggered'
    incident.opened += 1
  } else if (known && said.event_action === 'acknowledge') {
    known.acknowledges += 1
    if (known.state === 'triggered') known.state = 'acknowledged'
  } else if (known) {
    known.resolves += 1
    known.state = 'resolved'
  }
}
