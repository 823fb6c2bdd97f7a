// The services that presets of kind `http` reach: what each takes, its limits, and the answer of a
// success. Written from the services' documentation, not from the presets.

import { z } from 'zod'
import { explain } from '../requests.ts'
import { type Decided, type Sink, type SinkRequest, text, webUrl } from './sink.ts'

export const PRESETS_PREFIX = '/http/'
/** In addresses, headers and bodies, wherever a service takes one. */
export const PRESET_SECRET = 'preset-s3cret-0123'

interface Service {
  /** Of the whole body. */
  maxBytes?: number
  /** A header that must be there. */
  authorization?: string
  /** Parameters that must be there. */
  query?: Record<string, string>
  /** By what follows the service's address: '' is the address itself. */
  takes: Record<string, z.ZodType>
  answer: [number, (string | object)?]
  /** Of an incident: its key, and what the request does to it. */
  incident?(json: Json, path: string): [key: string, action: Action]
}

// biome-ignore lint/suspicious/noExplicitAny: bodies that a schema has checked
type Json = any
type Action = 'open' | 'acknowledge' | 'resolve'
type Incidents = ReadonlyMap<string, readonly Action[]>

const key = text(255)
const time = z.iso.datetime()
const markdown = (max: number) => z.string().max(max)
const jsmNote = z.strictObject({ source: text(100), note: text(25_000) })
const splunk = z.strictObject({
  message_type: z.enum(['CRITICAL', 'WARNING', 'INFO', 'ACKNOWLEDGEMENT', 'RECOVERY']),
  entity_id: key,
  entity_display_name: z.string(),
  state_message: z.string(),
  monitoring_tool: z.string(),
})
const splunkActions: Record<string, Action> = {
  ACKNOWLEDGEMENT: 'acknowledge',
  RECOVERY: 'resolve',
}

const services = {
  jsm: {
    authorization: `GenieKey ${PRESET_SECRET}`,
    takes: {
      '': z.strictObject({
        message: text(130),
        alias: text(512),
        description: text(15_000),
        priority: z.enum(['P1', 'P2', 'P3', 'P4', 'P5']),
        source: text(100),
        entity: text(512).optional(),
        tags: z.array(text(50)).max(20),
        details: z.record(z.string(), text(8_000)),
      }),
      acknowledge: jsmNote,
      close: jsmNote,
    },
    answer: [202, { result: 'Request will be processed', took: 0.1, requestId: 'r' }],
    incident: (json, path) => {
      const [alias = '', action] = path.split('/')
      if (action === undefined) return [json.alias, 'open']
      return [decodeURIComponent(alias), action === 'close' ? 'resolve' : 'acknowledge']
    },
  },
  'incident-io': {
    maxBytes: 512_000,
    authorization: `Bearer ${PRESET_SECRET}`,
    takes: {
      '': z.strictObject({
        title: text(1_000),
        description: z.string().optional(),
        deduplication_key: key,
        status: z.enum(['firing', 'resolved']),
        source_url: webUrl.optional(),
        metadata: z.record(z.string(), z.unknown()).optional(),
      }),
    },
    answer: [202, { status: 'success', message: 'Event accepted for processing' }],
    incident: ({ deduplication_key, status }) => [
      deduplication_key,
      status === 'firing' ? 'open' : 'resolve',
    ],
  },
  servicenow: {
    authorization: `Basic ${PRESET_SECRET}`,
    takes: {
      '': z.strictObject({
        records: z.array(
          z.strictObject({
            source: text(100),
            node: text(100).optional(),
            type: text(100),
            resource: text(100).optional(),
            event_class: text(100),
            severity: z.enum(['0', '1', '2', '3', '4', '5']),
            message_key: text(1_024),
            description: text(4_000),
          }),
        ),
      }),
    },
    answer: [200, { result: { 'Default Bulk Endpoint': '1 events were inserted' } }],
    incident: ({ records: [one] }) => [one.message_key, one.severity === '0' ? 'resolve' : 'open'],
  },
  'splunk-on-call': {
    maxBytes: 20_480,
    takes: { '': splunk },
    answer: [200, { result: 'success' }],
    incident: ({ entity_id, message_type }) => [entity_id, splunkActions[message_type] ?? 'open'],
  },
  grafana: {
    takes: {
      '': z.strictObject({
        alert_uid: key,
        title: text(1_000),
        state: z.enum(['alerting', 'ok']),
        link_to_upstream_details: webUrl,
        message: z.string(),
      }),
    },
    answer: [200, 'Ok.'],
    incident: ({ alert_uid, state }) => [alert_uid, state === 'ok' ? 'resolve' : 'open'],
  },
  alertmanager: {
    takes: {
      '': z.array(
        z
          .strictObject({
            labels: z.record(z.string().regex(/^[a-z_]+$/), z.string().min(1)),
            annotations: z.record(z.string(), z.string()),
            startsAt: time.optional(),
            endsAt: time,
            generatorURL: webUrl,
          })
          .refine(({ startsAt, endsAt }) => startsAt === undefined || endsAt >= startsAt),
      ),
    },
    answer: [200],
    incident: ([{ labels, endsAt }]) => [
      JSON.stringify(labels),
      // what has ended by now is resolved
      Date.parse(endsAt) <= Date.now() ? 'resolve' : 'open',
    ],
  },
  'google-chat': {
    maxBytes: 32_000,
    query: { key: PRESET_SECRET, messageReplyOption: 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD' },
    takes: {
      '': z.strictObject({
        text: text(4_096),
        thread: z.strictObject({ threadKey: text(4_000) }),
        cardsV2: z.array(
          z.strictObject({
            cardId: z.string(),
            card: z.strictObject({
              header: z.strictObject({ title: text(200) }),
              sections: z.array(
                z.strictObject({
                  widgets: z.array(
                    z.union([
                      z.strictObject({ textParagraph: z.strictObject({ text: text(16_000) }) }),
                      z.strictObject({
                        buttonList: z.strictObject({
                          buttons: z.array(
                            z.strictObject({
                              text: text(40),
                              onClick: z.strictObject({
                                openLink: z.strictObject({ url: webUrl }),
                              }),
                            }),
                          ),
                        }),
                      }),
                    ]),
                  ),
                }),
              ),
            }),
          }),
        ),
      }),
    },
    answer: [200, { name: 'spaces/S/messages/M' }],
  },
  discord: {
    query: { wait: 'true' },
    takes: {
      '': z.strictObject({
        content: text(2_000),
        embeds: z
          .array(
            z.strictObject({
              title: text(256),
              url: webUrl,
              description: text(4_096),
              color: z.int().min(0).max(0xffffff),
            }),
          )
          .max(10)
          .refine(
            (embeds) =>
              embeds.every(({ title, description }) => (title + description).length < 5_800),
            'more than 6,000 characters',
          ),
        allowed_mentions: z.strictObject({ parse: z.array(z.never()) }),
      }),
    },
    answer: [200, { id: '1' }],
  },
  mattermost: {
    takes: {
      '': z.strictObject({
        attachments: z.array(
          z.strictObject({
            fallback: z.string(),
            title: z.string(),
            text: markdown(16_383),
            color: z.string().regex(/^#[0-9a-f]{6}$/),
          }),
        ),
      }),
    },
    answer: [200, 'ok'],
  },
  telegram: {
    takes: {
      '': z.strictObject({
        chat_id: z.string().min(1),
        text: text(4_096),
        link_preview_options: z.strictObject({ is_disabled: z.literal(true) }),
        reply_markup: z.strictObject({
          inline_keyboard: z.array(z.array(z.strictObject({ text: text(64), url: webUrl }))),
        }),
      }),
    },
    answer: [200, { ok: true, result: { message_id: 1 } }],
  },
  ntfy: {
    maxBytes: 16_384,
    takes: {
      '': z.strictObject({
        topic: z.string().regex(/^[-_A-Za-z0-9]{1,64}$/),
        title: text(250),
        message: z.string().refine((one) => Buffer.byteLength(one) <= 4_096),
        priority: z.int().min(1).max(5),
        tags: z.array(z.string()),
        click: webUrl,
        actions: z
          .array(z.strictObject({ action: z.literal('view'), label: text(64), url: webUrl }))
          .max(3),
      }),
    },
    answer: [200, { id: 'x', event: 'message' }],
  },
  pushover: {
    takes: {
      '': z.strictObject({
        token: z.literal(PRESET_SECRET),
        user: z.literal(PRESET_SECRET),
        title: text(250),
        message: text(1_024),
        url: webUrl.max(512),
        url_title: text(100),
        priority: z.int().min(-2).max(1),
      }),
    },
    answer: [200, { status: 1, request: 'r' }],
  },
  apprise: {
    takes: {
      '': z.strictObject({
        title: z.string(),
        body: text(32_768),
        type: z.enum(['info', 'success', 'warning', 'failure']),
        format: z.literal('text'),
      }),
    },
    answer: [200, 'Notification(s) sent.'],
  },
} satisfies Record<string, Service>

export type PresetName = keyof typeof services
export const presetNames = Object.keys(services) as PresetName[]

export interface PresetSink extends Sink {
  /** By key: what was done to each incident. */
  readonly incidents: Incidents
}

export function presetSink(name: PresetName): PresetSink {
  const service: Service = services[name]
  const incidents = new Map<string, Action[]>()
  return {
    incidents,
    judge: (request) => judge(name, service, request),
    accept: ({ json, path }) => {
      if (service.incident === undefined) return
      const [at, action] = service.incident(json, pathIn(name, path))
      incidents.set(at, [...(incidents.get(at) ?? []), action])
    },
  }
}

/** What follows the service's address, without its query. */
function pathIn(name: PresetName, path: string): string {
  return path.split('?', 1)[0]!.slice(PRESETS_PREFIX.length + name.length + 1)
}

function judge(name: PresetName, service: Service, request: SinkRequest): Decided {
  const { authorization, maxBytes = Number.POSITIVE_INFINITY, query = {}, takes, answer } = service
  const refuse = (why: string, status = 400): Decided => {
    return { valid: why, reply: { status, body: { error: why } } }
  }
  const { headers, path, body, json } = request
  if (!headers['content-type']?.startsWith('application/json')) return refuse('not JSON', 415)
  if (authorization !== undefined && headers.authorization !== authorization) {
    return refuse('the key is wrong', 401)
  }
  const given = new URLSearchParams(path.split('?')[1])
  const lacking = Object.entries(query).find(([one, value]) => given.get(one) !== value)
  if (lacking !== undefined) return refuse(`the parameter ${lacking[0]} is missing`)
  if (Buffer.byteLength(body) > maxBytes) return refuse('too long', 413)
  const place = pathIn(name, path).split('/').at(-1) ?? ''
  const schema = takes[pathIn(name, path) === '' ? '' : place]
  if (schema === undefined) return refuse('unknown path', 404)
  const parsed = schema.safeParse(json)
  if (!parsed.success) return refuse(explain(parsed.error))
  const [status, said] = answer
  return { valid: true, reply: { status, ...(said !== undefined && { body: said }) } }
}
