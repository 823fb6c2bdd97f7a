// The contract's table: one row for each kind of channel. If a new kind has a row here, every test
// in this folder covers it, and the preview shows it.
import { readAddress } from '../../functions/core/rules/address.ts'
import type { Notifier } from '../../functions/notify/notifier.ts'
import {
  type Channel,
  channelSecrets,
  type Notifiers,
  notifiers,
} from '../../functions/notify/registry.ts'
import { groupedKinds } from '../features/kinds.ts'
import type { Sinks } from '../simulator/sinks.ts'
import { hookSecret, routingKey } from '../support/world.ts'
import { type HttpName, httpNames, httpRow } from './presets.ts'

/** A kind of channel; or a preset of kind `http`, or a template of an owner's. */
export type Kind = Exclude<keyof Notifiers, 'http' | 'http_incidents'> | HttpName
export type Json = ReturnType<typeof JSON.parse>

/** A status, and the text that comes with it. */
type Answer = readonly [number, string?]

interface Row<Own extends Channel = Channel> {
  /** Contains a secret that no outcome may show. */
  channel: Own
  /** The same kind at the simulated channels. Undefined if they lack it. */
  simulated(sinks: Sinks): Channel | undefined
  contentType: string
  /**
   * The outcome of each answer. The first of `delivered` is the usual answer. `broken`: refused,
   * and so would be every other message.
   */
  answers: Record<'delivered' | 'retry' | 'refused' | 'broken', readonly Answer[]>
  /** The outcome if a usual answer breaks off. Never `retry`. */
  brokenOff: 'delivered' | 'refused'
  /** The limit of the service. `ahead`: how many more it accepts in a burst. */
  takes: { requests: number; inMs: number; ahead: number } | 'whatever comes'
  /** Longest body, in bytes. */
  maxBodyBytes: number
  /** How much of an answer is read. 8 KB if absent. */
  maxAnswerKb?: number
  /** After its address, if it has several paths. */
  path?: string
  /** What an owner writes, if the relay uses other keys inside. */
  written?: object
  /** An entry under this key of the configuration: the relay goes on sending what it refuses. */
  group?: string
  /** The scenes whose layouts differ. */
  layouts?: readonly string[]
  /** The texts that a person reads in a body, without the kind's own marks. */
  texts(body: Json): string[]
  /** Markup that the service would obey: mentions, links, formatting. No name may introduce it. */
  live: RegExp | 'nothing'
}

/** Keys that not every kind needs. */
export type Extras = Pick<Row, 'maxAnswerKb' | 'path' | 'written' | 'group' | 'layouts'>

const each = (...statuses: number[]): Answer[] => statuses.map((status) => [status])
/** What a connector of Teams answers with 200. */
const connectorError = (status: number) =>
  `Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error ${status} with ContextId tcid=0,server=test,cv=AA.1.0..`
const said = (error: string) => JSON.stringify({ ok: false, error })

const redirects = each(300, 301, 302, 303, 304, 307, 308)
/** Pages of a proxy, such as a sign-in. */
export const webPages: Answer[] = [
  '<html>Sign in</html>',
  '\n<!DOCTYPE html>\n<html lang="en"><head><title>Sign in</title></head></html>',
  '<?xml version="1.0"?><!doctype html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN">',
  '<!-- gateway --><script>location = "https://login.example/"</script>',
].flatMap((text): Answer[] => [
  [200, text],
  [202, text],
])
const faults = each(400, 405, 413)
/** The address is no longer valid, or rejects everybody. */
const gone = each(401, 403, 404, 410)
const busy = each(408, 425, 429, 500, 502, 503, 504, 599)
const busyTexts: Answer[] = [
  [429, 'slow down'],
  [500, '<html>oops</html>'],
]

/** Temporary codes of Slack's Web API. */
const slackPasses = [
  ...['ratelimited', 'message_limit_exceeded', 'internal_error', 'fatal_error'],
  ...['service_unavailable', 'request_timeout', 'update_failed'],
  ...['team_added_to_org', 'org_login_required', 'external_channel_migrating'],
]

/** < and >, entities other than Slack's three, marks where Slack reads them, and `:emoji:`. */
const slackLive =
  /[<>]|&(?!amp;|lt;|gt;)|[*`~]|(?<![A-Za-z0-9_])_|_(?![A-Za-z0-9_])|:[\p{L}_+'-]+:|^\s*(?:&gt;|＞)/mu

/** Markup of an Adaptive Card that a backslash does not, or not everywhere, prevent. */
const markdown =
  /(?<!\\)(?:\\\\)*(?:[`*~<>|[\]]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}]))|\]\(|\{\{|^\s*(?:[#+-]|\d+[.)](?!\S))/u

/** Slack's codes for an incoming webhook that no longer works. */
const slackWebhookGone = [
  ...['invalid_token', 'no_service', 'no_service_id', 'no_active_hooks', 'no_team'],
  ...['team_disabled', 'action_prohibited', 'posting_to_general_channel_denied'],
  ...['channel_not_found', 'channel_is_archived', 'user_not_found'],
]

/** Of Azure Communication Services. */
const acsKey = Buffer.from('a key of Communication Services, of 64 bytes').toString('base64')

const mailAnswers: Row['answers'] = {
  delivered: [
    [202, '{"id":"1","status":"Succeeded"}'],
    [200, '2.0.0 OK'],
    ...each(201, 204, 205, 299),
  ],
  retry: [...busy, ...busyTexts],
  refused: faults,
  broken: [...gone, ...redirects, ...webPages],
}

const refusals = { retry: [...busy, ...busyTexts], refused: faults }
const https = Object.fromEntries(
  httpNames.map((name) => {
    return [name, httpRow(name, { ...refusals, broken: [...gone, ...redirects, ...webPages] })]
  }),
) as unknown as Record<HttpName, Row>

/** What the kinds of groups share. They are sent to until they take it. */
const sink = {
  answers: {
    delivered: [[204], [200, ''], ...each(201, 202, 205, 299)],
    retry: [...busy, ...busyTexts, ...faults, ...gone, ...redirects, ...webPages],
    refused: [],
    broken: [],
  },
  brokenOff: 'delivered',
  takes: 'whatever comes',
  maxBodyBytes: 1_048_576,
  texts: () => [],
  live: 'nothing',
} satisfies Partial<Row>

type Grouped = keyof typeof groupedKinds

const grouped = Object.fromEntries(
  Object.entries<object>(groupedKinds).map(([kind, row]) => [kind, { ...sink, ...row }]),
) as unknown as { [K in Grouped]: Row<Extract<Channel, { kind: K }>> }

export const kindTable: Record<HttpName, Row> & {
  [K in Exclude<Kind, HttpName>]: Row<Extract<Channel, { kind: K }>>
} = {
  ...https,
  slack: {
    channel: { kind: 'slack', url: 'https://slack.example/services/T0/B0/path-s3cret' },
    simulated: ({ slackUrl }) => ({ kind: 'slack', url: slackUrl }),
    contentType: 'application/json',
    answers: {
      delivered: [
        [200, 'ok'],
        [200, 'ok\n'],
      ],
      retry: [...busy, ...busyTexts, [200, said('rate_limited')], [200, said('ratelimited')]],
      refused: [
        // Slack answers "ok" if it accepts a message, so an empty answer is from a proxy.
        ...[...faults, ...each(201, 202, 204, 205, 299)],
        [200, ''],
        [200, 'okay'],
        [200, '{"ok":true}'],
        [200, said('invalid_blocks')],
        [400, 'invalid_payload'],
        [400, 'no_text'],
        [400, 'too_many_attachments'],
      ],
      broken: [
        ...[...gone, ...redirects, ...webPages],
        ...slackWebhookGone.flatMap((code): Answer[] => [
          ...[200, 400, 403, 404, 410, 500].map((status): Answer => [status, code]),
          [400, `${code}\n`],
          [200, said(code)],
        ]),
      ],
    },
    brokenOff: 'delivered',
    takes: { requests: 1, inMs: 1_000, ahead: 1 },
    maxBodyBytes: 100_000,
    texts: slackTexts,
    live: slackLive,
  },
  slack_bot: {
    channel: {
      ...{ kind: 'slack_bot', token: 'xoxb-path-s3cret', channel: 'C0123456789' },
      endpoint: 'https://slack.example/api',
    },
    simulated: ({ slackBot }) => ({ kind: 'slack_bot', ...slackBot }),
    contentType: 'application/json; charset=utf-8',
    answers: {
      delivered: [[200, '{"ok":true,"channel":"C0123456789","ts":"1795262401.000100"}']],
      retry: [...[...busy, ...busyTexts], ...slackPasses.map((code): Answer => [200, said(code)])],
      refused: [
        ...[...faults, ...each(201, 202, 204, 205, 299)],
        [200, ''],
        [200, 'ok'],
        [200, '{"ok":true}'],
        ...['msg_too_long', 'invalid_blocks'].map((code): Answer => [200, said(code)]),
      ],
      broken: [
        ...[...gone, ...redirects, ...webPages],
        ...['channel_not_found', 'is_archived', 'not_in_channel'].map(
          (code): Answer => [200, said(code)],
        ),
        ...['invalid_auth', 'token_revoked', 'account_inactive', 'missing_scope'].map(
          (code): Answer => [200, said(code)],
        ),
      ],
    },
    // The message may have been posted.
    brokenOff: 'refused',
    // The limit of chat.update. Each comes with at most one chat.postMessage (about one a second).
    takes: { requests: 50, inMs: 60_000, ahead: 1 },
    maxBodyBytes: 100_000,
    // Slack repeats the whole message.
    maxAnswerKb: 260,
    path: '/chat.postMessage',
    written: { kind: 'slack', token: 'xoxb-path-s3cret', channel: 'C0123456789' },
    texts: slackTexts,
    live: slackLive,
  },
  teams: {
    channel: {
      kind: 'teams',
      url: 'https://teams.example/flow/run?api-version=1&sig=query%2Ds3cret',
    },
    simulated: ({ teamsUrl }) => ({ kind: 'teams', url: teamsUrl }),
    contentType: 'application/json',
    answers: {
      // The flow answers 202. If it ends with a "Response" action, its owner chose status and text.
      delivered: [
        [202],
        [200, 'ok'],
        [200, ''],
        [200, '{"taken":true}'],
        [200, 'a < b'],
        [200, '1'],
        [200, '{"success":true,"error":null}'],
        [200, 'Posted. 0 failed'],
        ...each(201, 204, 205, 299),
      ],
      retry: [
        ...[...busy, ...busyTexts],
        [200, connectorError(429)],
        [200, connectorError(503)],
        [202, '{"error":{"code":429,"message":"Rate limit is exceeded"}}'],
      ],
      refused: [
        ...faults,
        [200, connectorError(413)],
        [200, connectorError(400)],
        [200, 'Bad payload received by generic incoming webhook: failed'],
        [200, '{"error":{"code":"InvalidRequestContent","message":"no card"}}'],
      ],
      broken: [
        ...[...gone, ...redirects, ...webPages],
        [200, connectorError(404)],
        [200, connectorError(410)],
      ],
    },
    brokenOff: 'delivered',
    takes: { requests: 4, inMs: 1_000, ahead: 1 },
    // In practice, Teams accepts less than its documentation says.
    maxBodyBytes: 20 * 1024,
    texts: (body) => body.attachments[0].content.body.flatMap(textsOfElement),
    live: markdown,
  },
  teams_bot: {
    channel: {
      ...{ kind: 'teams_bot', channelId: '19:ops@thread.tacv2' },
      ...{
        tenantId: '7e7e7e7e-0000-4000-8000-000000000001',
        endpoint: 'https://bot.example/teams',
      },
    },
    simulated: ({ teamsBot }) => ({ kind: 'teams_bot', ...teamsBot }),
    contentType: 'application/json',
    answers: {
      delivered: [[201, '{"id":"19:c@thread.tacv2;messageid=1","activityId":"1"}']],
      retry: [...busy, ...busyTexts, ...each(401, 412)],
      refused: [...faults, ...each(200, 202, 204, 205, 299), [201, ''], [201, '{"id":"1"}']],
      broken: [...each(403, 404, 410), ...redirects, ...webPages],
    },
    // The message may have been posted.
    brokenOff: 'refused',
    // Half of the limit, as an edit comes with a reply.
    takes: { requests: 30, inMs: 30_000, ahead: 1 },
    maxBodyBytes: 28 * 1024,
    path: '/v3/conversations',
    written: {
      ...{ kind: 'teams', channelId: '19:ops@thread.tacv2' },
      ...{
        tenantId: '7e7e7e7e-0000-4000-8000-000000000001',
        endpoint: 'https://bot.example/teams',
      },
    },
    texts: ({ activity, ...message }) =>
      (activity ?? message).attachments[0].content.body.flatMap(textsOfElement),
    live: markdown,
  },
  pagerduty: {
    channel: { kind: 'pagerduty', routingKey, endpoint: 'https://pager.example/v2/enqueue' },
    simulated: ({ pagerDutyEndpoint: endpoint }) => ({ kind: 'pagerduty', routingKey, endpoint }),
    contentType: 'application/json',
    answers: {
      delivered: [
        [202, '{"status":"success","message":"Event processed","dedup_key":"k"}'],
        [202, '{"status":"success"}'],
        [202, '{}'],
        [202, ''],
        [200, '{"status":"success"}'],
        [201, '{"status":"success","message":"taken"}'],
      ],
      retry: [...busy, ...busyTexts],
      refused: [
        ...[...faults, ...each(200, 201, 204, 205, 299)],
        [400, '{"status":"invalid event","errors":["\'severity\' is invalid"]}'],
        [400, '{"status":"invalid event","errors":["\'payload.summary\' is missing or blank"]}'],
      ],
      broken: [
        ...[...gone, ...redirects, ...webPages],
        [400, '{"status":"invalid event","errors":["\'routing_key\' is invalid"]}'],
        [400, '{"status":"invalid event","errors":["Invalid routing key"]}'],
        [400, 'Invalid Routing Key'],
        [400, '{"errors":["Length of \'routing_key\' is incorrect (should be 32 characters)"]}'],
      ],
    },
    brokenOff: 'delivered',
    takes: { requests: 120, inMs: 60_000, ahead: 0 },
    maxBodyBytes: 512_000,
    texts: ({
      payload: { summary, source, group, class: type, custom_details = {} },
      links = [],
    }) => [
      ...[summary, source, group, type],
      ...Object.values<string>(custom_details),
      ...links.map((link: Json) => link.text),
    ],
    live: 'nothing',
  },
  mail: {
    channel: {
      ...{ kind: 'mail', endpoint: 'smtp://smtp.example:587', tls: 'required' },
      ...{ user: 'foghorn', password: 'path-s3cret-of-mail' },
      ...{ from: 'foghorn@foghorn.example', to: ['ops@foghorn.example'] },
    },
    simulated: () => undefined,
    contentType: 'application/json',
    // what smtp.ts makes of a server's reply
    answers: mailAnswers,
    brokenOff: 'delivered',
    takes: { requests: 30, inMs: 60_000, ahead: 1 },
    maxBodyBytes: 200_000,
    written: {
      ...{ kind: 'mail', server: 'smtp.example', user: 'foghorn', password: 'path-s3cret-of-mail' },
      ...{ from: 'foghorn@foghorn.example', to: 'ops@foghorn.example' },
    },
    texts: ({ subject, text, html }) => mailTexts(subject, text, html),
    live: /[<>]/,
  },
  mail_azure: {
    channel: {
      ...{ kind: 'mail_azure', endpoint: 'https://mail.example', accessKey: acsKey },
      ...{ from: 'foghorn@foghorn.example', to: ['ops@foghorn.example'] },
    },
    simulated: () => undefined,
    contentType: 'application/json',
    answers: mailAnswers,
    brokenOff: 'delivered',
    // 10 an hour, half of them at once: what is urgent does not wait
    takes: { requests: 6, inMs: 3_600_000, ahead: 4 },
    maxBodyBytes: 200_000,
    path: '/emails:send?api-version=2023-03-31',
    written: {
      ...{ kind: 'mail', endpoint: 'https://mail.example', accessKey: acsKey },
      ...{ from: 'foghorn@foghorn.example', to: 'ops@foghorn.example' },
    },
    texts: ({ content: { subject, plainText, html } }) => mailTexts(subject, plainText, html),
    live: /[<>]/,
  },
  ...grouped,
  webhook: {
    channel: { kind: 'webhook', url: 'https://hook.example/in/path-s3cret', secret: [hookSecret] },
    simulated: ({ webhookUrl: url, webhookSecret }) => ({
      kind: 'webhook',
      url,
      secret: [webhookSecret],
    }),
    contentType: 'application/cloudevents+json',
    answers: {
      delivered: [
        [204],
        [200, 'ok'],
        [200, ''],
        // The text of a receiver's answer has no meaning.
        ...webPages,
        ...each(201, 202, 205, 299),
      ],
      retry: [...busy, ...busyTexts, ...faults, ...each(401, 403, 404)],
      refused: [],
      broken: [[410, 'gone'], ...redirects],
    },
    brokenOff: 'delivered',
    takes: 'whatever comes',
    maxBodyBytes: 19_999,
    texts: () => [],
    live: 'nothing',
  },
}

export const kinds = Object.keys(kindTable) as Kind[]

export const channels = Object.fromEntries(
  kinds.map((kind) => [kind, kindTable[kind].channel]),
) as { [K in Kind]: (typeof kindTable)[K]['channel'] }

/** What an address that can never work means: a kind of a group waits until somebody has repaired it. */
export function forbiddenOf(kind: Kind) {
  const { group }: Extras = kindTable[kind]
  return group !== undefined ? { outcome: 'retry' } : { outcome: 'refused', broken: true }
}

export function notifierFor({ kind }: Channel): Notifier<never> {
  return notifiers[kind] as Notifier<never>
}

export function notifierOf(kind: Kind): Notifier<never> {
  return notifierFor(channels[kind])
}

/** The address of a message. */
export function targetOf(kind: Kind): string {
  const { path = '' }: Extras = kindTable[kind]
  return readAddress(channels[kind]) + path
}

/** All secret parts of all channels, also in decoded form. */
export const secretParts = new RegExp(
  [
    ...kinds.flatMap((kind) => channelSecrets(channels[kind])).filter((part) => part.length > 8),
    ...['path-s3cret', 'query-s3cret', '0123456789abcdef', 'aG9va3Nl'],
  ]
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('|'),
)

/** The HTML without its own tags. In plain text, a bracket is a bracket. */
function mailTexts(subject: string, text: string, html: string): string[] {
  const without = (one: string) => one.replace(/https:\/\/foghorn\.example[^\s<]*/g, '')
  const plain = [subject, text].map(without)
  const own =
    /<!doctype html>|<style>[^<]*<\/style>|<\/?(?:html|head|meta|title|body|div|p|b|h1|h2|span|a|table|tr|td)(?: [a-z-]+="[^"<>]*")*>|&nbsp;/g
  return [...plain.map((one) => one.replace(/[<>]/g, '')), without(html.replace(own, ' ')).trim()]
}

/** Removes bold from titles in Slack, the link to the page and the reader's own time. */
function slackTexts({ text, blocks }: Json): string[] {
  const texts: string[] = [text, ...blocks.flatMap(textsOfBlock)]
  return texts.map((one) =>
    one
      .replace(/^(\S+ )?\*([^*\n]+)\*\n/u, '$1$2\n')
      .replace(/ <https:[^<>|]+\|[\w ]+>$/, '')
      .replace(/ \(<!date\^\d+\^\{time\} for you\|\d\d:\d\d UTC>\)$/, ''),
  )
}

function textsOfBlock({ text, fields = [], elements = [] }: Json): string[] {
  const parts = [text, ...fields, ...elements].filter(Boolean)
  return parts.map((part) => (typeof part.text === 'string' ? readIn(part) : readIn(part.text)))
}

/** In plain text, Slack reads no mentions and needs no entities. */
function readIn({ type, text }: Json): string {
  return type === 'plain_text' ? text.replace(/[&<>]/g, ' ') : text
}

function textsOfElement({ text, facts = [], items = [] }: Json): string[] {
  const values = facts.flatMap((fact: Json) => [fact.title, fact.value])
  const isOwn = /^For you: \{\{DATE\(\S+, SHORT\)\}\}, \{\{TIME\(\S+\)\}\}$/.test(text)
  return [
    ...(text === undefined || isOwn ? [] : [text]),
    ...values,
    ...items.flatMap(textsOfElement),
  ]
}
