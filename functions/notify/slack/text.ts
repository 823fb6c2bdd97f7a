// Texts for Slack's mrkdwn, with names from outside. `&`, `<` and `>` are escaped. Slack cannot
// escape other marks, so they become letters that look the same.
import { cut } from '../../../shared/text.ts'
import type { EventView } from '../../core/event/view.ts'
import { describeUser } from '../../core/message/phrases.ts'

/** Replaces the words for the person who decided in Slack by a mention, which shows their name. */
export function withName(harmless: string, { decided }: Pick<EventView, 'decided'>): string {
  if (decided?.how !== 'slack') return harmless
  const [, id = ''] = decided.who.split('/')
  const isId = /^[UW][A-Z0-9]{2,30}$/.test(id)
  return isId ? harmless.replaceAll(describeUser(decided), `<@${id}>`) : harmless
}

/** Text from outside as harmless mrkdwn of at most this length. All such text must go through it. */
export function escaped(text: string, length: number): string {
  const harmless = (kept: string) => escapeText(deaden(kept))
  let [room, shown] = [length, harmless(text)]
  while (shown.length > length) {
    room = Math.floor(room * 0.9)
    shown = harmless(cut(text, room))
  }
  return shown
}

/** Each replacement is as long as its mark, but has no meaning in mrkdwn. */
const lookalikes: Record<string, string> = {
  '*': '∗',
  _: 'ˍ',
  '~': '∼',
  '`': 'ˋ',
  ':': '∶',
  '>': '›',
  '＞': '›',
}

/**
 * What Slack reads as bold, struck, code, emphasis, `:emoji:` or a quote. Not an underscore inside
 * a word, so that VM names can be copied, and not the minutes of a time.
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
