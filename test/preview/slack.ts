// Slack's blocks as Slack about shows them: an approximation of Block Kit, true to what is bold, cut or
// read as a mention, and not to the pixel.
import { html } from 'hono/html'
import type { Json } from '../notify/kinds.ts'

type Html = ReturnType<typeof html>

export function slackMessage({ blocks }: Json): Html {
  return html`<div class="slack"><b class="app">Foghorn</b> <span class="tag">APP</span>
${blocks.map(block)}</div>`
}

function block({ type, text, fields, elements, accessory }: Json): Html {
  if (type === 'header') return html`<h4>${text.text}</h4>`
  if (type === 'actions') return html`<div class="buttons">${elements.map(button)}</div>`
  if (type === 'context') return html`<div class="context">${elements.map(rich)}</div>`
  if (type !== 'section') return html`<p class="fault">a block of type ${type}</p>`
  const said = text === undefined ? '' : html`<div>${rich(text)}</div>`
  const rows = fields?.map((field: Json) => html`<div>${rich(field)}</div>`)
  const grid = rows === undefined ? '' : html`<div class="fields">${rows}</div>`
  const beside = accessory === undefined ? '' : button(accessory)
  return html`<div class="section"><div>${said}${grid}</div>${beside}</div>`
}

function button({ text, url, style, confirm }: Json): Html {
  if (url !== undefined)
    return html`<a class="button ${style ?? ''}" href="${url}">${text.text}</a>`
  const face = html`<span class="button ${style ?? ''}">${text.text}</span>`
  return confirm === undefined
    ? face
    : html`<details>
<summary>${face}</summary>${dialog(confirm)}</details>`
}

/** What Slack asks before the press counts. */
function dialog({ title, text, confirm, deny }: Json): Html {
  return html`<div class="dialog"><b>${title.text}</b><div>${text.text}</div>
<div class="buttons"><span class="button">${deny.text}</span>
<span class="button primary">${confirm.text}</span></div></div>`
}

function rich({ type, text }: Json): Html | Html[] {
  return type === 'mrkdwn' ? text.split('\n').map(line) : html`${text}`
}

/**
 * Marks count where a word begins and ends, as in Slack; what stands in <…> is a link or a mention, and
 * what stands between colons an emoji, unless it is the minutes of a time.
 */
function line(text: string): Html {
  const parts = text.split(
    /(<[^>]*>|(?<!\d(?=:\d\d:\d)):[\p{L}\p{N}_+'-]+:|(?<![\p{L}\p{N}])([*_~`])(?! )(?:(?!\2).)+(?<! )\2(?![\p{L}\p{N}]))/gu,
  )
  // each match brings its mark as a part of its own
  const shown = parts.filter((_, i) => i % 3 !== 2).map(part)
  return html`<div>${shown}</div>`
}

function part(text: string | undefined): Html {
  if (text === undefined) return html``
  const link = /^<(https:[^|]*)\|(Show event|Open the console)>$/.exec(text)
  if (link) return html`<a href="${link[1]}">${link[2]}</a>`
  // Slack shows the reader's own time
  const time = /^<!date\^(\d+)\^\{time\} for you\|[^>]+>$/.exec(text)
  if (time) return html`${clockInBerlin(Number(time[1]))} for you`
  const person = /^<@([UW][A-Z0-9]+)>$/.exec(text)
  // Slack shows the name that belongs to the id
  if (person) return html`<b>@${person[1]}</b>`
  if (/^:.+:$/.test(text)) return html`<span class="fault">an emoji: ${text}</span>`
  if (/^<.*>$/.test(text)) return html`<span class="fault">a link or a mention: ${text}</span>`
  const inner = decode(text.slice(1, -1))
  if (/^\*.+\*$/.test(text)) return html`<b>${inner}</b>`
  if (/^_.+_$/.test(text)) return html`<i>${inner}</i>`
  if (/^~.+~$/.test(text)) return html`<s>${inner}</s>`
  if (/^`.+`$/.test(text)) return html`<code>${inner}</code>`
  return html`${decode(text)}`
}

/** The reader of the preview. `at`: epoch seconds. */
function clockInBerlin(at: number): string {
  const zone = { timeZone: 'Europe/Berlin', hour: '2-digit', minute: '2-digit' } as const
  return new Date(at * 1_000).toLocaleTimeString('en-GB', zone)
}

/** The three that Slack knows. */
function decode(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
