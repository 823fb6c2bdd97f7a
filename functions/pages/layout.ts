// The frame of every page, and the headers that go with it: no script, nothing from elsewhere, never
// kept, never framed, never indexed.
import { html, raw } from 'hono/html'

const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --ground: #fff; --line: #d0d7de;
  --go: #1a7f37; --stay: #eaeef2; --band: #fff8c5 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --ground: #0d1117;
  --line: #3d444d; --go: #2ea043; --stay: #262c36; --band: #3b2e00 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 40rem; padding: 1.25rem; background: var(--ground);
  color: var(--ink); font: 1.0625rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
header { color: var(--soft); font-weight: 600; letter-spacing: .02em }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .75rem 0 }
.state { background: var(--band); border-radius: .5rem; padding: .75rem 1rem; margin: 1rem 0 }
dl { display: grid; grid-template-columns: minmax(6rem, auto) 1fr; gap: .375rem 1rem;
  border-top: 1px solid var(--line); padding-top: 1rem }
dt { color: var(--soft) }
dd { margin: 0 }
form { display: grid; gap: .75rem; margin: 1.25rem 0 }
button { font: inherit; font-weight: 600; padding: .875rem 1rem; border-radius: .5rem; cursor: pointer;
  border: 1px solid var(--line); background: var(--stay); color: var(--ink) }
button.go { background: var(--go); border-color: var(--go); color: #fff }
button:focus-visible { outline: 3px solid var(--ink); outline-offset: 2px }
.hint { color: var(--soft); font-size: .9375rem; margin: -.375rem 0 .375rem }
ol { padding-left: 1.25rem }
input { font: inherit; padding: .75rem 1rem; border-radius: .5rem; border: 1px solid var(--soft);
  background: var(--ground); color: var(--ink) }
form.aside { float: right; margin: 0 }
form.aside button { padding: .25rem .75rem }
.record { padding-left: 1.25rem }
.record li { margin: .5rem 0 }
nav a, nav strong { display: inline-block; padding: .25rem .5rem .25rem 0 }
`

let styleHash: Promise<string> | undefined

/** Headers of every page. The style is allowed by its hash, so nothing else can be slipped in. */
export async function pageHeaders(): Promise<Record<string, string>> {
  styleHash ??= hashOf(style)
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${await styleHash}'`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]
  return {
    'cache-control': 'no-store',
    'content-security-policy': policy.join('; '),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'x-robots-tag': 'noindex',
  }
}

export function layout(title: string, body: ReturnType<typeof html>) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Foghorn</title>
<style>${raw(style)}</style>
</head>
<body>
<header>Foghorn</header>
<main>${body}</main>
</body>
</html>`
}

async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
}
