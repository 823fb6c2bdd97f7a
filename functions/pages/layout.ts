// The frame of every page, and its headers: no content from elsewhere, no caching, no framing, no
// indexing. The policy allows style and script by their hashes, so injected ones do not run.
import { html, raw } from 'hono/html'
import { utc } from '../core/event/time.ts'
import { liveScript, liveScriptHash } from './browser/embedded.ts'
import { style } from './style.ts'

const styleHashes = new Map<string, Promise<string>>()

/** What a page may load and run: its own style, and the program of an open page. */
export async function pagePolicy(own = style): Promise<string> {
  const styleHash = styleHashes.get(own) ?? computeHash(own)
  styleHashes.set(own, styleHash)
  return [
    "default-src 'none'",
    `style-src 'sha256-${await styleHash}'`,
    `script-src 'sha256-${liveScriptHash}'`,
    // the icon of the tab
    'img-src data:',
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/** Headers of every answer. A page has its own policy. */
export const privateHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex',
}

/** Sent if the relay is reached by https. Without subdomains, which may belong to others. */
export const secureHeaders = { 'strict-transport-security': 'max-age=31536000' }

export function isSecure(url: string): boolean {
  return /^https:/i.test(url)
}

/** What a page needs that shows events, and asks for news while it is open. */
export interface Live {
  /** Epoch ms, by the relay's clock. */
  now: number
  /** Identifies the content, so that an open page gets no answer that it has. */
  etag?: string
  /** The page asks for news this often. 0: nothing will change. */
  refreshSeconds: number
}

export function buildLiveAttributes({ now, etag = '', refreshSeconds }: Live, gone: string) {
  return html`data-now="${now}" data-at="${utc(now)}" data-etag="${etag}" data-refresh="${refreshSeconds}"
 data-gone="${gone}"`
}

/** What the program of an open page shows beside the page. */
export const bars = html`<p class="lost" role="status" data-lost hidden></p>
<p class="away" role="status" data-news></p>`
export const liveEnd = html`<p class="waiting" role="status" data-waiting hidden>This page has changed.
<button class="slim" type="button">Show the new state</button></p>
<script>${raw(liveScript)}</script>`

/** A horn. The icon of a tab has the colour of what waits there. */
const horn = 'M3 9.5v5h3.5L16 19.5v-15L6.5 9.5zM18.5 8a5.5 5.5 0 0 1 0 8'

export const brand = html`<svg class="horn" viewBox="0 0 24 24" aria-hidden="true"><path d="${horn}"/></svg>Foghorn`

export function chooseIcon(color: string) {
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="${horn}" fill="${color}" stroke="${color}" stroke-width="2"/></svg>`
  return html`<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(picture)}">
<meta name="theme-color" content="#ffffff" media="(prefers-color-scheme: light)"><meta name="theme-color" content="#161b22" media="(prefers-color-scheme: dark)">`
}

const linkGone = 'This link no longer works. The page shows the last known state.'

export function layout(title: string, body: ReturnType<typeof html>, live?: Live) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Foghorn</title>
${chooseIcon('#57606a')}
<style>${raw(style)}</style>
</head>
<body>
${live ? bars : ''}
<header>${brand}</header>
<main data-page${live ? html` tabindex="-1" data-asks ${buildLiveAttributes(live, linkGone)}` : ''}>${body}</main>
${live ? liveEnd : ''}
</body>
</html>`
}

async function computeHash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
}
