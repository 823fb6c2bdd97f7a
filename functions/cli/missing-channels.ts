// What happens to the events that are open now, if the relay that runs takes a new configuration.
import type { Config } from '../config/config.ts'
import { isSink } from '../core/delivery/delivery.ts'
import { dayMs } from '../core/units.ts'
import type { Io } from './command.ts'
import { counted } from './layout.ts'
import { askRelay, credentialIn, describeRefusal, readRelayUrl } from './relay.ts'

/** Azure announces events at most 7 days ahead. */
const longestOpenMs = 9 * dayMs
/** Requests at once. */
const atOnce = 8

interface Listed {
  fleet: string
  eventId: string
  /** How the event ended. */
  outcome?: string
}

/** A sentence for each channel that the running relay has and `config` lacks. */
export async function missingChannels(config: Config, io: Io): Promise<string[]> {
  const { FOGHORN_URL } = io.environment
  const url = FOGHORN_URL
    ? readRelayUrl(FOGHORN_URL, 'FOGHORN_URL')
    : readRelayUrl(config.publicUrl, 'publicUrl')
  const credential = credentialIn(io.environment)
  async function ask<Answer>(path: string): Promise<Answer> {
    const answer = await askRelay(url, path, { credential })
    if (answer.status !== 200) throw await describeRefusal(url, answer)
    return (await answer.json()) as Answer
  }
  const { channels } = await ask<{ channels: { name: string }[] }>('/v1/channels')
  const missing = channels
    .map(({ name }) => name)
    .filter((name) => !(name in config.channels) && !isSink(name))
  if (missing.length === 0) return []
  const reached = await countReached(ask, Date.now())
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

/** Counts for each channel how many open events had a message for it. */
async function countReached(
  ask: <Answer>(path: string) => Promise<Answer>,
  now: number,
): Promise<Map<string, number>> {
  const events: Listed[] = []
  const since = new Date(now - longestOpenMs).toISOString()
  for (const phase of ['scheduled', 'started']) {
    for (let more: string | undefined = ''; more !== undefined; ) {
      const list: string = `/v1/events?phase=${phase}&since=${since}${more}`
      const { events: page, cursor } = await ask<{ events: Listed[]; cursor?: string }>(list)
      // a lost event keeps its phase
      events.push(...page.filter(({ outcome }) => outcome === undefined))
      more = cursor === undefined ? undefined : `&cursor=${encodeURIComponent(cursor)}`
    }
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
