// Buttons pressed in Slack: `POST /slack/interactions`. Slack wants its answer within three seconds, whatever comes
// after, so the answer waits for the work for a while only, and what came of it goes to the address that Slack names.
import { type Context, Hono } from 'hono'
import { messageOf } from '../../shared/errors.ts'
import { decideEvent, type Opened, open } from '../approve.ts'
import { addressOf } from '../core/address.ts'
import { viewOf } from '../core/delivery.ts'
import { knownOf } from '../core/drill.ts'
import type { Decider, EventRecord, Observer } from '../core/event.ts'
import {
  asksFor,
  compose,
  deadButtons,
  decidedLine,
  failedReply,
  type PressOutcome,
  replyTo,
} from '../core/message.ts'
import { isListed } from '../core/permission.ts'
import { pageLink } from '../link.ts'
import type { Press, Reply } from '../notify/notifier.ts'
import { channelNamed, type Relay } from '../relay.ts'
import { decidesHere, readValue, waysToDecide } from '../slack-buttons.ts'
import { limit, problem } from './problem.ts'
import type { Refusals } from './refusals.ts'

export const interactionsPath = '/slack/interactions'

/** The payload repeats the message, with up to 13 000 characters of text. */
const maxPayloadBytes = 64 * 1024

interface Patience {
  /** Slack shows a fault after 3 s; a host may need some of that for itself. */
  answerMs: number
  /** For each attempt to tell what came of it. */
  replyMs: number
}

const usual: Patience = { answerMs: 2_000, replyMs: 5_000 }

export function interactionRoutes(relay: Relay, refusals: Refusals, patience = usual): Hono {
  const app = new Hono()
  app.post(interactionsPath, limit(maxPayloadBytes), (c) => interact(relay, refusals, c, patience))
  return app
}

async function interact(
  relay: Relay,
  refusals: Refusals,
  c: Context,
  patience: Patience,
): Promise<Response> {
  const { slackApp } = relay.config
  if (slackApp === undefined) {
    return problem(c, 404, 'not_found', 'the configuration has no slackApp; see the README')
  }
  const body = await c.req.text()
  const header = (name: string) => c.req.header(name)
  const read = await relay.slackDesk.read(header, body, slackApp.signingSecret, relay.now())
  if (read.outcome === 'refused') {
    const { status, code, detail } = read
    refusals.note('slack_refused', { status, code, detail }, code)
    return problem(c, status, code, detail)
  }
  if (read.outcome === 'acknowledged') {
    relay.log.debug('slack_acknowledged', { note: read.note })
    return c.body(null, 200)
  }
  await settledWithin(patience.answerMs, serve(relay, read.press, patience))
  return c.body(null, 200)
}

/** What takes longer goes on. */
function settledWithin(ms: number, work: Promise<void>): Promise<void> {
  const late = new Promise<void>((resolve) => {
    AbortSignal.timeout(ms).addEventListener('abort', () => resolve(), { once: true })
  })
  return Promise.race([work, late])
}

interface Answer {
  /** Nothing, where the message will be edited anyway. */
  reply: Reply | undefined
  /** The channel that the button was sent to. */
  channel: string | undefined
}

/** Decides, and tells what came of it. Throws nothing: nobody may be waiting any more. */
async function serve(relay: Relay, press: Press, { replyMs }: Patience): Promise<void> {
  const failed = (error: unknown): Answer => {
    relay.log.error('press_failed', { error: messageOf(error) })
    return { reply: { words: { text: failedReply } }, channel: undefined }
  }
  const { reply, channel } = await decidePress(relay, press).catch(failed)
  if (reply === undefined) return
  try {
    const configured = channel === undefined ? undefined : channelNamed(relay, channel)
    const to = { replyUrl: press.replyUrl, own: configured && addressOf(configured) }
    const times = { now: relay.now(), attemptMs: replyMs }
    const { outcome, note } = await relay.slackDesk.reply(relay.send, to, reply, times)
    if (outcome !== 'delivered') relay.log.warn('slack_reply_failed', { note })
  } catch (error) {
    relay.log.error('slack_reply_failed', { error: messageOf(error) })
  }
}

async function decidePress(relay: Relay, press: Press): Promise<Answer> {
  const carried = readValue(press.value)
  const opened: Opened =
    carried === undefined ? { outcome: 'forged' } : await open(relay, carried.token)
  if (carried === undefined || opened.outcome !== 'open') {
    const { outcome } = opened as Exclude<Opened, { outcome: 'open' }>
    relay.log.warn('press_refused', { reason: outcome })
    // no button of ours carries a list
    const reason = outcome === 'list' ? 'forged' : outcome
    return { reply: { words: { text: deadButtons[reason] } }, channel: undefined }
  }
  const { token, record } = opened
  const { channel } = token
  const { decision } = press
  const by: Decider = { how: 'slack', who: `${press.team}/${press.user}` }
  const say = (outcome: PressOutcome, about: EventRecord): Answer => {
    return { reply: { words: replyTo(outcome, about, by, relay.now()) }, channel }
  }
  const observers = await relay.store.readObservers(record)
  const barred = barredFrom(relay, press, record, observers, channel)
  if (barred !== undefined) {
    const { fleet, eventId } = record
    relay.log.warn('press_refused', { reason: barred, fleet, eventId, channel, ...by })
    return say(barred, record)
  }
  const decided = await decideEvent(relay, record, { decision, by, seen: carried.stamp })
  if (decided.outcome !== 'decided') return say(decided.outcome, decided.record)
  return { reply: await replacementFor(relay, decided.record, decision, channel), channel }
}

/** Before anybody's list is asked: whose button it is, and where it stands. */
function barredFrom(
  relay: Relay,
  { team, user }: Press,
  record: EventRecord,
  observers: Observer[],
  channel: string,
): 'outsider' | 'not_here' | undefined {
  const { routes, slackApp } = relay.config
  // a shared channel holds people of other companies: they decide only what lists them by name
  const by = { how: 'slack' as const, who: `${team}/${user}` }
  const named = isListed(routes, record, knownOf(record, observers), by)
  if (!slackApp?.team.includes(team) && !named) return 'outsider'
  return decidesHere(relay, record, observers, channel) ? undefined : 'not_here'
}

/**
 * What stands in the message's place: who decided. Where a route owes this channel the decision, a bot's message
 * is edited by that delivery, and an incoming webhook's becomes one line, as the delivery is a message of its own.
 */
async function replacementFor(
  relay: Relay,
  record: EventRecord,
  decision: Press['decision'],
  channel: string,
): Promise<Reply | undefined> {
  const owed = await relay.store.readDeliveries(record)
  const own = owed.find(
    ({ channel: name, telling }) =>
      name === channel &&
      telling.moment === decision &&
      telling.event.epoch === record.epoch &&
      telling.event.verdict?.at === record.verdict?.at,
  )
  if (own !== undefined && channelNamed(relay, channel)?.kind === 'slack_bot') return undefined
  const now = relay.now()
  const event = viewOf(record)
  const pageUrl = await pageLink(relay, { ...record, channel }, now)
  // the decision has a message of its own, so what was pressed becomes a line that points at nothing twice
  if (own !== undefined) return { line: decidedLine(record, now), pageUrl }
  if (!asksFor(event, now)) {
    return { part: { message: compose({ moment: decision, at: now, event }, now) } }
  }
  // after "not now" it can still be approved
  const { buttons, askers } = await waysToDecide(relay, record, event, channel)
  const message = compose({ moment: decision, at: now, event }, now, [], askers)
  return { part: { message, pageUrl, ...(buttons && { buttons }) } }
}
