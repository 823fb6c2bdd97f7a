// The program of an open page. It counts down, shows the reader's own time, and asks the relay for the
// page again while it is visible. It does not touch what is under a pointer or has the focus, and never
// replaces buttons by those of a changed event: then a bar at the lower edge offers the new state.
// `npm run generate` compiles it into embedded.ts.
import { readNews, waitMs } from './answers.ts'
import { countdown, relayNow, setRelayTime } from './clock.ts'
import { isTyping, press } from './keys.ts'
import { linesInTurn } from './lines.ts'
import { arePressesGuarded, guardPresses, keepInPlace } from './press-guard.ts'
import { answerLimitMs, isOurs, liveIn, send } from './send.ts'
import { addReadersTimes, clockHere, setText, showOneClock, turnZone } from './text.ts'

const tickMs = 500
const failuresShown = 2
/** Below the lines of a screen on a wall. */
const belowPx = 8
/** A pointer that has not moved for this long is not used: a wall screen, or a person who left. */
const idleMs = 20_000

const lost = document.querySelector<HTMLElement>('[data-lost]')!
const news = document.querySelector<HTMLElement>('[data-news]')!
const waiting = document.querySelector<HTMLElement>('[data-waiting]')!
let main = document.querySelector<HTMLElement>('main')!
let etag = ''
let fresh: Document | undefined
let timer: ReturnType<typeof setTimeout> | undefined
let failures = 0
let isAsking = false
let isSending = false
let isOver = false
/** Counts the pages that were shown, so that an answer for an earlier one changes nothing. */
let round = 0
/** What the buttons of each event decided about when they were last shown, by event. */
let decided = new Map<string, string>()
let movedAt = Number.NEGATIVE_INFINITY
let isPointerInside = false

function begin(): void {
  setRelayTime(Number(main.dataset.now))
  etag = main.dataset.etag ?? ''
  showTimes()
  decided = new Map([...decided, ...choicesIn(main)])
  main.addEventListener('pointerenter', () => {
    isPointerInside = true
  })
  main.addEventListener('pointerleave', () => {
    isPointerInside = false
  })
  tick()
  schedule()
}

/** A decision needs both clocks, so the page behind a link has them side by side. */
function showTimes(): void {
  if (document.body.classList.contains('console')) showOneClock(main)
  else addReadersTimes(main)
}

/** 0: the page shows nothing that can change. */
function everyMs(): number {
  return Number(main.dataset.refresh ?? 0) * 1_000
}

function schedule(): void {
  clearTimeout(timer)
  if (everyMs() > 0 && !isOver) timer = setTimeout(ask, waitMs(everyMs(), failures))
}

function tick(): void {
  for (const node of document.querySelectorAll('[data-clock]')) setText(node, clockHere())
  for (const node of document.querySelectorAll<HTMLElement>('[data-left]')) {
    const at = Number(node.dataset.left)
    if (at === 0) continue
    const leftMs = Math.max(0, at - relayNow())
    setText(node, countdown(leftMs))
    const part = node.closest<HTMLElement>('[data-timer]')
    if (part !== null && part.hidden !== (leftMs === 0)) {
      keepInPlace(() => {
        part.hidden = leftMs === 0
      })
    }
  }
  for (const node of document.querySelectorAll('[data-below]')) setText(node, turnLines())
  if (fresh !== undefined && mayShow(fresh)) show(fresh)
}

/** A screen on a wall cannot scroll: what does not fit has its turn. Says which part is shown. */
function turnLines(): string {
  const list = main.querySelector<HTMLElement>('[data-pages]')
  if (list === null) return ''
  list.classList.remove('unpaged')
  const lines = [...list.children].filter((node) => node instanceof HTMLElement)
  const height = lines.find((node) => !node.hidden)?.offsetHeight ?? 0
  const room = innerHeight - list.getBoundingClientRect().top - belowPx
  const { shown, of, from, to } = linesInTurn(lines.length, Math.floor(room / height), relayNow())
  for (const [i, node] of lines.entries()) node.hidden = i < from || i >= to
  return of < 2 ? '' : `${shown} of ${of}`
}

function mayShow(page: Document): boolean {
  return !isInUse() && !changesChoices(page)
}

/** Whether a change could move something away from a pointer or a finger, or take the focus. */
function isInUse(): boolean {
  if (isSending) return true
  const isActive = performance.now() - movedAt < idleMs
  const focused = document.activeElement
  const isFocusInside = focused !== null && focused !== main && main.contains(focused)
  return isActive && (isPointerInside || isFocusInside)
}

/** Whether buttons would decide about something else than the reader has read. */
function changesChoices(page: Document): boolean {
  const isOther = ([key, seen]: [string, string]) => (decided.get(key) ?? seen) !== seen
  return 'asks' in main.dataset && [...choicesIn(page)].some(isOther)
}

/** What the buttons of each event decide about, by event. */
function choicesIn(part: ParentNode): Map<string, string> {
  const forms = [...part.querySelectorAll('[data-choices]')]
  return new Map(
    forms.map((form) => {
      const { key = '', seen = '' } = form.closest<HTMLElement>('[data-event]')!.dataset
      return [key, seen]
    }),
  )
}

async function ask(): Promise<void> {
  clearTimeout(timer)
  if (isAsking || isOver || document.hidden || everyMs() === 0) return
  isAsking = true
  const asked = round
  try {
    const { outcome, page } = await fetchPage()
    failures = outcome === 'failed' ? failures + 1 : 0
    isOver = outcome === 'gone'
    if (outcome === 'failed') {
      setText(lost, 'The relay does not answer: this page may be out of date.')
    } else if (outcome === 'gone') {
      setText(lost, main.dataset.gone ?? '')
    } else if (asked === round) {
      // what was offered before may be over
      fresh = page
      waiting.hidden = page === undefined || mayShow(page)
      tick()
    }
    showLost(isOver || failures >= failuresShown)
  } finally {
    isAsking = false
    schedule()
  }
}

async function fetchPage(): Promise<{ outcome: ReturnType<typeof readNews>; page?: Document }> {
  const signal = AbortSignal.timeout(answerLimitMs)
  // the relay knows by this header that no person has opened the page
  const headers = { 'if-none-match': etag || '""' }
  try {
    const { href } = location
    const answer = await fetch(href, { cache: 'no-store', headers, signal })
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const { status } = answer
    // this machine may have slept
    const time = answer.headers.get('x-foghorn-time')
    if (time !== null) setRelayTime(Number(time))
    const outcome = readNews({ status, isOurs: isOurs(page), isLive: liveIn(page) })
    return outcome === 'new' ? { outcome, page } : { outcome }
  } catch {
    return { outcome: 'failed' }
  }
}

function showLost(isShown: boolean): void {
  if (lost.hidden !== isShown) return
  keepInPlace(() => {
    lost.hidden = !isShown
    document.body.classList.toggle('stale', isShown)
  }, false)
}

/** Shows the new state where the reader was: same event in place, same open parts. Buttons may move. */
function show(page: Document): void {
  const open = new Set([...main.querySelectorAll('details[open][id]')].map(({ id }) => id))
  const hadFocus = main.contains(document.activeElement)
  const steps = new Set(events().map(stepOf))
  const anchor = keyed().find((node) => node.getBoundingClientRect().bottom > 0)
  const top = anchor?.getBoundingClientRect().top ?? 0
  turn(page)
  // a screen reader would not say what has changed
  const changed = events().filter((node) => !steps.has(stepOf(node)))
  setText(news, changed.map((node) => node.querySelector('[data-headline]')?.textContent).join(' '))
  for (const id of open) document.getElementById(id)?.setAttribute('open', '')
  const same = keyed().find((node) => node.dataset.key === anchor?.dataset.key)
  if (same !== undefined && scrollY > 0) scrollBy(0, same.getBoundingClientRect().top - top)
  if (hadFocus) main.focus({ preventScroll: true })
}

function events(): HTMLElement[] {
  return [...main.querySelectorAll<HTMLElement>('[data-event]')]
}

function stepOf({ dataset: { key, step } }: HTMLElement): string {
  return `${key} ${step}`
}

function keyed(): HTMLElement[] {
  return [...main.querySelectorAll<HTMLElement>('[data-key]')]
}

function turn(page: Document): void {
  round += 1
  fresh = undefined
  waiting.hidden = true
  const next = document.importNode(page.querySelector<HTMLElement>('main')!, true)
  main.replaceWith(next)
  main = next
  document.title = page.title
  begin()
  guardPresses()
}

/** Shows the page that answers a form, as the browser would without this program. */
function showAnswer(page: Document): void {
  isOver = false
  failures = 0
  turn(page)
  showLost(false)
  const said = main.querySelector<HTMLElement>('[data-said]') ?? main.querySelector('h1')!
  said.setAttribute('tabindex', '-1')
  said.focus({ preventScroll: true })
  said.scrollIntoView({ block: 'center' })
}

for (const kind of ['pointermove', 'pointerdown', 'keydown', 'wheel', 'touchstart']) {
  addEventListener(
    kind,
    () => {
      movedAt = performance.now()
    },
    { passive: true, capture: true },
  )
}

addEventListener('submit', (event) => {
  const { target, submitter } = event
  if (!(target instanceof HTMLFormElement) || target.dataset.choices === undefined) return
  if (isSending || arePressesGuarded()) {
    event.preventDefault()
    return
  }
  // an old browser does not say which button was pressed, so let it send the form
  if (!(submitter instanceof HTMLButtonElement)) return
  event.preventDefault()
  isSending = true
  send(target, submitter, showAnswer).finally(() => {
    isSending = false
  })
})

addEventListener('keydown', (event) => {
  if (!isTyping(event) && press(event.key, main)) event.preventDefault()
})

// in the console, a second step lies over the list: a press beside it closes it, and does nothing else
addEventListener(
  'click',
  (event) => {
    const target = event.target instanceof Element ? event.target : document.body
    const cancel = target.closest('[data-cancel]')?.closest('details')
    const sheet = main.querySelector('.act .after[open], .bulk[open]')
    const isBeside = sheet !== null && !sheet.contains(target)
    const step = isBeside ? sheet : cancel
    if (step === null || step === undefined) return
    event.preventDefault()
    event.stopPropagation()
    closeStep(step)
  },
  { capture: true },
)

addEventListener('keydown', ({ key }) => {
  const step = key === 'Escape' ? main.querySelector('.after[open]') : null
  if (step !== null) closeStep(step)
})

function closeStep(step: Element): void {
  step.removeAttribute('open')
  step.querySelector('summary')?.focus()
}

waiting.querySelector('button')?.addEventListener('click', () => {
  if (fresh !== undefined && !isSending) show(fresh)
})
document.querySelector('[data-zone]')?.addEventListener('click', () => {
  turnZone()
  showTimes()
})
document
  .querySelector('.tabs [aria-current]')
  ?.scrollIntoView({ inline: 'center', block: 'nearest' })
document.addEventListener('visibilitychange', ask)
addEventListener('pageshow', (event) => {
  if (event.persisted) ask()
})

begin()
setInterval(tick, tickMs)
