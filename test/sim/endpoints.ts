// The endpoints of subscriptions: what each answers, by the trouble that its seed planned for it.
import type { Claimed } from '../../functions/core/delivery/delivery.ts'
import type { Sent } from '../support/world.ts'
import type { EndpointBook } from './endpoint-book.ts'
import type { Faults } from './faults.ts'
import type { Kernel, Process } from './kernel.ts'
import type { Random } from './random.ts'
import type { PlannedSubscription, TroubleKind } from './subscriptions.ts'

/** After this time an attempt is over, answer or not. */
const attemptMs = 15_000
/** More than the relay keeps of an answer. */
const longText = 'the message could not be stored; '.repeat(200)

interface Parts {
  kernel: Kernel
  faults: Faults
  random: Random
  book: EndpointBook
  planned: PlannedSubscription[]
  calmAt: number
}

export class Endpoints {
  readonly #parts: Parts
  readonly #beganAt: number

  constructor(parts: Parts) {
    this.#parts = parts
    this.#beganAt = parts.kernel.now
  }

  /** One request; an error where no answer came. */
  async take(
    process: Process,
    claimed: Claimed,
    url: string,
    init: RequestInit,
  ): Promise<Response | Error> {
    const { kernel, random, book, planned } = this.#parts
    const one = planned.find((each) => each.url === url)
    const request = requestOf(url, init)
    book.sent(claimed, request, one, init.redirect)
    if (one === undefined) return new Error('no such host')
    const trouble = this.troubleOf(one)
    const isTaken = trouble === undefined || trouble === 'endpoint_lies'
    if (isTaken) book.accepted(claimed, request)
    if (trouble === 'endpoint_hangs' || (isTaken && this.#isMute())) {
      if (isTaken) book.answerLost(claimed)
      await kernel.pause(process, attemptMs)
      return Object.assign(new Error('no answer'), { name: 'TimeoutError' })
    }
    await kernel.pause(process, one.isSlow ? random.int(2_500, 9_000) : random.int(1, 300))
    if (trouble === 'endpoint_away') {
      return Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    }
    return this.#answer(trouble, init)
  }

  /** What is wrong with it now. */
  troubleOf({ trouble }: PlannedSubscription): TroubleKind | undefined {
    if (trouble === undefined) return undefined
    const ms = this.#parts.kernel.now - this.#beganAt
    return trouble.fromMs <= ms && ms < trouble.untilMs ? trouble.as : undefined
  }

  /** It has the message, and its answer is lost. */
  #isMute(): boolean {
    const { kernel, faults, random, calmAt } = this.#parts
    return kernel.now < calmAt && random.chance(faults.channel_mute)
  }

  #answer(trouble: TroubleKind | undefined, { method, headers }: RequestInit): Response {
    const { random } = this.#parts
    switch (trouble) {
      case 'endpoint_redirects': {
        const headers = { location: 'https://elsewhere.example/in' }
        return new Response(null, { status: random.pick([301, 302, 307, 308]), headers })
      }
      case 'endpoint_gone':
        return new Response('gone', { status: 410 })
      case 'endpoint_fails': {
        const after = random.pick([undefined, '5', '120', 'soon'])
        const headers = after === undefined ? {} : { 'retry-after': after }
        return new Response('down', { status: random.pick([500, 502, 503]), headers })
      }
      default: {
        const origin = new Headers(headers).get('webhook-request-origin') ?? ''
        const allowed = method === 'OPTIONS' ? { 'webhook-allowed-origin': origin } : undefined
        const isError = trouble === 'endpoint_lies' && random.chance(0.5)
        const text = isError ? JSON.stringify({ error: longText }) : 'ok'
        return new Response(text, { ...(allowed && { headers: allowed }) })
      }
    }
  }
}

function requestOf(url: string, { method = 'GET', headers, body }: RequestInit): Sent {
  const text = typeof body === 'string' ? body : ''
  const json = text === '' ? undefined : JSON.parse(text)
  return { method, url, headers: Object.fromEntries(new Headers(headers)), body: text, json }
}
