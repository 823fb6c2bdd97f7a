// Presses in Slack: reads who pressed what, proven by Slack's signature, and answers. This process
// keeps the signatures it has seen, so a repeated payload does nothing. In another process, or if
// the set was full, a repeated press finds the event decided, or changed since its stamp.

import * as z from 'zod'
import { parseJson } from '../../../shared/json.ts'
import { maskOf } from '../../../shared/mask.ts'
import { linkless } from '../../../shared/presentable.ts'
import { type Hmac, isSame } from '../../../shared/signature.ts'
import { within } from '../../../shared/within.ts'
import type { SendOutcome } from '../../core/delivery/attempt.ts'
import { fromError, fromStatus, post, type Send } from '../notifier.ts'
import { composeRefusal, deadPresses } from '../press-texts.ts'
import type { Press, Reading, Reply, SlackPress, SlackPresses } from '../presses.ts'
import { actionIds, single, slackLine } from './blocks.ts'
import { escapeText, withName } from './text.ts'

/** Slack's own limit, early or late; https://docs.slack.dev/authentication/verifying-requests-from-slack */
const toleranceMs = 5 * 60_000
const usualSeen = 10_000
const maxReplyAttempts = 2
/** Slack accepts replies here. */
const replyOrigins = ['https://hooks.slack.com', 'https://hooks.slack-gov.com']

/** Keeps at most `maxSeen` signatures, and drops the oldest. */
export function createSlackPresses(hmac: Hmac, maxSeen = usualSeen): SlackPresses {
  /** Signatures with the times they came, the oldest first. */
  const seen = new Map<string, number>()
  const keys = new Map<string, Uint8Array<ArrayBuffer>>()
  const buildKey = (secret: string) => {
    const key = keys.get(secret) ?? new TextEncoder().encode(secret)
    keys.set(secret, key)
    return key
  }
  const isFirst = (signature: string, now: number): boolean => {
    if (seen.has(signature)) return false
    for (const [old, at] of seen) {
      // A request from a clock ahead of ours is valid for twice the tolerance.
      if (seen.size < maxSeen && now - at <= 2 * toleranceMs) break
      seen.delete(old)
    }
    seen.set(signature, now)
    return true
  }
  return {
    async read(header, body, secrets, now) {
      if (isSslCheck(body)) return acknowledged('a check of the certificate')
      const signature = header('x-slack-signature') ?? ''
      const timestamp = header('x-slack-request-timestamp') ?? ''
      const signed = /^v0=[0-9a-f]{64}$/.test(signature) && /^\d{1,12}$/.test(timestamp)
      if (!signed) return refused(401, 'signature_missing', missing)
      const macs = await Promise.all(
        secrets.map((secret) => hmac(buildKey(secret), `v0:${timestamp}:${body}`)),
      )
      const matches = macs.filter((mac) => isSame(signature, `v0=${toHex(mac)}`))
      if (matches.length === 0) return refused(401, 'signature_invalid', invalid)
      const apartMs = Math.abs(now - Number(timestamp) * 1000)
      if (apartMs > toleranceMs) return refused(401, 'outside_tolerance', outside)
      if (!isFirst(signature, now)) return { outcome: 'acknowledged', note: 'a repeated request' }
      return readPayload(body)
    },
    reply: replyWith,
  }
}

const missing =
  'X-Slack-Signature ("v0=" and 64 hexadecimal digits) or X-Slack-Request-Timestamp is missing; only Slack sends them'
const invalid =
  'no signing secret in slackApp made this signature; copy the secret again from the app\'s "Basic Information"'
const outside =
  "the timestamp is more than 5 minutes off the relay's clock; check that clock, and let Slack send the request"

/** Strangers may send such a form, too, so a longer one is not read. */
const maxSslCheck = 1_000

/** Slack sends it without a signature from time to time, and it asks for nothing. */
function isSslCheck(body: string): boolean {
  if (body.length > maxSslCheck) return false
  const form = new URLSearchParams(body)
  return form.get('ssl_check') === '1' && !form.has('payload')
}

function toHex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

function refused(status: 400 | 401, code: string, detail: string): Reading<SlackPress> {
  return { outcome: 'refused', status, code, detail }
}

const id = z.string().regex(/^[A-Z0-9]{2,32}$/)
const action = z.object({ action_id: z.string().max(255), value: z.string().max(2_000).optional() })
const anyPayload = z.object({ type: z.string().max(64) })
const anyActions = z.object({ actions: z.array(action).min(1).max(25) })
/** https://docs.slack.dev/reference/interaction-payloads/block_actions-payload */
const payload = z.object({
  // A person of an organisation may have its id ("E…") as team. An app that is installed for an
  // organisation sends no team.
  user: z.object({ id, team_id: id.nullish(), name: z.string().max(256).nullish() }),
  team: z.object({ id }).nullish(),
  response_url: z.url().max(2_000),
})

function readPayload(body: string): Reading<SlackPress> {
  const text = new URLSearchParams(body).get('payload')
  if (text === null) {
    return refused(400, 'payload_missing', 'the form field "payload" is missing; Slack sends it')
  }
  const json = parseJson(text)
  const any = anyPayload.safeParse(json)
  if (!any.success) return malformed(any.error)
  const { type } = any.data
  if (type !== 'block_actions') return acknowledged(`ignored the type ${JSON.stringify(type)}`)
  const actions = anyActions.safeParse(json)
  if (!actions.success) return malformed(actions.error)
  // A button sends one action.
  const { action_id: pressed, value = '' } = actions.data.actions[0]!
  const decision = decisions.find((one) => actionIds[one] === pressed)
  // A press on a link opens the browser, and is sent here, too.
  if (decision === undefined) return acknowledged('a button that decides nothing')
  const parsed = payload.safeParse(json)
  if (!parsed.success) return malformed(parsed.error)
  const { user, team: place, response_url: replyUrl } = parsed.data
  const team = user.team_id ?? place?.id
  if (team === undefined) {
    return refused(400, 'payload_malformed', 'payload: user.team_id and team.id are both missing')
  }
  const { name } = user
  const by = { how: 'slack' as const, who: `${team}/${user.id}`, ...(name && { name }) }
  return { outcome: 'pressed', press: { by, team, decision, value, replyUrl } }
}

const decisions: Press['decision'][] = ['approved', 'declined']

function acknowledged(note: string): Reading<SlackPress> {
  return { outcome: 'acknowledged', note }
}

/** Gives places without values, which may be an address or a token. */
function malformed({ issues }: z.ZodError): Reading<SlackPress> {
  const where = issues.map(({ path }) => ['payload', ...path].join('.'))
  const detail = `not as in Slack's reference of block_actions: ${where.slice(0, 5).join(', ')}`
  return refused(400, 'payload_malformed', detail)
}

/** With any other address, the relay could be used to send requests anywhere. */
function mayReply(replyUrl: string, own: string | undefined): boolean {
  const { origin, username, password } = new URL(replyUrl)
  if (username + password !== '') return false
  return replyOrigins.includes(origin) || (own !== undefined && origin === new URL(own).origin)
}

async function replyWith(
  send: Send,
  { replyUrl, own }: { replyUrl: string; own: string | undefined },
  reply: Reply,
  { now, attemptMs }: { now: number; attemptMs: number },
): Promise<SendOutcome> {
  if (!mayReply(replyUrl, own)) {
    return { outcome: 'refused', note: 'its response_url is not an address of Slack' }
  }
  const body = JSON.stringify(readBody(reply, now))
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  let outcome: SendOutcome = { outcome: 'retry', note: 'not sent' }
  for (let attempt = 0; attempt < maxReplyAttempts && outcome.outcome === 'retry'; attempt++) {
    const signal = AbortSignal.timeout(attemptMs)
    try {
      // `send` may ignore the signal
      const answer = await within(attemptMs, post(send, replyUrl, body, headers, signal))
      if (answer === 'late') outcome = { outcome: 'retry', note: 'no answer in time' }
      else if (answer.status === 200) outcome = { outcome: 'delivered', note: 'replied' }
      else outcome = fromStatus(answer, now)
    } catch (error) {
      outcome = fromError(error, { signal })
    }
  }
  return { ...outcome, note: maskOf([replyUrl, new URL(replyUrl).pathname])(outcome.note) }
}

function readBody(reply: Reply, now: number): object {
  if ('shown' in reply) return { replace_original: true, ...single(reply.shown) }
  if ('decided' in reply) {
    return { replace_original: true, ...slackLine(reply.decided, reply.pageUrl, now) }
  }
  return { response_type: 'ephemeral', replace_original: false, text: privateWords(reply, now) }
}

function privateWords(
  reply: Extract<Reply, { dead: unknown } | { refused: unknown }>,
  now: number,
) {
  if ('dead' in reply) return escapeText(deadPresses[reply.dead])
  const { refused, record, by } = reply
  return withName(escapeText(linkless(composeRefusal(refused, record, by, now))), record)
}
