// Keeps the marks of channels that don't get what they are owed: who may try one, what an answer makes
// of its mark, and who tells the fallback. Several workers may find it out at once; one of them tells.
import type { Channel } from './config.ts'
import type { SendOutcome } from './core/attempt.ts'
import type { Claimed } from './core/delivery.ts'
import { hash } from './core/hash.ts'
import {
  afterRefusal,
  afterSilence,
  afterSuccess,
  type Mark,
  type Outage,
  type Passage,
  passageOf,
  type Refusing,
  type Unreachable,
  withoutTry,
  withTeller,
} from './core/outage.ts'
import { readMarks, writeMark } from './memos.ts'
import type { Relay } from './relay.ts'

/** Writers of one mark that meet. */
const maxMarkAttempts = 20

/** Tells one configuration of a channel from another, and nothing of what it holds. */
function fingerprint(channel: Channel): string {
  return hash(JSON.stringify(channel))
}

export interface Gate {
  passage: Passage
  /** The mark as it stands, where it is of this configuration. */
  outage?: Outage | undefined
}

/** What becomes of a request to this channel; whoever may try has said so in the mark. */
export async function passGate(relay: Relay, channel: Channel, first: Claimed): Promise<Gate> {
  const of = fingerprint(channel)
  const { outage, version = 0 } = await readMark(relay, first.channel)
  const now = relay.now()
  const passage = passageOf(outage, of, now)
  if (outage?.of !== of) return { passage }
  const next = taken(withTeller(outage, first, now), passage, first)
  if (next === outage) return { passage, outage }
  const written = await writeMark(relay.store, first.channel, next, version)
  if (written === 'written') return { passage, outage: next }
  if (passage.go === 'send') return { passage, outage }
  return { passage: { go: 'wait', note: 'another worker tries the channel just now' } }
}

/** Whoever may try, says so. */
function taken(outage: Outage, { go }: Passage, { lease, leaseUntil }: Claimed): Outage {
  if (outage.kind !== 'refuses' || go !== 'try') return outage
  return { ...outage, trying: { by: lease, until: leaseUntil } }
}

/**
 * The mark after an answer, of which there is none where nothing was sent after all. `first` is whose lease the
 * request has, `overdue` one of its messages that has waited for too long. Throws nothing but what the store
 * throws.
 */
export async function noteAnswer(
  relay: Relay,
  channel: Channel,
  gate: Gate,
  answer: SendOutcome | undefined,
  { first, overdue }: { first: Claimed; overdue: Claimed | undefined },
): Promise<Outage | undefined> {
  const name = first.channel
  const isTry = gate.passage.go === 'try'
  const came = answer !== undefined && answer.outcome !== 'superseded' && !('unsent' in answer)
  if (!came) {
    if (!isTry) return gate.outage
    return change(relay, name, (known) => known && withoutTry(known, first.lease))
  }
  const failure = { ...first, of: fingerprint(channel), note: answer.note }
  const fields = { channel: name, note: answer.note }
  let isNew = false
  const mark = (after: typeof afterRefusal | typeof afterSilence) =>
    change(relay, name, (known, now) => {
      const next = after(known, failure, now)
      isNew = known?.kind !== next.kind || known.of !== next.of
      return next
    })
  if (answer.outcome === 'refused' && answer.broken) {
    const outage = await mark(afterRefusal)
    if (isNew) relay.log.error('channel_refuses', fields)
    return outage
  }
  const { kind, since = 0 } = gate.outage ?? {}
  if (answer.outcome !== 'retry') {
    // a message that it finds wrong, it has read
    if (!isTry && kind !== 'unreachable') return gate.outage
    const outage = await change(relay, name, (known, now) => known && afterSuccess(known, now))
    relay.log.info('channel_recovered', { channel: name })
    return outage
  }
  // it says nothing of what it refused before: the next message tries again
  if (isTry) return change(relay, name, (known) => known && withoutTry(known, first.lease))
  if (overdue === undefined || (kind !== undefined && kind !== 'passed')) return gate.outage
  // where others came through since, it is the message; a clock that was set back proves nothing
  if (kind === 'passed' && since >= overdue.owedAt && since <= relay.now()) return gate.outage
  const outage = await mark(afterSilence)
  if (isNew) relay.log.error('channel_unreachable', fields)
  return outage
}

/** The fallback is told, or there is none: nobody else need do it. */
export async function noteTold(relay: Relay, channel: string): Promise<void> {
  await change(relay, channel, (known, now) => {
    if (known === undefined) return undefined
    const { teller: _, ...told } = known
    return { ...told, toldAt: now }
  })
}

/** An owner says that a channel is mended, or that all are: the next message tries it. */
export async function tryAgain(relay: Relay, channel?: string): Promise<void> {
  for (const mark of await readMarks(relay.store)) {
    if ((channel ?? mark.channel) !== mark.channel) continue
    await change(relay, mark.channel, (known, now) =>
      known?.kind === 'refuses' ? { ...known, nextTryAt: now } : known,
    )
  }
}

/** Channels of the configuration that don't get what they are owed, as their marks say. */
export async function outagesOf(relay: Relay): Promise<(Refusing | Unreachable)[]> {
  const marks = await readMarks(relay.store)
  const { channels } = relay.config
  return marks.flatMap(({ channel: name, outage }) => {
    const channel = Object.hasOwn(channels, name) ? channels[name] : undefined
    if (channel === undefined || outage.kind === 'passed') return []
    return outage.of === fingerprint(channel) ? [outage] : []
  })
}

async function readMark(relay: Relay, channel: string): Promise<Partial<Mark>> {
  const marks = await readMarks(relay.store)
  return marks.find((mark) => mark.channel === channel) ?? {}
}

/** `decide` sees the mark as it stands, and makes none of nothing. */
async function change(
  relay: Relay,
  channel: string,
  decide: (known: Outage | undefined, now: number) => Outage | undefined,
): Promise<Outage | undefined> {
  for (let attempt = 0; attempt < maxMarkAttempts; attempt++) {
    const { version = 0, outage } = await readMark(relay, channel)
    const next = decide(outage, relay.now())
    if (next === undefined || next === outage) return outage
    if ((await writeMark(relay.store, channel, next, version)) === 'written') return next
  }
  throw new Error(`the mark of channel "${channel}" has too many writers at once`)
}
