// The parts of an event that its own page and a list share: its state, and the two choices with what
// each of them does, or why whoever looks has none. Ids carry the place in the list, as pages have many.
import { html } from 'hono/html'
import type { EventRecord } from '../core/event.ts'
import type { Permission } from '../core/permission.ts'
import { clock, span } from '../core/time.ts'
import { isDecidable, seenOf, stateOf } from './state.ts'

export type Html = ReturnType<typeof html> | string

/** Where the configuration names who may decide, those people can prove themselves in these ways. */
export type Way = 'slack' | 'sign_in'

/** Who looks, as far as the relay knows. */
export interface Viewer {
  permission: Permission
  /** How those who may can prove it; empty where anybody with the link may. */
  ways: Way[]
  /** Leads to the host's own sign-in and back. */
  signInUrl?: string
  /** Of whoever has signed in. */
  name?: string
}

/** An event as somebody sees it by a link. */
export interface Seen {
  record: EventRecord
  viewer: Viewer
  /** For the hidden field of the form. */
  form: string
  /** What came of what this person just tried. */
  said?: string
}

/** `place`: which one of the page. */
export function statePart({ record, said }: Seen, now: number, place: number): Html {
  const { tone, headline, lines, until } = stateOf(record, now)
  const left = until === undefined ? '' : span(until - now)
  return html`${said === undefined ? '' : html`<p class="said" role="status">${said}</p>`}
<div class="state ${tone}" data-box tabindex="-1">
<p class="left" role="timer" data-timer ${until === undefined ? html`hidden` : ''}><b
 data-left="${until ?? ''}">${left}</b> <span>until ${startsOf(record)}</span></p>
<div aria-live="polite" aria-atomic="true" id="s${place}"><p class="headline"
 data-headline>${headline}</p><p data-lines>${lines.join('\n')}</p></div>
</div>`
}

function startsOf({ drill }: EventRecord): string {
  return drill ? 'the drill starts' : 'Azure starts it'
}

/** Data for the script; see live.ts. */
export function liveAttributes({ record }: Seen): Html {
  return html`data-event data-seen="${seenOf(record)}" data-sequence="${record.sequence}"`
}

/** `inList`: the form names its place, and the person comes back there. No page shows its own link. */
export function choicePart(seen: Seen, now: number, place: number, inList = false): Html {
  const { record, viewer } = seen
  const shown = isDecidable(record)
    ? viewer.permission === 'allowed'
      ? choices(seen, now, place, inList)
      : refusal(viewer)
    : ''
  return html`${shown}<p class="moved" role="alert" data-moved hidden>This changed since you opened the page.
<a href="">Reload to see it as it is now.</a></p>`
}

function choices({ record, form }: Seen, now: number, place: number, inList: boolean): Html {
  const hint = record.drill
    ? 'The drill goes on as if Azure had been told, which it is not.'
    : `It starts for ${countOf(record)}, usually within seconds. This can't be taken back.`
  const target = inList ? html` action="#e${place}"` : ''
  const which = inList ? html`<input type="hidden" name="event" value="${place}">` : ''
  return html`<form method="post"${target} data-choices>
<input type="hidden" name="form" value="${form}">${which}
<button class="go" name="decision" value="approve" aria-describedby="h${place} g${place}">Approve: start it now</button>
<p class="hint" id="g${place}">${hint}</p>
${record.verdict === undefined ? notNow(record, now, place) : ''}
</form>`
}

function notNow(record: EventRecord, now: number, place: number): Html {
  const { notBeforeAt } = record.facts
  const known = notBeforeAt !== undefined && notBeforeAt > now
  const starts = record.drill ? 'The drill starts' : 'Azure starts it'
  const due = known ? `at ${clock(notBeforeAt, now)}` : 'when it decides'
  return html`<button name="decision" value="not_now" aria-describedby="h${place} n${place}">Not now</button>
<p class="hint" id="n${place}">${starts} ${due} all the same. No more reminders; you can still approve later.</p>`
}

function countOf({ facts: { resources } }: EventRecord): string {
  if (resources.length === 0) return 'all VMs it hits'
  if (resources.length === 1) return 'the VM it hits'
  return resources.length === 2 ? 'both VMs it hits' : `all ${resources.length} VMs it hits`
}

function refusal({ permission, ways, signInUrl, name }: Viewer): Html {
  const reason =
    permission === 'identity_needed'
      ? 'For these VMs only people whom the configuration names may decide, and a link does not say who you are.'
      : `${name === undefined ? 'You are' : `You are signed in as ${name}, who is`} not among the people who may decide for these VMs.`
  return html`<section class="refusal"><h2>You can look, not decide</h2>
<p>${reason}</p>${permission === 'identity_needed' ? wayPart(ways, signInUrl) : ''}</section>`
}

function wayPart(ways: Way[], signInUrl: string | undefined): Html {
  const known: Record<Way, Html> = {
    slack: html`<li>In Slack: with the buttons of the message.</li>`,
    sign_in:
      signInUrl === undefined
        ? html`<li>On this page, signed in with Microsoft Entra; this relay has no sign-in switched on.</li>`
        : html`<li><a class="button" href="${signInUrl}">Sign in with Microsoft Entra</a></li>`,
  }
  if (ways.length === 0) return html`<p>Ask the owner of this relay who may.</p>`
  return html`<p>Those who may decide:</p><ul>${ways.map((way) => known[way])}</ul>`
}
