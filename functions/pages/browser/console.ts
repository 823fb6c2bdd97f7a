// The program of the console. It counts down, shows the reader's own time, and asks the relay for the
// page again while it is visible. The surprise: it does not touch what is under a pointer or has the
// focus. Then a bar at the lower edge offers the new state. `npm run generate` compiles it.
import { waitMs } from './answers.ts'
import { countdown, relayNow, setRelayTime } from './clock.ts'
import { arePressesGuarded, guardPresses } from './press-guard.ts'
import { answerLimitMs, send } from './send.ts'
import { addReadersTimes, setText } from './text.ts'

const tickMs = 500
const failuresShown = 2
/** A pointer that has not moved for this long is not used: a wall screen, or a person who left. */
const idleMs = 20_000

const lost = document.querySelector<HTMLElement>('[data-lost]')!
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
let movedAt = Number.NEGATIVE_INFINITY
let isPointerInside = false

function begin(): void {
  setRelayTime(Number(main.dataset.now))
  addReadersTimes(main)
  document.title = titleOf(main)
  clearTimeout(timer)
  const everySeconds = Number(main.dataset.refresh ?? 0)
  if (everySeconds > 0 && !isOver) timer = setTimeout(ask, everySeconds * 1_000)
}

/** A tab in the background shows how many events are undecided. */
function titleOf({ dataset }: HTMLElement): string {
  const { title = '', undecided = '0' } = dataset
  return undecided === '0' ? title : `(${undecided}) ${title}`
}

function tick(): void {
  for (const node of document.querySelectorAll<HTMLElement>('[data-left]')) {
    const at = Number(node.dataset.left)
    if (at === 0) continue
    const leftMs = at - relayNow()
    setText(node, leftMs > 0 ? countdown(leftMs) : '0 s')
  }
  if (fresh !== undefined && !isInUse()) show(fresh)
}

/** Whether a change could move something away from a pointer or a finger, or take the focus. */
function isInUse(): boolean {
  if (isSending) return true
  const isActive = performance.now() - movedAt < idleMs
  const focused = document.activeElement
  const isFocusInside = focused !== null && focused !== main && main.contains(focused)
  return isActive && (isPointerInside || isFocusInside)
}

async function ask(): Promise<void> {
  clearTimeout(timer)
  const everySeconds = Number(main.dataset.refresh ?? 0)
  if (isAsking || isOver || document.hidden || everySeconds === 0) return
  isAsking = true
  const asked = round
  try {
    const answer = await fetchPage()
    failures = answer === 'failed' ? failures + 1 : 0
    if (answer === 'failed')
      setText(lost, 'The relay does not answer: this page may be out of date.')
    else if (answer === 'signed_out')
      setText(lost, 'You are signed out. Reload the page to sign in.')
    else if (asked === round && answer !== 'same') offer(answer)
    isOver = answer === 'signed_out'
    lost.hidden = !isOver && failures < failuresShown
  } finally {
    isAsking = false
    clearTimeout(timer)
    const wait = failures === 0 ? everySeconds * 1_000 : waitMs(failures)
    if (!isOver) timer = setTimeout(ask, wait)
  }
}

async function fetchPage(): Promise<Document | 'same' | 'failed' | 'signed_out'> {
  const signal = AbortSignal.timeout(answerLimitMs)
  const headers = etag === '' ? {} : { 'if-none-match': etag }
  try {
    const answer = await fetch(location.href, { cache: 'no-store', headers, signal })
    if (answer.status === 304) return 'same'
    if (!answer.ok) return 'failed'
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    if (page.querySelector('main[data-console]') === null) return 'signed_out'
    etag = answer.headers.get('etag') ?? ''
    return page
  } catch {
    return 'failed'
  }
}

function offer(page: Document): void {
  if (page.querySelector('main')?.innerHTML === undefined) return
  fresh = page
  if (!isInUse()) show(page)
  else waiting.hidden = false
}

/** Shows the new state where the reader was: same place, same open parts. */
function show(page: Document): void {
  fresh = undefined
  waiting.hidden = true
  const open = new Set([...main.querySelectorAll('details[open][id]')].map(({ id }) => id))
  const anchor = [...main.querySelectorAll<HTMLElement>('[data-key]')].find(
    (node) => node.getBoundingClientRect().bottom > 0,
  )
  const top = anchor?.getBoundingClientRect().top ?? 0
  turn(page)
  for (const id of open) document.getElementById(id)?.setAttribute('open', '')
  const same = [...main.querySelectorAll<HTMLElement>('[data-key]')].find(
    (node) => node.dataset.key === anchor?.dataset.key,
  )
  if (same !== undefined && scrollY > 0) scrollBy(0, same.getBoundingClientRect().top - top)
}

function turn(page: Document): void {
  round += 1
  const next = document.importNode(page.querySelector<HTMLElement>('main')!, true)
  main.replaceWith(next)
  main = next
  watch()
  begin()
  tick()
  guardPresses()
}

/** Shows the page that answers a form, as the browser would without this program. */
function showAnswer(page: Document): void {
  etag = ''
  fresh = undefined
  waiting.hidden = true
  turn(page)
  const said = main.querySelector<HTMLElement>('[data-said]') ?? main.querySelector('h1')!
  said.setAttribute('tabindex', '-1')
  ;(said as HTMLElement).focus({ preventScroll: true })
  said.scrollIntoView({ block: 'center' })
}

function watch(): void {
  main.addEventListener('pointerenter', () => {
    isPointerInside = true
  })
  main.addEventListener('pointerleave', () => {
    isPointerInside = false
  })
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

waiting.querySelector('button')?.addEventListener('click', () => {
  if (fresh !== undefined) show(fresh)
})
document.addEventListener('visibilitychange', ask)
addEventListener('pageshow', (event) => {
  if (event.persisted) ask()
})

etag = main.dataset.etag ?? ''
watch()
begin()
tick()
setInterval(tick, tickMs)
