// `/console`: the open events, and the answer to a decision there.
import type { Context } from 'hono'
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { RemovedChannel, Troubled } from '../../core/delivery/health.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { reasonIn } from '../../core/message/reason.ts'
import { isBound, may } from '../../core/rules/access.ts'
import type { Channel } from '../../core/rules/config.ts'
import { channelsRouted } from '../../core/rules/routes.ts'
import type { Health, Trouble } from '../../pages/console/health.ts'
import { type Card, groupOf, nowBody } from '../../pages/console/now.ts'
import { channelNamed, type Relay } from '../../use-cases/relay.ts'
import { describeRemoved } from '../../use-cases/reroute.ts'
import { nameOf } from '../admin/console-form.ts'
import type { Pressed } from '../decision-answers.ts'
import { notModified } from '../page.ts'
import { answerMessage, answerPage, baseOf } from './answer.ts'
import { choicesOf, decideByForm, mayDecide, seenIn } from './decide.ts'
import type { Snapshot, Snapshots } from './snapshot.ts'
import type { Visitor } from './visitor.ts'

const refreshSeconds = 5

const kindLabels: Record<Channel['kind'], string> = {
  slack: 'Slack',
  slack_bot: 'Slack',
  teams: 'Teams',
  pagerduty: 'PagerDuty',
  webhook: 'webhook',
}
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
  const shown = snapshot.records.filter((record) => groupOf(record, now) === 'ask').length
  // the counts may be a minute old, so what the page shows is the least
  const undecided = snapshot.more ? Math.max(shown, snapshot.overview.undecided) : shown
  const channels = Object.keys(relay.config.channels).filter((name) =>
    seesChannel(relay, visitor, name),
  )
  const troubled = snapshot.troubles.filter(({ channel }) => channels.includes(channel))
  const troubles = [
    ...troubled.map((one) => troubleOf(relay, one)),
    ...(isBound(visitor.access) ? [] : snapshot.removed.map(removedOf)),
  ]
  const readOnly = mayDecide(visitor) ? {} : { readOnly: 'This token can read, but not decide.' }
  const body = nowBody(
    {
      base: baseOf(relay),
      cards,
      asked: undecided,
      more: snapshot.more,
      health: healthOf(snapshot, channels),
      troubles,
      ...answered,
      ...readOnly,
    },
    now,
  )
  const title = undecided === 0 ? 'Now' : `Now, ${undecided} to decide`
  return answerPage(relay, c, visitor, {
    title,
    body,
    tab: 'now',
    refreshSeconds,
    undecided,
    ...rest,
  })
}

/** `channels`: those that the visitor sees. */
function healthOf({ overview, troubles }: Snapshot, channels: string[]): Health {
  const isTroubled = (name: string) => troubles.some(({ channel }) => channel === name)
  const fine = channels.filter((name) => !isTroubled(name))
  const works = fine.filter((name) => overview.accepted.includes(name))
  const tried = [...works, ...overview.failed]
  const untried = fine.filter((name) => !tried.includes(name)).length
  return { ...overview, channels: { works: works.length, untried, of: channels.length } }
}

function troubleOf(relay: Relay, { channel, since, note }: Troubled): Trouble {
  const { kind, fallback } = channelNamed(relay, channel)!
  return {
    name: `${channel} (${kindLabels[kind]})`,
    path: `${baseOf(relay)}/channels/${encodeURIComponent(channel)}`,
    why: reasonIn(note),
    since,
    ...(fallback === undefined ? {} : { fallback }),
  }
}

function removedOf(one: RemovedChannel): Trouble {
  return { name: one.channel, why: describeRemoved(one), since: one.at }
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
