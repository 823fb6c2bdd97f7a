// The channels of the world: what they take, and what they answer, which need not be the same.
import type { Part } from '../../functions/notify/notifier.ts'
import { SLACK_API_PREFIX, slackBotSink } from '../simulator/sinks/slack-bot.ts'
import { type Sent, usualAnswer } from '../support/world.ts'
import type { Faults } from './faults.ts'
import type { Judge } from './judge.ts'
import type { Kernel, Process } from './kernel.ts'
import { isAside } from './message-book.ts'
import type { Random } from './random.ts'

/** After this time an attempt is over, answer or not, however many requests it makes. */
export const attemptMs = 15_000

type Fate = 'takes' | 'mute' | 'deaf' | 'busy' | 'fails' | 'refuses' | 'gone'

export class Channels {
  readonly #kernel: Kernel
  readonly #faults: Faults
  readonly #random: Random
  readonly #judge: Judge
  readonly #calmAt: number
  readonly #slackBot = slackBotSink()
  readonly #slowUntil = new Map<string, number>()
  /** Channels that do not answer well for long, some of them never again. */
  readonly #dead = new Map<string, { from: number; until: number; as: 'fails' | 'gone' }>()

  constructor(parts: {
    kernel: Kernel
    faults: Faults
    random: Random
    judge: Judge
    names: string[]
    calmAt: number
  }) {
    this.#kernel = parts.kernel
    this.#faults = parts.faults
    this.#random = parts.random
    this.#judge = parts.judge
    this.#calmAt = parts.calmAt
    for (const name of parts.names) {
      const dies = parts.random.chance(parts.faults.channel_dead * 2)
      const from = parts.kernel.now + parts.random.int(0, 200_000)
      const heals = parts.random.chance(0.8)
      const until = heals ? from + parts.random.int(5, 40) * 60_000 : Number.POSITIVE_INFINITY
      const as = parts.random.pick(['fails', 'gone'] as const)
      if (dies) this.#dead.set(name, { from, until, as })
    }
  }

  /** One request; an error if no answer came by `endsAt`. */
  async take(process: Process, parts: Part[], url: string, init: RequestInit, endsAt: number) {
    const { channel } = parts[0]!.delivery
    this.#judge.shipping.sent(channel, parts.length)
    const body = String(init.body)
    const headers = Object.fromEntries(new Headers(init.headers))
    const request = { url, headers, body, json: JSON.parse(body) }
    const meant = this.#fate(channel)
    const answers = meant !== 'mute' && meant !== 'deaf'
    const answersMs = answers ? this.#answersAfter(channel) : Number.POSITIVE_INFINITY
    const leftMs = endsAt - this.#kernel.now
    const fate = answers && answersMs >= leftMs ? lateFate(meant) : meant
    const takes = fate === 'takes' || fate === 'mute'
    const answer = takes && isOfBot(url) ? this.#postAsBot(request) : undefined
    // an edit alone is no message, nor is the end of an incident on the side: either may be repeated
    const aside = isAside(parts[0]!.delivery, request)
    const tells = !url.endsWith('chat.update') && !aside
    for (const part of parts) {
      this.#judge.messages.sent(part, request)
      if (takes && tells) this.#judge.accepted(part, request)
      else if (takes && aside) this.#judge.messages.keepIncident(part.delivery, request)
      else if (takes) this.#judge.note(`${channel} takes an edit of ${part.delivery.eventId}`)
      else this.#judge.turnedAway(part.delivery, fate)
      // if the end of another incident fails, the whole message is repeated
      if (fate === 'mute' || (aside && !takes)) this.#judge.answerLost(part.delivery)
    }
    if (fate === 'mute' || fate === 'deaf') {
      await this.#kernel.pause(process, leftMs)
      return Object.assign(new Error('no answer'), { name: 'TimeoutError' })
    }
    await this.#kernel.pause(process, answersMs)
    return fate === 'takes' ? (answer ?? usualAnswer(request)) : this.#answer(fate, channel)
  }

  /** What stands in the channel changes, whether or not the answer arrives. */
  #postAsBot({ url, headers, body, json }: Sent): Response {
    const path = new URL(url).pathname
    const about = { kind: 'slack_bot' as const, at: this.#kernel.now, method: 'POST' }
    const request = { ...about, path, headers, body, json }
    const { valid, reply } = this.#slackBot.judge(request)
    if (valid === true) this.#slackBot.accept(request)
    else this.#judge.broke('unexpected', `Slack refuses what a bot sends: ${valid}`)
    return Response.json(reply.body)
  }

  #answersAfter(channel: string): number {
    return this.#isSlow(channel)
      ? this.#random.int(4_000, attemptMs - 500)
      : this.#random.int(1, 300)
  }

  /** Slowness lasts: a retry soon afterwards is slow, too. */
  #isSlow(channel: string): boolean {
    const { now } = this.#kernel
    const until = this.#slowUntil.get(channel) ?? 0
    if (now < until) return true
    if (now > this.#calmAt || !this.#random.chance(this.#faults.channel_slow)) return false
    this.#slowUntil.set(channel, now + this.#random.int(10_000, 90_000))
    return true
  }

  #fate(channel: string): Fate {
    const { now } = this.#kernel
    const dead = this.#dead.get(channel)
    if (dead !== undefined && dead.from <= now && now < dead.until) return dead.as
    if (now > this.#calmAt) return 'takes'
    const { channel_busy, channel_fails, channel_refuses, channel_mute } = this.#faults
    if (this.#random.chance(channel_mute * 2)) return this.#random.pick(['mute', 'mute', 'deaf'])
    if (this.#random.chance(channel_busy * 2)) return 'busy'
    if (this.#random.chance(channel_fails * 2)) return 'fails'
    return this.#random.chance(channel_refuses / 2) ? 'refuses' : 'takes'
  }

  #answer(fate: Fate, channel: string): Response {
    if (fate === 'refuses')
      return new Response('no', { status: this.#random.pick([400, 404, 410]) })
    if (fate === 'gone') return new Response('no such channel', { status: 410 })
    if (fate === 'fails') {
      return new Response(`down: ${channel}`, { status: this.#random.pick([500, 502, 503]) })
    }
    const at = new Date(this.#kernel.now + 4_000).toUTCString()
    const after = this.#random.pick(['1', '30', at, 'soon'])
    return new Response('', { status: 429, headers: { 'retry-after': after } })
  }
}

/** The answer comes after the end of the attempt. */
function lateFate(meant: Fate): Fate {
  return meant === 'takes' ? 'mute' : 'deaf'
}

function isOfBot(url: string): boolean {
  return url.includes(SLACK_API_PREFIX)
}
