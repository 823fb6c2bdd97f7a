// The program of an open page. It counts down, polls the state while the page is visible, and sends
// the forms. `npm run generate` compiles it into embedded.ts.
import type { LiveAnswer } from '../state.ts'
import { askEveryMs, readStatus, waitMs } from './answers.ts'
import { countdown, relayNow, setRelayTime } from './clock.ts'
import { arePressesGuarded, guardPresses, keepInPlace } from './press-guard.ts'
import { answerLimitMs, send } from './send.ts'
import { show } from './show.ts'
import { addReadersTimes, setText } from './text.ts'

const tickMs = 250
/** One failure can be chance. After this many, the page says that the relay does not answer. */
const failuresShown = 2

const bar = document.querySelector<HTMLElement>('[data-lost]')!
let main: HTMLElement
let events: HTMLElement[]
let timer: ReturnType<typeof setTimeout> | undefined
let isOver = false
let isAsking = false
let isSending = false
let failures = 0
/** Counts the pages that were shown here, so that an answer for an earlier one changes nothing. */
let round = 0

function begin(): void {
  main = document.querySelector('main')!
  events = [...main.querySelectorAll<HTMLElement>('[data-event]')]
  isOver = events.length === 0
  setRelayTime(Number(main.dataset.now))
  addReadersTimes(main)
  clearTimeout(timer)
  timer = setTimeout(ask, askEveryMs)
}

function tick(): void {
  for (const node of document.querySelectorAll<HTMLElement>('[data-left]')) {
    const at = Number(node.dataset.left)
    const box = node.parentElement
    if (at === 0 || box === null) continue
    const leftMs = at - relayNow()
    const isPast = leftMs <= 0
    if (box.hidden !== isPast) {
      keepInPlace(() => {
        box.hidden = isPast
      })
    }
    setText(node, countdown(Math.max(0, leftMs)))
  }
}

async function ask(): Promise<void> {
  clearTimeout(timer)
  if (isAsking || isOver || document.hidden) return
  isAsking = true
  const asked = round
  try {
    const answer = await fetchState()
    failures = answer === 'failed' ? failures + 1 : 0
    if (answer === 'failed') showFailure()
    else if (asked === round) showAnswer(answer)
    tick()
  } finally {
    isAsking = false
    clearTimeout(timer)
    if (!isOver) timer = setTimeout(ask, waitMs(failures))
  }
}

function showFailure(): void {
  setText(bar, 'The relay does not answer: this page may be out of date.')
  showBar(failures >= failuresShown)
}

async function fetchState(): Promise<LiveAnswer | 'gone' | 'failed'> {
  const url = new URL(location.href)
  url.pathname += '/state'
  url.searchParams.set('have', events.map(({ dataset }) => dataset.sequence ?? '').join('.'))
  const signal = AbortSignal.timeout(answerLimitMs)
  try {
    const answer = await fetch(url, { cache: 'no-store', redirect: 'error', signal })
    const outcome = readStatus(answer.status)
    return outcome === 'state' ? await answer.json() : outcome
  } catch {
    return 'failed'
  }
}

function showAnswer(answer: LiveAnswer | 'gone'): void {
  keepInPlace(() => {
    if (answer === 'gone') {
      setText(bar, 'This link no longer works. The page shows the last known state.')
      isOver = true
      return
    }
    setRelayTime(answer.time)
    events.forEach((event, i) => {
      show(event, answer.events[i] ?? null)
    })
    isOver = answer.events.every((state) => state === null || state.over)
  })
  showBar(answer === 'gone')
}

/** Pushes the page down so that the bar does not cover the heading. */
function showBar(isShown: boolean): void {
  if (bar.hidden !== isShown) return
  keepInPlace(() => {
    bar.hidden = !isShown
  }, false)
}

/** Shows the page that answers a form, as the browser would without this program. */
function turnTo(fresh: Document, url: string): void {
  round += 1
  main.replaceWith(fresh.querySelector('main')!)
  document.title = fresh.title
  history.replaceState(null, '', url)
  begin()
  bar.hidden = true
  guardPresses()
  const said =
    main.querySelector<HTMLElement>('[data-said]') ?? main.querySelector<HTMLElement>('h1')!
  said.tabIndex = -1
  said.focus({ preventScroll: true })
  const item = said.closest('.item')
  if (item === null) scrollTo(0, 0)
  else item.scrollIntoView()
}

addEventListener('submit', (event) => {
  if (isSending || arePressesGuarded()) {
    event.preventDefault()
    return
  }
  const { target, submitter } = event
  // An old browser does not say which button was pressed, so let it send the form.
  if (!(target instanceof HTMLFormElement && submitter instanceof HTMLButtonElement)) return
  event.preventDefault()
  isSending = true
  send(target, submitter, turnTo).finally(() => {
    isSending = false
  })
})
document.addEventListener('visibilitychange', ask)
addEventListener('pageshow', (event) => {
  if (event.persisted) ask()
})

begin()
tick()
setInterval(tick, tickMs)
