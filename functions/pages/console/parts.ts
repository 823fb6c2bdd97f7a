// Small parts that pages of the console share.
import { html } from 'hono/html'
import type { Delivery } from '../../core/delivery/delivery.ts'
import { plain } from '../../core/message/message.ts'
import type { Html } from '../event.ts'
import type { Tone } from '../state.ts'
import { utcOn, whole } from '../times.ts'

/** A name with what is to say of it. */
export interface Mark {
  name: string
  text: string
}

export function chip(text: string, tone?: Tone): Html {
  return html`<span class="chip${tone === undefined ? '' : ` ${tone}`}">${plain(text)}</span> `
}

type State = Delivery['state']

export const deliveryTones: Record<State, [tone: Tone, mark: string]> = {
  delivered: ['good', '✓'],
  pending: ['ask', '…'],
  refused: ['bad', '✗'],
  given_up: ['bad', '✗'],
  superseded: ['over', '–'],
}

/** For each channel, the last message of this epoch and whether it arrived. */
export function sentPart(deliveries: Delivery[], epoch: number, now: number): Html {
  const own = deliveries.filter(
    ({ telling }) => telling.moment !== 'alert' && telling.event.epoch === epoch,
  )
  if (own.length === 0) return html`<p class="label">No channel was notified.</p>`
  const channels = [...Map.groupBy(own, ({ channel }) => channel)]
  return html`<p class="label">Notified</p>
<ul class="sent">${channels.map(([channel, all]) => {
    const last = all.findLast(({ state }) => state !== 'superseded') ?? all.at(-1)!
    const [tone, mark] = deliveryTones[last.state]
    return html`<li><b>${plain(channel)}</b> <span><span class="mark ${tone}" aria-hidden="true">${mark}</span>
${whole(plain(fateOf(last, now)))}</span></li>`
  })}</ul>`
}

/** `scheduled: delivered 12:00:03 UTC`, `reminder: pending, next attempt 12:01 UTC (HTTP 503)` */
function fateOf({ telling, state, nextAt, note }: Delivery, now: number): string {
  const what = telling.moment.replaceAll('_', ' ')
  const why = note === '' ? '' : ` (${note})`
  if (state === 'delivered') return `${what}: delivered ${utcOn(nextAt, now)}`
  if (state === 'pending') {
    const next = nextAt <= now ? 'due now' : `next attempt ${utcOn(nextAt, now)}`
    return `${what}: pending, ${next}${why}`
  }
  return `${what}: ${state.replaceAll('_', ' ')}${why}`
}
