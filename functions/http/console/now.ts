// `/console`: the open events, and the answer to a decision there.
import type { Context } from 'hono'
import * as z from 'zod'
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { RemovedChannel, Troubled } from '../../core/delivery/health.ts'
import type { EventRecord } from '../../core/event/event.ts'
import { byNeed, rankNeed } from '../../core/event/is-over.ts'
import { reasonIn } from '../../core/message/reason.ts'
import { isBound, may } from '../../core/rules/access.ts'
import { channelsRouted } from '../../core/rules/routes.ts'
import type { Health, Trouble } from '../../pages/console/health.ts'
import { nowBody } from '../../pages/console/now.ts'
import { type Card, chooseGroup } from '../../pages/console/now-rows.ts'
import { channelNamed, nameService, type Relay } from '../../use-cases/relay.ts'
import { describeRemoved } from '../../use-cases/reroute.ts'
import { chooseName } from '../api/console-form.ts'
import type { Pressed } from '../decision-answers.ts'
import { notModified } from '../page.ts'
import { readQuery } from '../query.ts'
import type { Doors } from '../route.ts'
import { answerPage, buildBase, refuse, wrongAddress } from './answer.ts'
import { decideByForm, mayDecide, readChoices, seenIn } from './decide.ts'
import { type Chosen, chosenBy, openQuery } from './open-filter.ts'
import type { Snapshot, Snapshots } from './snapshot.ts'
import type { Visitor } from './visitor.ts'

const refreshSeconds = 5

/** Texts such as "5 min ago" may be this old. */
const textMs = 60_000

const nowQuery = z.strictObject({
  ...openQuery,
  wall: z.enum(['', '1'], 'write "wall" alone').optional(),
})

/** What the address asks for. */
interface Asked extends Chosen {
  wall: boolean
}

function askedBy(c: Context, visitor: Visitor): Asked | { refusal: string } {
  const read = readQuery(c, nowQuery)
  if ('refusal' in read) return read
  const chosen = chosenBy(read.query, visitor.fleets)
  return 'refusal' in chosen ? chosen : { ...chosen, wall: read.query.wall !== undefined }
}

export async function showNow(
  relay: Relay,
  snapshots: Snapshots,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const asked = askedBy(c, visitor)
  if ('refusal' in asked) return wrongAddress(relay, c, visitor, asked.refusal)
  const snapshot = await snapshots.read(asked.fleets, asked.filter)
  const etag = etagFor(relay, snapshot, visitor)
  if (c.req.header('if-none-match') === etag) return notModified(c, etag, relay.now())
  return show(relay, c, visitor, { ...asked, snapshot, etag })
}

/** Answers a form with the page, which says beside the event what happened. No decision waits for the page. */
export async function decideNow(
  relay: Relay,
  snapshots: Snapshots,
  { door, eventDoor }: Doors,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const asked = askedBy(c, visitor)
  if ('refusal' in asked) return wrongAddress(relay, c, visitor, asked.refusal)
  const done = await decideByForm(relay, eventDoor, c, visitor)
  snapshots.drop()
  if (done.outcome !== 'answered') return refuse(relay, c, visitor, done.outcome)
  const { pressed } = done
  const status = pressed.length === 1 ? pressed[0]!.status : 200
  const shown = await door.pass(visitor.access, async () => {
    const snapshot = await snapshots.read(asked.fleets, asked.filter)
    return show(relay, c, visitor, { ...asked, snapshot, status, pressed })
  })
  return shown === 'full' ? refuse(relay, c, visitor, 'answered_late') : shown
}

interface View extends Asked {
  snapshot: Snapshot
  etag?: string
  status?: number
  pressed?: Pressed[]
}

async function show(relay: Relay, c: Context, visitor: Visitor, view: View): Promise<Response> {
  const { snapshot, pressed = [], filter, fleets: _, wall, ...rest } = view
  const now = relay.now()
  const pressOn = (record: EventRecord) =>
    pressed.find((one) => chooseName(one.record) === chooseName(record))
  const composeCard = async (record: EventRecord, deliveries?: Delivery[]): Promise<Card> => {
    const press = pressOn(record)
    const seen = await seenIn(relay, c, visitor, record, pressed.length > 0)
    const own = { ...seen, ...press?.answer }
    const path = `${buildBase(relay)}/events/${chooseName(record)}`
    const choices = wall ? 'none' : readChoices(relay, visitor, record)
    // what was decided stays where it was, with its answer, until the page is read anew
    const group = chooseGroup(press?.before ?? record, now)
    const place = { path, choices, group } as const
    return { seen: own, ...place, ...(deliveries === undefined ? {} : { deliveries }) }
  }
  const before = (record: EventRecord) => pressOn(record)?.before ?? record
  const cards = await Promise.all(
    snapshot.records
      .map((record, i) => ({ record, deliveries: snapshot.deliveries[i] }))
      .sort((a, b) => byNeed(rankNeed(before(a.record)), rankNeed(before(b.record))))
      .map(({ record, deliveries }) => composeCard(record, deliveries)),
  )
  // the page that was open may be old
  const isElsewhere = (one: Pressed) =>
    snapshot.records.every((record) => chooseName(record) !== chooseName(one.record))
  const answered = await Promise.all(
    pressed.filter(isElsewhere).map((one) => composeCard(one.record)),
  )
  const shown = cards.filter(({ seen }) => chooseGroup(seen.record, now) === 'ask').length
  // the counts may be a minute old, so what the page shows is the least
  const undecided = snapshot.more ? Math.max(shown, snapshot.overview.undecided) : shown
  const channels = channelsSeen(relay, visitor)
  const troubled = snapshot.troubles.filter(({ channel }) => channels.includes(channel))
  const troubles = [
    ...troubled.map((one) => describeTrouble(relay, one)),
    ...(isBound(visitor.access) ? [] : snapshot.removed.map(listRemoved)),
  ]
  const readOnly = mayDecide(visitor) ? {} : { readOnly: 'This token can read, but not decide.' }
  const base = buildBase(relay)
  const seenNow = {
    ...{ base, fleets: visitor.fleets, records: cards.map(({ seen }) => seen.record), at: now },
    asks: (record: EventRecord) => chooseGroup(record, now) === 'ask',
  }
  const body = nowBody(
    {
      base,
      cards,
      asked: undecided,
      more: snapshot.more,
      health: describeHealth(relay, visitor, snapshot),
      troubles,
      briefs: snapshot.parts.map((part) => part.brief(seenNow)),
      lines: snapshot.parts.map((part) => part.line(seenNow)),
      links: snapshot.parts.map((part) => part.link(base)),
      answered,
      ...(snapshot.last && { last: snapshot.last }),
      filter: { ...filter, fleets: visitor.fleets },
      wall,
      ...(pressed.length > 1 ? { said: readSaid(pressed) } : {}),
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
    wall,
    ...rest,
  })
}

/** What became of a group. */
function readSaid(pressed: Pressed[]): string {
  const done = pressed.filter(({ answer }) => answer.done).length
  const left = pressed.length - done
  const rest = left === 0 ? '' : ` ${left} were not decided: their rows say why.`
  return `${done} of ${pressed.length} events were decided.${rest}`
}

/** Whether Foghorn sees the VMs and reaches people, as far as the visitor sees that. */
export function describeHealth(
  relay: Relay,
  visitor: Visitor,
  { overview, troubles }: Snapshot,
): Health {
  const channels = channelsSeen(relay, visitor)
  const isTroubled = (name: string) => troubles.some(({ channel }) => channel === name)
  const fine = channels.filter((name) => !isTroubled(name))
  const works = fine.filter((name) => overview.accepted.includes(name))
  const tried = [...works, ...overview.failed]
  const untried = fine.filter((name) => !tried.includes(name)).length
  const [fleet] = visitor.fleets
  return {
    ...overview,
    channels: { works: works.length, untried, of: channels.length },
    address: relay.config.publicUrl,
    ...(fleet !== undefined && { fleet }),
  }
}

function describeTrouble(relay: Relay, { channel, since, note }: Troubled): Trouble {
  const configured = channelNamed(relay, channel)!
  const { fallback } = configured
  return {
    channel,
    name: `${channel} (${nameService(relay, configured)})`,
    path: `${buildBase(relay)}/channels/${encodeURIComponent(channel)}`,
    why: reasonIn(note),
    since,
    ...(fallback === undefined ? {} : { fallback }),
  }
}

function listRemoved(one: RemovedChannel): Trouble {
  const { channel, at } = one
  return { channel, name: channel, why: describeRemoved(one), since: at }
}

function channelsSeen(relay: Relay, visitor: Visitor): string[] {
  return Object.keys(relay.config.channels).filter((name) => seesChannel(relay, visitor, name))
}

/** A visitor of some fleets sees the channels that are routed for them. */
export function seesChannel({ config }: Relay, { access }: Visitor, channel: string): boolean {
  if (!isBound(access)) return true
  return channelsRouted(config.routes, config.channels, access.fleets).includes(channel)
}

/** The etag leaves out the form's tokens: the same browser gets the same ones. */
function etagFor(relay: Relay, { version }: Snapshot, { access }: Visitor): string {
  const minute = Math.floor(relay.now() / textMs)
  const who = access.by === 'admin' ? 'admin' : access.by === 'token' ? access.id : access.who
  return `"${[version.replaceAll('"', ''), minute, who, may(access, 'decide')].join('-')}"`
}
