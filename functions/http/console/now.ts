// `/console`: the open events, and the answer to a decision there.
import type { Context } from 'hono'
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { isBound, may } from '../../core/rules/access.ts'
import { channelsRouted } from '../../core/rules/routes.ts'
import { askedText, type Card, groupOf, nowBody } from '../../pages/console/now.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { describeRemoved } from '../../use-cases/reroute.ts'
import { nameOf } from '../admin/console-form.ts'
import type { Pressed } from '../decision-answers.ts'
import { notModified } from '../page.ts'
import { answerMessage, answerPage, baseOf } from './answer.ts'
import { choicesOf, decideByForm, mayDecide, seenIn } from './decide.ts'
import type { Snapshot, Snapshots } from './snapshot.ts'
import type { Visitor } from './visitor.ts'

const refreshSeconds = 5
/** Texts such as "5 min ago" may be this old. */
const textMs = 60_000

export async function showNow(
  relay: Relay,
  snapshots: Snapshots,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const snapshot = await snapshots.read(visitor.fleets)
  const etag = etagFor(relay, snapshot, visitor)
  if (c.req.header('if-none-match') === etag) return notModified(c, etag, relay.now())
  return show(relay, c, visitor, { snapshot, etag })
}

/** Answers a form with the page, which says beside the event what happened. */
export async function decideNow(
  relay: Relay,
  snapshots: Snapshots,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const done = await decideByForm(relay, c, visitor)
  if (done.outcome !== 'answered') return refuse(relay, c, visitor, done.outcome)
  snapshots.drop()
  const snapshot = await snapshots.read(visitor.fleets)
  return show(relay, c, visitor, { snapshot, status: done.status, pressed: done })
}

interface View {
  snapshot: Snapshot
  etag?: string
  status?: number
  pressed?: Pressed
}

async function show(relay: Relay, c: Context, visitor: Visitor, view: View): Promise<Response> {
  const { snapshot, pressed, ...rest } = view
  const now = relay.now()
  const isPressed = (record: EventRecord) =>
    pressed !== undefined && nameOf(pressed.record) === nameOf(record)
  const cardOf = async (record: EventRecord, deliveries?: Delivery[]): Promise<Card> => {
    const seen = await seenIn(relay, c, visitor, record, pressed !== undefined)
    const own = isPressed(record) ? { ...seen, ...pressed!.answer } : seen
    const path = `${baseOf(relay)}/events/${nameOf(record)}`
    const choices = choicesOf(relay, visitor, record)
    return { seen: own, path, choices, ...(deliveries === undefined ? {} : { deliveries }) }
  }
  const cards = await Promise.all(
    snapshot.records.map((record, i) => cardOf(record, snapshot.deliveries[i])),
  )
  // it may be over by now, or behind many that are undecided
  const isElsewhere = pressed !== undefined && !snapshot.records.some(isPressed)
  const answered = isElsewhere ? { answered: await cardOf(pressed.record) } : {}
  const undecided = snapshot.records.filter((record) => groupOf(record, now) === 'ask').length
  const troubles = snapshot.troubles
    .filter(({ channel }) => seesChannel(relay, visitor, channel))
    .map(({ channel, state, note }) => ({ name: channel, text: `${state}: ${note}` }))
  const removed = isBound(visitor.access) ? [] : snapshot.removed
  for (const one of removed) troubles.push({ name: one.channel, text: describeRemoved(one) })
  const readOnly = mayDecide(visitor) ? {} : { readOnly: 'This token can read, but not decide.' }
  const body = nowBody(
    { base: baseOf(relay), cards, more: snapshot.more, troubles, ...answered, ...readOnly },
    now,
  )
  const asked = askedText(snapshot.records, snapshot.more, now)
  const title = undecided === 0 ? 'Now' : `Now, ${asked} to decide`
  return answerPage(relay, c, visitor, {
    title,
    body,
    tab: 'now',
    refreshSeconds,
    undecided,
    ...rest,
  })
}

/** A visitor of some fleets sees the channels that are routed for them. */
export function seesChannel({ config }: Relay, { access }: Visitor, channel: string): boolean {
  if (!isBound(access)) return true
  return channelsRouted(config.routes, config.channels, access.fleets).includes(channel)
}

/** Without the form's tokens: the same browser gets the same ones. */
function etagFor(relay: Relay, { version }: Snapshot, { access }: Visitor): string {
  const minute = Math.floor(relay.now() / textMs)
  const who = access.by === 'admin' ? 'admin' : access.by === 'token' ? access.id : access.who
  return `"${[version.replaceAll('"', ''), minute, who, may(access, 'decide')].join('-')}"`
}

const refusals = {
  not_ours: {
    status: 403,
    text: 'The relay accepts this form only from its own page, in the browser that opened it. Open the page again and repeat what you did.',
  },
  unknown: { status: 404, text: 'The relay has no such event.' },
  not_allowed: { status: 403, text: 'This token can read, but not decide.' },
} as const

export function refuse(
  relay: Relay,
  c: Context,
  visitor: Visitor,
  why: keyof typeof refusals,
): Promise<Response> {
  return answerMessage(relay, c, visitor, { title: 'Nothing was decided', ...refusals[why] })
}
