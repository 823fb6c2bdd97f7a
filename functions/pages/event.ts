// The parts of an event that its own page and a list share: its state, and the two choices with what
// each of them does, or why whoever looks has none. Ids carry the place in the list, as pages have many.
import { html } from 'hono/html'
import type { EventRecord, Verdict } from '../core/event/event.ts'
import { remaining } from '../core/event/time.ts'
import { azureStarts, capital, hardwareAdvice, plain } from '../core/message/message.ts'
import type { Permission } from '../core/rules/permission.ts'
import { isDecidable, seenOf, stateOf, stepOf } from './state.ts'
import { whole } from './times.ts'

export type Html = ReturnType<typeof html> | string

/** Where the configuration names who may decide, those people can prove themselves in these ways. */
export type Way = 'slack' | 'sign_in'

/** Who looks, as far as the relay knows. */
export interface Viewer {
  permission: Permission
  /** How those who may can prove it; empty where anybody with the link may. */
  ways: Way[]
  /** Channels whose messages of this event have buttons that decide. */
  places: string[]
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
  /** By the link of a message that told several: such a message has no buttons of its own. */
  listed: boolean
  /** What came of what this person just tried. */
  said?: string
  /** What they decided, if that is on record now. */
  mine?: Verdict['decision']
}

/** `place`: which one of the page. */
export function statePart({ record, said, mine }: Seen, now: number, place: number): Html {
  const { tone, headline, lines, until } = stateOf(record, now)
  const left = until === undefined ? '' : remaining(until - now)
  const told = html`<p class="said" role="status" tabindex="-1" data-said
 data-mine="${mine === undefined ? '' : chosen[mine]}">${said}</p>`
  return html`${said === undefined ? '' : told}
<div class="state ${tone}" data-box tabindex="-1">
<p class="left" role="timer" data-timer ${until === undefined ? html`hidden` : ''}><b
 data-left="${until ?? ''}">${left}</b> <span>until ${startsOf(record)}</span></p>
<div aria-live="polite" aria-atomic="true" id="s${place}"><p class="headline"
 data-headline>${headline}</p><p data-lines>${whole(lines.join('\n'))}</p></div>
</div>`
}

/** Stands before what has become of it since. */
const chosen = { approved: 'You approved it.', declined: 'You chose "not now".' }

function startsOf({ drill }: EventRecord): string {
  return drill ? 'the drill starts' : 'Azure starts it'
}

/** What the program in the browser needs to know; see browser/show.ts. */
export function liveAttributes({ record }: Seen): Html {
  return html`data-event data-seen="${seenOf(record)}" data-sequence="${record.sequence}"
 data-step="${stepOf(record)}"`
}

/** `inList`: the form names its place, and the person comes back there. No page shows its own link. */
export function choicePart(seen: Seen, now: number, place: number, inList = false): Html {
  const { record, viewer } = seen
  const shown = isDecidable(record)
    ? viewer.permission === 'allowed'
      ? choices(seen, now, place, inList)
      : refusal(seen)
    : ''
  return html`${isDecidable(record) ? advice(record) : ''}${shown}<p class="moved" role="alert" data-failed hidden></p>
<p class="moved" role="alert" data-moved hidden>This changed since you opened the page.
<a href="">Reload to see it as it is now.</a></p>`
}

/** What is better than either button, where Microsoft says so. */
function advice(record: EventRecord): Html {
  return html`${hardwareAdvice(record).map((line) => html`<p>${line}</p>`)}`
}

/**
 * Whoever said *not now* can still approve, behind one more step and in no colour: a second tap on the button that
 * stood there must meet nothing that is final.
 */
function choices({ record, form }: Seen, now: number, place: number, inList: boolean): Html {
  const target = inList ? html` action="#e${place}"` : ''
  const which = inList ? html`<input type="hidden" name="event" value="${place}">` : ''
  const fields = html`<input type="hidden" name="form" value="${form}">${which}`
  const hint = html`<p class="hint" id="g${place}">${hintOf(record, inList)}</p>`
  const approve = (look: string) => html`<button class="${look}" name="decision" value="approve"
 aria-describedby="h${place} g${place}">Approve: start it now</button>`
  const inner =
    record.verdict === undefined
      ? html`${approve('go')}\n${hint}\n${notNow(record, now, place)}`
      : html`<details class="after"><summary>Approve after all</summary>\n${hint}\n${approve('quiet')}</details>`
  return html`<form method="post"${target} data-choices>${fields}\n${inner}</form>`
}

function hintOf(record: EventRecord, inList: boolean): string {
  if (record.drill) return 'The drill goes on; Azure is not told.'
  if (inList) return `Starts for ${countOf(record)}. Final.`
  return `It starts for ${countOf(record)}, usually within seconds. This can't be taken back.`
}

function notNow(record: EventRecord, now: number, place: number): Html {
  const starts = `This does not stop it: ${azureStarts(record, now, '')}.`
  const hint = `${starts} Until then you can still approve; there are no more reminders.`
  return html`<button name="decision" value="not_now" data-not-now
 aria-describedby="h${place} n${place}">Not now</button>
<p class="hint" id="n${place}" data-not-now>${whole(hint)}</p>`
}

function countOf({ facts: { resources } }: EventRecord): string {
  if (resources.length === 0) return 'all VMs it hits'
  if (resources.length === 1) return 'the VM it hits'
  return resources.length === 2 ? 'both VMs it hits' : `all ${resources.length} VMs it hits`
}

function refusal({ viewer, listed }: Seen): Html {
  const { permission, signInUrl, name } = viewer
  const reason =
    permission === 'identity_needed'
      ? 'For these VMs only people whom the configuration names may decide, and a link does not say who you are.'
      : `${name === undefined ? 'You are' : `You are signed in as ${plain(name)}, who is`} not among the people who may decide for these VMs.`
  const sign =
    signInUrl === undefined
      ? ''
      : html`<a class="button" href="${signInUrl}">Sign in with Microsoft Entra</a>`
  const way =
    permission === 'identity_needed' ? html`<p>${whole(wayOf(viewer, listed))}</p>${sign}` : ''
  return html`<section class="refusal"><h2>You can look, not decide</h2>
<p>${reason}</p>${way}</section>`
}

/** Where those who may can do it, and where not. */
function wayOf({ ways, places, signInUrl }: Viewer, listed: boolean): string {
  if (ways.length === 0) return 'Ask the owner of this relay who may.'
  const [slack, sign] = [ways.includes('slack'), ways.includes('sign_in')]
  const open = [
    ...(slack && places.length > 0 ? [slackWay(places, listed)] : []),
    ...(sign && signInUrl !== undefined ? ['here, by signing in'] : []),
  ]
  const closed = [
    ...(slack && places.length === 0 ? ['no message of this event has buttons in Slack'] : []),
    ...(sign && signInUrl === undefined ? ['signing in is off on this relay'] : []),
  ]
  const not = capital(closed.join(', and '))
  if (open.length === 0) return `${not}, so the admin key is the only way.`
  return `They decide ${open.join(', or ')}.${not && ` ${not}.`}`
}

function slackWay(places: string[], listed: boolean): string {
  const where = places.map((name) => `"${name}"`).join(' or ')
  return listed
    ? `in Slack, by the buttons of a message of its own in ${where} (one that lists several has none), or with the admin key`
    : `in Slack, by the buttons of the message in ${where}`
}
