// Words for Slack's mrkdwn. Names come from outside, and Slack has no way to escape its marks: `&`, `<` and `>`
// are escaped everywhere, other marks become letters that look like them.
import { cut } from '../../../shared/document.ts'
import type { EventView } from '../../core/delivery/delivery.ts'
import { userOf } from '../../core/message/phrases.ts'

/**
 * Shows the name of the person who decided in Slack, in place of the words for them. Words from
 * outside that happen to be the same name the same person.
 */
export function withName(harmless: string, { verdict }: Pick<EventView, 'verdict'>): string {
  if (verdict?.how !== 'slack') return harmless
  const [, id = ''] = verdict.who.split('/')
  const isId = /^[UW][A-Z0-9]{2,30}$/.test(id)
  return isId ? harmless.replaceAll(userOf(verdict), `<@${id}>`) : harmless
}

/** Harmless as mrkdwn and in `text`, which Slack reads the same way, and cut to a limit. */
export function shorten(text: string, length: number): string {
  const harmless = (kept: string) => escapeText(deaden(kept))
  let [room, shown] = [length, harmless(text)]
  while (shown.length > length) {
    room = Math.floor(room * 0.9)
    shown = harmless(cut(text, room))
  }
  return shown
}

/** As long as the marks, and read as nothing but themselves. */
const lookalikes: Record<string, string> = {
  ...{ '*': '∗', _: 'ˍ', '~': '∼', '`': 'ˋ' },
  ...{ ':': '∶', '>': '›', '＞': '›' },
}

/**
 * What Slack reads as bold, struck, code, emphasis, `:emoji:` or a quote. An underscore inside a word is
 * no mark to it, and VM names, full of them, can be copied; nor are the minutes of a time an emoji.
 */
const markup = new RegExp(
  [
    '[*~`]',
    '(?<![A-Za-z0-9_])_+|_+(?![A-Za-z0-9_])',
    "(?<!\\d(?=:\\d\\d:\\d)):(?=[\\p{L}\\p{M}\\p{N}_+'-]+:)",
    '^\\s*[>＞]+',
  ].join('|'),
  'gmu',
)

export function deaden(text: string): string {
  return text.replace(markup, (found) => found.replace(/./gsu, (one) => lookalikes[one] ?? one))
}

export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
