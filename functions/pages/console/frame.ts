// The frame of every page of the console: who is signed in, the tabs, and the bars of an open page.
import { html, raw } from 'hono/html'
import { utc } from '../../core/event/time.ts'
import { tabs as ofFeatures } from '../../features/rules.ts'
import type { Html } from '../event.ts'
import {
  bars,
  brand,
  buildLiveAttributes,
  chooseIcon,
  type Live,
  liveEnd,
  pagePolicy,
} from '../layout.ts'
import { consoleStyle } from './style.ts'

const tabs = {
  now: { path: '', label: 'Now' },
  upcoming: { path: '/upcoming', label: 'Upcoming' },
  history: { path: '/events', label: 'History' },
  beacons: { path: '/beacons', label: 'Beacons' },
  channels: { path: '/channels', label: 'Channels' },
  ...ofFeatures,
} as const
type Tab = keyof typeof tabs

export interface Frame extends Partial<Live> {
  /** The path of the console. */
  base: string
  /** Absent on the page of one thing. */
  tab?: Tab
  /** Who is signed in: `admin`, the name of a token or of a person. */
  who: string
  /** The token of the form that signs out. Absent for a person, whom the host signs out. */
  signOut?: string
  now: number
  /** Undecided events, for the title of the tab. */
  undecided?: number
  /** A screen on a wall: no tabs, nothing to press, larger, and a clock. */
  wall?: boolean
}

export function consolePolicy(): Promise<string> {
  return pagePolicy(consoleStyle)
}

export function consoleLayout(frame: Frame, title: string, body: Html) {
  const { base, tab, refreshSeconds = 0, undecided = 0 } = frame
  const links = Object.entries(tabs).map(
    ([name, { path, label }]) =>
      html`<a href="${base}${path}"${name === tab ? html` aria-current="page"` : ''}>${label}</a>`,
  )
  const waiting = undecided === 0 ? '' : `(${undecided}) `
  const named = `${waiting}${title} · Foghorn`
  if (frame.wall) return wallLayout(frame, named, body)
  return bare(
    named,
    html`<a class="skip" href="#content">Skip to the content</a>
${bars}
<header class="top"><a class="brand" href="${base}">${brand}</a>
<nav class="tabs" aria-label="Console">${links}</nav>
<div class="whom"><button class="link" type="button" data-zone hidden></button><span>${frame.who}</span>${composeSignOut(frame)}</div></header>
<main id="content" tabindex="-1" data-page ${buildLiveAttributes({ ...frame, refreshSeconds }, pageGone)}>${body}</main>
${liveEnd}`,
    { waits: undecided > 0 },
  )
}

/** The page of a wall screen. Without a script, the browser loads it again. */
function wallLayout({ base, ...frame }: Frame, title: string, body: Html) {
  const { refreshSeconds = 0 } = frame
  return bare(
    title,
    html`${bars}
<header class="top"><span class="brand">${brand}</span><p class="live"><b data-clock>${utc(frame.now).slice(11)}</b></p>
<p class="below" data-below></p>
<a class="note" href="${base}">Leave the wall screen</a></header>
<main id="content" tabindex="-1" data-page ${buildLiveAttributes({ ...frame, refreshSeconds }, pageGone)}>${body}</main>
${liveEnd}`,
    { kind: 'wall', waits: (frame.undecided ?? 0) > 0 },
  )
}

const pageGone = 'You are signed out, or this is no longer available. Reload the page.'

function composeSignOut({ base, signOut }: Frame): Html {
  if (signOut === undefined) return html`<a href="/.auth/logout">Sign out</a>`
  return html`<form method="post" action="${base}/sign-out">
<input type="hidden" name="form" value="${signOut}"><button class="link">Sign out</button></form>`
}

/** `waits`: people must decide something. */
function bare(title: string, body: Html, { kind = '', waits = false } = {}) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
${kind === 'wall' ? html`<noscript><meta http-equiv="refresh" content="15"></noscript>` : ''}
${chooseIcon(waits ? '#bf8700' : '#1a7f37')}
<style>${raw(consoleStyle)}</style>
</head>
<body class="console ${kind}">${body}</body>
</html>`
}

interface SignIn {
  base: string
  /** Absent: neither the admin key nor a token is accepted. */
  form?: string
  /** Where to go next, within the console. */
  to: string
  /** The host's own sign-in. */
  signInUrl?: string
  /** A person signed in, but is not among the viewers. */
  stranger?: string
  message?: string
}

export function signInPage({ base, form, to, signInUrl, stranger, message }: SignIn) {
  const other =
    stranger === undefined
      ? ''
      : html`<p class="said" role="alert">You are signed in as ${stranger}. This account has no access to the console.
An owner can add you to <code>viewers</code> in the configuration.</p>`
  const said =
    message === undefined ? '' : html`<p class="said bad" id="refused" role="alert">${message}</p>`
  const wrong = message === undefined ? '' : html` aria-invalid="true" aria-describedby="refused"`
  const host =
    signInUrl === undefined
      ? ''
      : html`<p><a class="button" href="${signInUrl}">Sign in with Microsoft Entra</a></p>`
  const key =
    form === undefined
      ? ''
      : html`<form method="post" action="${base}/sign-in">
<input type="hidden" name="form" value="${form}"><input type="hidden" name="to" value="${to}">
<label for="key">Admin key or token</label>
<input id="key" name="key" type="password" autocomplete="current-password" required${wrong}${signInUrl === undefined ? html` autofocus` : ''}>
<button class="go">Sign in</button>
</form>
<p class="hint">The value of FOGHORN_ADMIN_KEY on the relay, or a token with the scope "read". You stay
signed in for 8 hours; with a token that only reads, until it expires. A link in a message needs no sign-in.</p>`
  return bare(
    'Sign in · Foghorn',
    html`<main class="narrow" data-page><header class="brand">${brand}</header>
<h1>Sign in to Foghorn</h1>
${other}${said}${host}${key}</main>`,
  )
}

export function consoleMessage(frame: Frame, title: string, text: string) {
  return consoleLayout(frame, title, html`<h1>${title}</h1><p class="lead">${text}</p>`)
}
