// One page with every message that Foghorn sends, as its channel shows it. It is made of the requests that
// the notifiers themselves make, and needs nothing from elsewhere.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { html, raw } from 'hono/html'
import { notifiers } from '../../functions/notify/index.ts'
import { type Json, type Kind, kinds } from '../notify/kinds.ts'
import { type Captured, capture } from '../notify/outgoing.ts'
import { scenes } from '../notify/scenes.ts'
import { cardScript } from './cards.ts'
import { incident } from './pagerduty.ts'
import { slackMessage } from './slack.ts'
import { style } from './style.ts'

type Html = ReturnType<typeof html>

/** A kind without a picture of its own is shown as what is sent. */
const pictures: Partial<Record<Kind, (json: Json) => Html>> = {
  slack: slackMessage,
  slack_bot: slackMessage,
  teams: (json) =>
    html`<div class="card" data-card="${JSON.stringify(json.attachments[0].content)}"></div>`,
  pagerduty: incident,
}

export async function previewPage(): Promise<string> {
  const sections = await Promise.all(Object.keys(scenes).map(sceneOf))
  const links = Object.keys(scenes).map((name) => html`<a href="#${idOf(name)}">${name}</a>`)
  const page = await html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>What Foghorn says</title><style>${raw(style)}</style></head>
<body>
<header><h1>What Foghorn says</h1><button id="theme" class="button">Light or dark</button></header>
<p class="context">Cards are drawn by Microsoft's library; Slack and PagerDuty approximately.</p>
<nav>${links}</nav>
${sections}
<script>${raw(libraryOfCards())}</script>
<script>${raw(cardScript)}</script>
</body></html>
`
  return String(page)
}

/** The bundle that the package brings for browsers; nothing in it may end the script it stands in. */
function libraryOfCards(): string {
  const path = createRequire(import.meta.url).resolve('adaptivecards/dist/adaptivecards.min.js')
  return readFileSync(path, 'utf8').replaceAll('</script', '<\\/script')
}

async function sceneOf(name: string): Promise<Html> {
  const together = scenes[name]!.also.length
  const able = kinds.filter((kind) => together < notifiers[kind].rate.together)
  const requests = await Promise.all(able.map((kind) => capture(kind, scenes[name])))
  const shown = able.map((kind, i) => kindOf(kind, requests[i]?.request))
  return html`<section class="scene" id="${idOf(name)}"><h2>${name}</h2>
<div class="kinds">${shown}</div></section>`
}

function kindOf(kind: Kind, request: Captured | undefined): Html {
  const frame = (inner: Html) =>
    html`<article class="kind" data-kind="${kind}"><h3>${kind}</h3>${inner}</article>`
  if (request === undefined) return frame(html`<p>Nothing is sent.</p>`)
  const json = html`<pre>${JSON.stringify(request.json, null, 1)}</pre>`
  const picture = pictures[kind]?.(request.json)
  if (picture === undefined) return frame(json)
  return frame(html`${picture}<details><summary>as sent</summary>${json}</details>`)
}

export function idOf(name: string): string {
  return name.replace(/[^a-z]+/gi, '-').toLowerCase()
}
