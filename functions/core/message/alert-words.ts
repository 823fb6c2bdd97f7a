// Words that alerts of several kinds share.
import type { AlertNews, AlertTraits, News } from '../delivery/alert-kind.ts'

/** Names in a title, and in a fact. */
export const [fewNames, manyNames] = [3, 10]

/** The text of a kind that begins and ends. */
export function beginsAndEnds(
  texts: Record<AlertNews['form'], (news: News) => ReturnType<AlertTraits['text']>>,
): AlertTraits['text'] {
  return ({ alert, news, names, reasons }, scene) => {
    if (news === undefined) throw new Error(`an alert of kind ${alert} has no news`)
    return texts[news.form]({ ...news, ...scene, names: names.filter(Boolean), reasons })
  }
}

export function namesIn({ names, count }: Pick<News, 'names' | 'count'>): string {
  return listed(names, count, fewNames)
}

/** `web_0, web_1 and 9 more`: `count` is how many there are, of which `names` has the first. */
export function listed(names: string[], count: number, most: number): string {
  const shown = names.slice(0, count <= most + 1 ? most + 1 : most)
  const more = count - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
