// The contract's table: one row for each kind of channel. A new kind needs a row here, and every test in
// this folder holds for it, and the preview shows it.
import { addressOf } from '../../functions/core/rules/address.ts'
import { type Channel, channelSecrets, type Notifiers } from '../../functions/notify/kinds.ts'
import type { Sinks } from '../simulator/sinks.ts'
import { hookSecret, routingKey } from '../support/world.ts'

export type Kind = keyof Notifiers
export type Json = ReturnType<typeof JSON.parse>

/** A status, and the text that comes with it. */
type Answer = readonly [number, string?]

interface Row<K extends Kind> {
  /** With a secret in it that no outcome may show. */
  channel: Extract<Channel, { kind: K }>
  /** The same kind at the address of the simulated channels; undefined where they have none of it. */
  simulated(sinks: Sinks): Channel | undefined
  contentType: string
  /** What becomes of a message for each answer; the first of `delivered` is the usual one. */
  /** `broken`: refused, and any other message would be. */
  answers: Record<'delivered' | 'retry' | 'refused' | 'broken', Answer[]>
  /**
   * What an answer comes to whose status is the usual one and whose text breaks off; never another attempt, as
   * the message may stand there.
   */
  brokenOff: 'delivered' | 'refused'
  /**
   * The service's own limit: so many requests in any such time. `ahead`: what it lets pass beyond that, where
   * the limit is about so many and short bursts are taken.
   */
  takes: { requests: number; inMs: number; ahead: 0 | 1 } | 'whatever comes'
  /** Longest body, in bytes. */
  maxBodyBytes: number
  /** Of an answer, no more than this is read; 8 KB, if nothing is said. */
  maxAnswerKb?: number
  /** Behind its address, where it has several. */
  path?: string
  /** As an owner writes it, where that is another kind than inside. */
  written?: string
  /** The texts of a body that a person reads, without marks of the kind's own; none where a machine does. */
  texts(body: Json): string[]
  /**
   * What the service would make of such a text beyond its words: mentions, links, formatting. No name may
   * bring it in; 'nothing' where whatever is sent is shown as it is.
   */
  live: RegExp | 'nothing'
}

/** What not every kind needs. */
export type Extras = Pick<Row<Kind>, 'maxAnswerKb' | 'path' | 'written'>

const each = (...statuses: number[]): Answer[] => statuses.map((status) => [status])
const said = (error: string) => JSON.stringify({ ok: false, error })

const redirects = each(300, 301, 302, 303, 304, 307, 308)
/** A sign-in, or whatever else something in between shows to a browser. */
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
/** The address is no longer valid, or lets nobody in. */
const gone = each(401, 403, 404, 410)
const busy = each(408, 425, 429, 500, 502, 503, 504, 599)
const busyTexts: Answer[] = [
  [429, 'slow down'],
  [500, '<html>oops</html>'],
]

/** Codes of Slack's Web API that pass without anybody's doing. */
const slackPasses = [
  ...['ratelimited', 'message_limit_exceeded', 'internal_error', 'fatal_error'],
  ...['service_unavailable', 'request_timeout', 'update_failed'],
  ...['team_added_to_org', 'org_login_required', 'external_channel_migrating'],
]

/** What stands between < and >, an entity but the three of Slack, its marks where they count, and `:emoji:`. */
const slackLive =
  /[<>]|&(?!amp;|lt;|gt;)|[*`~]|(?<![A-Za-z0-9_])_|_(?![A-Za-z0-9_])|:[\p{L}_+'-]+:|^\s*(?:&gt;|＞)/mu

/** Of an Adaptive Card: what no backslash takes its meaning, and what some clients read in spite of one. */
const markdown =
  /(?<!\\)(?:\\\\)*(?:[`*~<>|[\]]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}]))|\]\(|\{\{|^\s*(?:[#+-]|\d+[.)](?!\S))/u

/** What Slack says of an incoming webhook that takes nothing any more. */
const slackWebhookGone = [
  ...['invalid_token', 'no_service', 'no_service_id', 'no_active_hooks', 'no_team'],
  ...['team_disabled', 'action_prohibited', 'posting_to_general_channel_denied'],
  ...['channel_not_found', 'channel_is_archived', 'user_not_found'],
]

export const kindTable: { [K in Kind]: Row<K> } = {
  slack: {
    channel: { kind: 'slack', url: 'https://slack.example/services/T0/B0/path-secret' },
    simulated: ({ slackUrl }) => ({ kind: 'slack', url: slackUrl }),
    contentType: 'application/json',
    answers: {
      delivered: [
        [200, 'ok'],
        [200, 'ok\n'],
      ],
      retry: [...busy, ...busyTexts, [200, said('rate_limited')], [200, said('ratelimited')]],
      refused: [
        // Slack says "ok" of what it took: an empty answer is of something in between
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
      ...{ kind: 'slack_bot', token: 'xoxb-path-secret', channel: 'C0123456789' },
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
    // whether and where it stands is not known
    brokenOff: 'refused',
    // of chat.update; with each comes one chat.postMessage at most, of which about one a second is taken
    takes: { requests: 50, inMs: 60_000, ahead: 1 },
    maxBodyBytes: 100_000,
    // Slack repeats the whole message
    maxAnswerKb: 260,
    path: '/chat.postMessage',
    written: 'slack',
    texts: slackTexts,
    live: slackLive,
  },
  teams: {
    channel: {
      kind: 'teams',
      url: 'https://teams.example/flow/run?api-version=1&sig=query%2Dsecret',
    },
    simulated: ({ teamsUrl }) => ({ kind: 'teams', url: teamsUrl }),
    contentType: 'application/json',
    answers: {
      // 202 of the flow itself; where it ends in a Response action, its owner chose status and text
      delivered: [
        [202],
        [200, 'ok'],
        [200, ''],
        [200, '{"taken":true}'],
        [200, 'a < b'],
        ...each(201, 204, 205, 299),
      ],
      retry: [...busy, ...busyTexts],
      refused: faults,
      broken: [...gone, ...redirects, ...webPages],
    },
    brokenOff: 'delivered',
    takes: { requests: 4, inMs: 1_000, ahead: 1 },
    // what Teams takes in practice is less than what its documentation says
    maxBodyBytes: 20 * 1024,
    texts: (body) => body.attachments[0].content.body.flatMap(textsOfElement),
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
      ],
      retry: [...busy, ...busyTexts],
      refused: [
        ...[...faults, ...each(200, 201, 204, 205, 299)],
        [400, '{"status":"invalid event","errors":["\'severity\' is invalid"]}'],
      ],
      broken: [
        ...[...gone, ...redirects, ...webPages],
        [400, '{"status":"invalid event","errors":["\'routing_key\' is invalid"]}'],
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
  webhook: {
    channel: { kind: 'webhook', url: 'https://hook.example/in/path-secret', secret: [hookSecret] },
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
        // what a receiver of one's own says is its own matter
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
) as { [K in Kind]: Row<K>['channel'] }

/** Where a message is sent. */
export function targetOf(kind: Kind): string {
  const { path = '' }: Extras = kindTable[kind]
  return addressOf(channels[kind]) + path
}

/** Each part of each channel that is secret, also as a host would have decoded it. */
export const secretParts = new RegExp(
  [
    ...kinds.flatMap((kind) => channelSecrets(channels[kind])).filter((part) => part.length > 8),
    ...['path-secret', 'query-secret', '0123456789abcdef', 'aG9va3Nl'],
  ]
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('|'),
)

/** Titles are bold in Slack, and the way to the page is a link. */
function slackTexts({ text, blocks }: Json): string[] {
  const texts: string[] = [text, ...blocks.flatMap(textsOfBlock)]
  return texts.map((one) =>
    one.replace(/^(\S+ )?\*([^*\n]+)\*\n/u, '$1$2\n').replace(/ <https:[^<>|]+\|[\w ]+>$/, ''),
  )
}

function textsOfBlock({ text, fields = [], elements = [] }: Json): string[] {
  const parts = [text, ...fields, ...elements].filter(Boolean)
  return parts.map((part) => (typeof part.text === 'string' ? readIn(part) : readIn(part.text)))
}

/** Where a text is plain, Slack reads no mentions and needs no entities. */
function readIn({ type, text }: Json): string {
  return type === 'plain_text' ? text.replace(/[&<>]/g, ' ') : text
}

function textsOfElement({ text, facts = [], items = [] }: Json): string[] {
  const values = facts.flatMap((fact: Json) => [fact.title, fact.value])
  return [...(text === undefined ? [] : [text]), ...values, ...items.flatMap(textsOfElement)]
}
