// Keeps the health of channels: reads it, lets the core judge, and writes it by compare-and-set. Several
// workers may find the same trouble at once; one of them notifies the fallback.
import { messageOf } from '../shared/errors.ts'
import type { Channel } from './config.ts'
import type { SendOutcome } from './core/attempt.ts'
import type { Claimed } from './core/delivery.ts'
import { hash } from './core/hash.ts'
import {
  afterAnswer,
  afterTold,
  beforeRequest,
  type ChannelHealth,
  type HealthRow,
  type Passage,
  type Refusing,
  tryNow,
  type Unreachable,
} from './core/outage.ts'
import type { Relay } from './relay.ts'

/** Workers that write one channel's health at the same moment. */
const maxAttempts = 20

/** Differs for each configuration of a channel, and reveals nothing of it. */
function fingerprint(channel: Channel): string {
  return hash(JSON.stringify(channel))
}

/** A channel's health as it was read; `version` 0: no row. */
type Read = Pick<HealthRow, 'version'> & Partial<HealthRow>

interface Gate {
  passage: Passage
  /** Which configuration of the channel the request is for. */
  of: string
  /** Whose lease the request has. */
  first: Claimed
  read: Read
}

/** What becomes of a request to this channel. Never throws: the request waits if the health can't be read. */
export async function passGate(relay: Relay, channel: Channel, first: Claimed): Promise<Gate> {
  const request = { of: fingerprint(channel), first }
  try {
    const read = await readHealth(relay, first.channel)
    const { passage, health } = beforeRequest(read.health, request.of, first, relay.now())
    if (health === undefined || health === read.health) return { ...request, passage, read }
    const { version } = read
    if (await writeHealth(relay, first.channel, health, version)) {
      return { ...request, passage, read: { ...read, health, version: version + 1 } }
    }
    if (passage.go === 'send') return { ...request, passage, read }
    const note = 'another worker tries the channel just now'
    return { ...request, passage: { go: 'wait', note }, read }
  } catch (error) {
    relay.log.error('mark_failed', { channel: first.channel, error: messageOf(error) })
    const note = 'the health of the channel could not be read; see the log'
    return { ...request, passage: { go: 'wait', note }, read: { version: 0 } }
  }
}

/**
 * The health after a request; `sent` undefined: nothing was sent. `overdueSince`: when the message was planned
 * that has waited for too long. Never throws: a health that can't be written costs one more try of the channel.
 */
export async function noteAnswer(
  relay: Relay,
  { of, first, read }: Gate,
  sent: SendOutcome | undefined,
  overdueSince: number | undefined,
): Promise<ChannelHealth | undefined> {
  const { channel, id, lease, leaseUntil } = first
  const answer = { channel, of, id, lease, leaseUntil, sent, overdueSince }
  const decide = (before: ChannelHealth | undefined) => afterAnswer(before, answer, relay.now())
  try {
    const { health, log } = await change(relay, channel, decide, read)
    if (log === 'channel_recovered') relay.log.info(log, { channel })
    else if (log !== undefined) relay.log.error(log, { channel, note: sent?.note })
    return health
  } catch (error) {
    relay.log.error('mark_failed', { channel, error: messageOf(error) })
    return read.health?.of === of ? read.health : undefined
  }
}

/** The fallback is notified of the trouble, or there is none. */
export async function noteTold(relay: Relay, channel: string): Promise<void> {
  await change(relay, channel, (known) => ({ health: known && afterTold(known, relay.now()) }))
}

/** An owner says that all channels are fixed, or this one: the next message tries it. */
export async function tryAgain(relay: Relay, channel?: string): Promise<void> {
  for (const read of await readAll(relay)) {
    if ((channel ?? read.channel) !== read.channel) continue
    const decide = (known: ChannelHealth | undefined) => ({
      health: known && tryNow(known, relay.now()),
    })
    await change(relay, read.channel, decide, read)
  }
}

/** Channels of the configuration that are refusing or unreachable. */
export async function channelsInTrouble(relay: Relay): Promise<(Refusing | Unreachable)[]> {
  const { channels } = relay.config
  return (await readAll(relay)).flatMap(({ channel: name, health }) => {
    const channel = Object.hasOwn(channels, name) ? channels[name] : undefined
    if (channel === undefined || health.state === 'ok') return []
    return health.of === fingerprint(channel) ? [health] : []
  })
}

/** Decides on the health as it was read, and again whenever another worker wrote it meanwhile. */
async function change<After extends { health: ChannelHealth | undefined }>(
  relay: Relay,
  channel: string,
  decide: (before: ChannelHealth | undefined) => After,
  known?: Read,
): Promise<After> {
  let read = known ?? (await readHealth(relay, channel))
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const after = decide(read.health)
    const { health } = after
    if (health === undefined || health === read.health) return after
    if (await writeHealth(relay, channel, health, read.version)) return after
    read = await readHealth(relay, channel)
  }
  throw new Error(`the health of channel "${channel}" has too many writers at once`)
}

async function readHealth(relay: Relay, channel: string): Promise<Read> {
  return (await readAll(relay)).find((one) => one.channel === channel) ?? { version: 0 }
}

function readAll({ store }: Relay): Promise<HealthRow[]> {
  return store.readMarks()
}

async function writeHealth(
  { store }: Relay,
  channel: string,
  health: ChannelHealth,
  basedOn: number,
): Promise<boolean> {
  return (await store.writeMark(channel, health, basedOn)) === 'written'
}
