// The marks of the picture of the next days. The relay places them by UTC, but the reader's midnight may
// be at another hour.

/** `share`: of the width, from 0 to 1. */
interface Mark {
  share: number
  text: string
}

/** Labels beyond this share would be cut off. */
const lastLabel = 0.95
const dayMs = 86_400_000

/** Marks from `from` to before `from + span`, one each `step` from midnight on. All in ms. */
function findMarks(from: number, span: number, step: number, isUtc: boolean): Mark[] {
  const most = Math.ceil((dayMs + span) / step) + 1
  return Array.from({ length: most }, (_, i) => findTime(from, i * step, isUtc))
    .map((at) => ({ at, share: (at.getTime() - from) / span }))
    .filter(({ share }) => share >= 0 && share < 1)
    .map(({ at, share }) => ({ share, text: share > lastLabel ? '' : describeMark(at, isUtc) }))
}

/** `ms` after the midnight before `from`, by the clock: a day may have 23 or 25 hours. */
function findTime(from: number, ms: number, isUtc: boolean): Date {
  const start = new Date(from)
  return isUtc
    ? new Date(from - (from % dayMs) + ms)
    : new Date(start.getFullYear(), start.getMonth(), start.getDate(), 0, 0, 0, ms)
}

/** `Mon 24` at midnight, else `16:00`. */
function describeMark(at: Date, isUtc: boolean): string {
  const zone = isUtc ? { timeZone: 'UTC' } : {}
  const read = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-GB', { ...options, ...zone }).format(at)
  const clock = read({ hour: '2-digit', minute: '2-digit' })
  return clock === '00:00' ? `${read({ weekday: 'short' })} ${read({ day: 'numeric' })}` : clock
}

/** Moves the marks of all lanes, and writes their labels. */
export function placeMarks(main: Element, isUtc: boolean): void {
  for (const figure of main.querySelectorAll<HTMLElement>('[data-marks]')) {
    const [from, span, step] = figure.dataset.marks!.split(' ').map(Number)
    const marks = findMarks(from!, span!, step!, isUtc)
    for (const svg of figure.querySelectorAll('svg')) {
      for (const [i, node] of svg.querySelectorAll('.grid').entries()) place(node, marks[i])
    }
  }
}

function place(node: Element, mark: Mark | undefined): void {
  node.setAttribute('display', mark === undefined ? 'none' : 'inline')
  if (mark === undefined) return
  const isText = node.tagName === 'text'
  for (const name of isText ? ['x'] : ['x1', 'x2']) {
    node.setAttribute(name, `${(mark.share * 100).toFixed(2)}%`)
  }
  if (isText) node.textContent = mark.text
}
