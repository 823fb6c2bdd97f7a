// The contract's rows of kind `http`: a template of an owner's, and each preset. A preset has the usual
// answers of HTTP, so its row has only what differs.
import { type Channel, channelSchema } from '../../functions/notify/registry.ts'
import { PRESET_SECRET, type PresetName, presetNames } from '../simulator/sinks/presets.ts'
import type { Sinks } from '../simulator/sinks.ts'

type Json = ReturnType<typeof JSON.parse>

/** What an owner writes. Some presets know their address. */
type Written = Record<string, unknown> & { url?: string; settings?: Record<string, string> }

const secret = PRESET_SECRET
/** Of `{{settings.…}}`, for each preset that has some. */
const settings: Partial<Record<PresetName, Record<string, string>>> = {
  jsm: { key: secret },
  'incident-io': { source: '01ABC', token: secret },
  servicenow: { basic: secret },
  telegram: { token: `123:${secret}`, chat: '-1001234567890' },
  ntfy: { topic: 'foghorn-topic-s3cret' },
  pushover: { token: secret, user: secret },
}

/** Whose address an owner writes, in one of the service's own forms. */
const addresses: Partial<Record<PresetName, string>> = {
  'splunk-on-call': 'https://alert.victorops.example/integrations/generic/path-s3cret/routing',
  servicenow: 'https://acme.service-now.example/api/global/em/path-s3cret',
  grafana: 'https://oncall.example/integrations/v1/formatted_webhook/path-s3cret/',
  alertmanager: 'https://alertmanager.example/api/v2/alerts?tenant=query%2Ds3cret',
  'google-chat': `https://chat.example/v1/spaces/AAA/messages?key=${secret}&token=query%2Ds3cret`,
  discord: 'https://discord.example/api/webhooks/1/path-s3cret',
  mattermost: 'https://mattermost.example/hooks/path-s3cret',
  apprise: 'https://apprise.example/notify/path-s3cret',
}

/** Of the address that an owner writes. */
const usualQuery: Partial<Record<PresetName, string>> = {
  'google-chat': `?key=${secret}`,
}

/** What the request adds to the address. */
const added: Partial<Record<PresetName, string>> = {
  'google-chat': '&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD',
  discord: '?wait=true',
}

/** The only status of a success. Absent: any 2xx. */
const success: Partial<Record<PresetName, number>> = { jsm: 202, 'incident-io': 202, apprise: 200 }

const backslashed = /(?<!\\)(?:\\\\)*[*_~`|[\]<>#]/u
/** Marks that the service would obey. */
const live: Partial<Record<PresetName, RegExp>> = {
  'google-chat': /[<>*~`]/u,
  // but for the times that the preset writes
  discord: /(?<!\\)(?:\\\\)*(?:(?!<t:\d+:[fR]>)[*_~`|[\]<#]|(?<!<t:\d+:[fR])>)/u,
  mattermost: new RegExp(`${backslashed.source}|@`, 'u'),
}

export type HttpName = PresetName | 'template'
export const httpNames: HttpName[] = ['template', ...presetNames]

const written: Record<HttpName, Written> = {
  template: {
    kind: 'http',
    url: 'https://template.example/in/path-s3cret',
    settings: { token: secret },
    headers: { 'X-Token': '{{settings.token}}' },
    body: { title: '{{title}}', text: '{{lines}}\n{{facts}}', page: '{{page}}' },
  },
  ...(Object.fromEntries(
    presetNames.map((preset) => {
      const url = addresses[preset]
      const own = { ...(url && { url }), ...(settings[preset] && { settings: settings[preset] }) }
      return [preset, { kind: 'http', preset, ...own }]
    }),
  ) as unknown as Record<PresetName, Written>),
}

export function httpChannel(name: HttpName): Channel {
  return channelSchema.parse(written[name])
}

/** As an owner writes it for the simulated service. */
export function writtenFor(name: PresetName, sinks: Sinks): Written {
  const { settings: all = {}, ...rest } = written[name]
  const kept = Object.entries(all).filter(([key]) => !inAddress[name]?.includes(key))
  const own = kept.length === 0 ? {} : { settings: Object.fromEntries(kept) }
  return { ...rest, ...own, url: sinks.presetUrl(name) + (usualQuery[name] ?? '') }
}

/** Settings that only the preset's own address needs. */
const inAddress: Partial<Record<PresetName, string[]>> = {
  'incident-io': ['source'],
  telegram: ['token'],
}

const each = (...statuses: number[]): [number][] => statuses.map((status) => [status])

/** `common`: the answers that mean the same for every service. */
export function httpRow(
  name: HttpName,
  common: Record<'retry' | 'refused' | 'broken', readonly (readonly [number, string?])[]>,
) {
  const only = name === 'template' ? undefined : success[name]
  const others = [200, 201, 202, 204, 205, 299].filter((status) => status !== only)
  const isIncident = httpChannel(name).kind === 'http_incidents'
  const perSecond = { requests: 1, inMs: 1_000, ahead: 1 as const }
  return {
    channel: httpChannel(name),
    written: written[name],
    simulated: (sinks: Sinks) =>
      name === 'template' ? undefined : channelSchema.parse(writtenFor(name, sinks)),
    contentType: 'application/json',
    answers: {
      delivered: only === undefined ? [[200, 'ok'] as const, ...each(...others)] : each(only),
      retry: common.retry,
      refused: [...common.refused, ...(only === undefined ? [] : each(...others))],
      broken: common.broken,
    },
    brokenOff: 'delivered' as const,
    takes: isIncident ? { requests: 120, inMs: 60_000, ahead: 0 as const } : perSecond,
    maxBodyBytes: 100_000,
    path: name === 'template' ? '' : (added[name] ?? ''),
    texts: shownTexts,
    live: (name === 'template' ? undefined : live[name]) ?? ('nothing' as const),
  }
}

const ownLink = /\[[\w ]+\]\(https:\/\/foghorn\.example[^)]*\)|https:\/\/foghorn\.example\S*/g

/** All texts of a body, without addresses of the relay. */
function shownTexts(body: Json): string[] {
  // a colour is no text
  if (typeof body === 'string' && /^#[0-9a-f]{6}$/.test(body)) return []
  if (typeof body === 'string') return [body.replace(ownLink, '').trim()]
  if (typeof body !== 'object' || body === null) return []
  return Object.values(body).flatMap(shownTexts)
}
