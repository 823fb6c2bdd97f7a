// What happens to the events that are open now, if the relay that runs takes a new configuration.
import type { Config } from '../config/config.ts'
import type { Io } from './command.ts'
import { counted } from './layout.ts'
import { askRelay, credentialIn, refusalOf, relayUrlOf } from './relay.ts'

const requestMs = 30_000
/** In each phase. */
const maxEvents = 200
/** Requests at once. */
const atOnce = 8

interface Listed {
  fleet: string
  eventId: string
  /** How it ended. */
  outcome?: string
}

/** A sentence for each channel that the running relay has and `config` lacks. */
export async function missingChannels(config: Config, io: Io): Promise<string[]> {
  const { FOGHORN_URL } = io.environment
  const url = FOGHORN_URL
    ? relayUrlOf(FOGHORN_URL, 'FOGHORN_URL')
    : relayUrlOf(config.publicUrl, 'publicUrl')
  const credential = credentialIn(io.environment)
  async function ask<Answer>(path: string): Promise<Answer> {
    const answer = await askRelay(url, path, { credential, signal: AbortSignal.timeout(requestMs) })
    if (answer.status !== 200) throw await refusalOf(url, answer)
    return (await answer.json()) as Answer
  }
  const { channels } = await ask<{ channels: { name: string }[] }>('/v1/channels')
  const missing = channels.map(({ name }) => name).filter((name) => !(name in config.channels))
  if (missing.length === 0) return []
  const reached = await countReached(ask)
  return missing.map((name) => {
    const count = reached.get(name) ?? 0
    const what =
      count === 0
        ? 'the running relay has this channel, and this file does not'
        : `this file lacks the channel, and ${counted(count, 'open event')} had messages there`
    const then = 'if it has a new name, that gets the newest message of each open event'
    return `channels.${name}: ${what}; ${then}`
  })
}

/** By channel: how many open events had a message for it. */
async function countReached(
  ask: <Answer>(path: string) => Promise<Answer>,
): Promise<Map<string, number>> {
  const events: Listed[] = []
  for (const phase of ['scheduled', 'started']) {
    const list = `/v1/events?phase=${phase}&limit=${maxEvents}`
    const page = await ask<{ events: Listed[] }>(list)
    // a lost event keeps its phase
    events.push(...page.events.filter(({ outcome }) => outcome === undefined))
  }
  const reached = new Map<string, number>()
  for (let i = 0; i < events.length; i += atOnce) {
    const whole = await Promise.all(
      events.slice(i, i + atOnce).map(({ fleet, eventId }) => {
        const key = [fleet, eventId].map(encodeURIComponent).join('/')
        return ask<{ deliveries: { channel: string }[] }>(`/v1/events/${key}`)
      }),
    )
    for (const { deliveries } of whole) {
      for (const name of new Set(deliveries.map(({ channel }) => channel))) {
        reached.set(name, (reached.get(name) ?? 0) + 1)
      }
    }
  }
  return reached
}
