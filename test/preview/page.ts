// One page with every message that Foghorn sends, as its channel shows it. It is made of the requests that
// the notifiers themselves make, and needs nothing from elsewhere.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { html, raw } from 'hono/html'
import { type Json, type Kind, kinds, notifierOf } from '../notify/kinds.ts'
import { type Captured, capture } from '../notify/outgoing.ts'
import { httpNames } from '../notify/presets.ts'
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
  teams: card,
  teams_bot: card,
  pagerduty: incident,
}

/** A message of Teams, or the conversation that begins with one. */
function card({ activity, ...message }: Json): Html {
  const { content } = (activity ?? message).attachments[0]
  return html`<div class="card" data-card="${JSON.stringify(content)}"></div>`
}

/** What becomes of it, where that does not show: a bot edits and replies, and incidents have keys. */
const captions: Partial<Record<Kind, (url: string, json: Json) => string>> = {
  slack_bot: (url, { thread_ts: thread, reply_broadcast: broadcast }) => {
    if (url.endsWith('chat.update')) return 'edited message'
    if (thread === undefined) return 'new message'
    return broadcast ? 'reply in its thread, and in the channel' : 'reply in its thread'
  },
  teams_bot: (url) => {
    if (url.endsWith('/v3/conversations')) return 'new message'
    return url.endsWith('/activities') ? 'reply in its thread' : 'edited message'
  },
  pagerduty: (_url, { dedup_key: key }) =>
    `incident of ${/stuck$/.test(key) ? 'the stuck approval' : /channel/.test(key) ? 'a channel' : 'the event'}`,
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

/** One scene has the requests of kind `http`, as its texts are those of the others. */
export function kindsIn(scene: string): Kind[] {
  const together = scenes[scene]!.also.length
  return kinds.filter((kind) => {
    const isShown = scene === 'scheduled' || !httpNames.some((name) => name === kind)
    return isShown && together < notifierOf(kind).rate.together
  })
}

async function sceneOf(name: string): Promise<Html> {
  const able = kindsIn(name)
  const requests = await Promise.all(able.map((kind) => capture(kind, scenes[name])))
  const shown = able.map((kind, i) => kindOf(kind, requests[i]!.requests))
  return html`<section class="scene" id="${idOf(name)}"><h2>${name}</h2>
<div class="kinds">${shown}</div></section>`
}

function kindOf(kind: Kind, requests: Captured[]): Html {
  const shown = requests.map((request) => requestOf(kind, request))
  const inner = shown.length === 0 ? html`<p>Nothing is sent.</p>` : shown
  return html`<article class="kind" data-kind="${kind}"><h3>${kind}</h3>${inner}</article>`
}

function requestOf(kind: Kind, { url, json }: Captured): Html {
  const what = captions[kind]?.(url, json)
  const caption = what === undefined ? '' : html`<div class="caption">${what}</div>`
  const sent = html`<pre>${JSON.stringify(json, null, 1)}</pre>`
  const picture = pictures[kind]?.(json)
  if (picture === undefined) return html`${caption}${sent}`
  return html`${caption}${picture}<details><summary>as sent</summary>${sent}</details>`
}

export function idOf(name: string): string {
  return name.replace(/[^a-z]+/gi, '-').toLowerCase()
}
