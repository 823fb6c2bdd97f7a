// Small parts that pages of the console share.
import { html } from 'hono/html'
import { documentedTypes, isAdvice } from '../../../shared/document.ts'
import { type Delivery, isSink, tellsOfEvent } from '../../core/delivery/delivery.ts'
import type { publicDelivery } from '../../core/event/public-view.ts'
import type { EventStep, EventSummary } from '../../core/event/summary.ts'
import { stateWords, type Tone, type Wait } from '../../core/event/words.ts'
import { plain } from '../../core/message/phrases.ts'
import type { Html } from '../event.ts'

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

type Delivered = ReturnType<typeof publicDelivery>

export function hasFailed({ state }: Delivered): boolean {
  return state === 'refused' || state === 'given_up'
}

/** What failed in one channel for one reason has one row, that of the newest message. */
export function foldFailures<One extends Delivered>(newestFirst: One[]) {
  const cause = (one: One) =>
    hasFailed(one) ? JSON.stringify([one.channel, one.state, one.note]) : one.id
  return [...Map.groupBy(newestFirst, cause).values()].map(([one, ...earlier]) => ({
    one: one!,
    earlier,
  }))
}

/** The channels in which this epoch's last message has not arrived: `✗ on-call`. Those that were told are the rule. */
export function untoldPart(deliveries: Delivery[], epoch: number): Html {
  const own = deliveries.filter(
    ({ channel, notification }) =>
      tellsOfEvent(notification) && notification.event.epoch === epoch && !isSink(channel),
  )
  const channels = [...Map.groupBy(own, ({ channel }) => channel)]
  return html`${channels.map(([channel, all]) => {
    const { state } = all.findLast(({ state }) => state !== 'superseded') ?? all.at(-1)!
    if (state === 'delivered' || state === 'superseded') return ''
    const [tone, mark] = deliveryTones[state]
    return html`<span class="reached ${tone}"><span aria-hidden="true">${mark}</span> ${plain(channel)}<span class="away"> ${state.replaceAll('_', ' ')}</span></span> `
  })}`
}

/** `inferred`: no beacon saw it end like this. */
export function badge(
  { eventType }: Pick<EventSummary, 'eventType'>,
  step: EventStep | Wait,
  inferred?: boolean,
): Html {
  const { word, tone } = stateWords[step === 'open' && isAdvice({ eventType }) ? 'advice' : step]
  const shown = inferred && step !== 'lost' ? `Probably ${word.toLowerCase()}` : word
  return html`<span class="badge ${tone}">${shown}</span>`
}

/** What the form of a page has just done. */
const notices = {
  replayed: 'The message will be sent again.',
  not_replayed: 'Nothing was sent: there is no failed message, or the subscription is not active.',
  tested: 'A test message is on its way.',
  no_test: 'Nothing was sent: this channel or subscription cannot be tested now.',
  too_soon: 'Nothing was sent: another test was sent less than 10 s ago.',
} as const
export type Notice = keyof typeof notices

/** `own`: what the page itself may say. */
export function noticePart(notice: string | undefined, own: Record<string, string> = {}): Html {
  const count = /^replayed_(\d{1,4})$/.exec(notice ?? '')?.[1]
  const text =
    count === undefined
      ? new Map<string, string>(Object.entries({ ...notices, ...own })).get(notice ?? '')
      : `${count} messages will be sent again.`
  return text === undefined ? '' : html`<p class="said" role="status" data-said>${text}</p>`
}

/** A button that sends something, with the token that proves that the form is ours. */
export function sendForm(
  action: string,
  form: string,
  fields: Record<string, string>,
  label: Html,
) {
  const hidden = Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )
  return html`<form class="inline" method="post" action="${action}"><input type="hidden" name="form" value="${form}">${hidden}<button class="slim">${label}</button></form>`
}

/** One of the options, or all of them. */
export function select(
  name: string,
  value: string,
  options: readonly string[],
  all: string,
  words = (option: string) => option,
): Html {
  const option = (one: string, text: string) =>
    html`<option value="${one}"${one === value ? html` selected` : ''}>${text}</option>`
  return html`<select name="${name}">${option('', all)}${options.map((one) => option(one, words(one)))}</select>`
}

export function typeField(type: string): Html {
  const known: readonly string[] = documentedTypes
  const all = type === '' || known.includes(type) ? known : [...known, type]
  return html`<label>Type ${select('type', type, all, 'All types')}</label>`
}

/** A visitor of one fleet has nothing to choose. */
export function fleetField(fleet: string, fleets: string[]): Html {
  if (fleets.length < 2) return ''
  return html`<label>Fleet ${select('fleet', fleet, fleets, 'All fleets')}</label>`
}
