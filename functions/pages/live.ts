// The script of a page that stands open: counts down, asks for the state while somebody looks, and sends the form
// without leaving the page, so that a relay that is away takes nothing from the screen. What it gets is text; it
// takes buttons away but never moves or adds one: a thumb may be on its way. Plain JavaScript, since a
// browser runs it as it stands here; its hash is in the page's policy.
import { wholePattern } from './times.ts'

export const liveScript = `
(() => {
  const everyMs = 5000, longestMs = 60000, answerMs = 10000, stillMs = 700
  const lost = document.querySelector('[data-lost]')
  const texts = new WeakMap()
  let main, events, ahead, timer, over, failures = 0, asking = false, sending = false, round = 0
  let stillUntil = 0

  // texts, with times in the reader's own zone too, and with what is not to be broken in one piece
  const pieces = new RegExp(${JSON.stringify(wholePattern)})
  const two = (n) => String(n).padStart(2, '0')
  const here = (text) => {
    const found = /^(?:(\\S{10}) )?(\\d\\d:\\d\\d)(:\\d\\d)? UTC$/.exec(text)
    if (!found) return ''
    const day = found[1] || new Date(ahead + performance.now()).toISOString().slice(0, 10)
    const at = new Date(day + 'T' + found[2] + (found[3] || '') + 'Z')
    if (!at.getTimezoneOffset()) return ''
    const local = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-')
    const clock = [two(at.getHours()), two(at.getMinutes())].concat(found[3] ? two(at.getSeconds()) : [])
    return '(' + (local === day ? '' : local + ' ') + clock.join(':') + ' here)'
  }
  const piece = (text) => {
    const node = document.createElement('span')
    node.className = 't'
    node.textContent = text
    return node
  }
  const withHere = (text) => (here(text) ? [piece(text), ' ', piece(here(text))] : [piece(text)])
  const fill = (node, text) => {
    texts.set(node, text)
    const parts = text.split(pieces).flatMap((part, i) => (i % 2 ? withHere(part) : part ? [part] : []))
    node.replaceChildren(...parts)
  }
  const set = (node, text) => {
    if (node && (texts.has(node) ? texts.get(node) : node.textContent) !== text) fill(node, text)
  }
  const make = (name, text) => {
    const node = document.createElement(name)
    fill(node, text)
    return node
  }

  const part = (n, one) => n + ' ' + one
  const left = (ms) => {
    const s = Math.ceil(ms / 1000)
    if (s < 60) return part(s, 's')
    if (s < 5400) return part(Math.floor(s / 60), 'min') + ' ' + part(s % 60, 's')
    const min = Math.floor(s / 60), h = Math.floor(min / 60)
    if (h < 48) return part(h, 'h') + ' ' + part(min % 60, 'min')
    return part(Math.floor(h / 24), 'd') + ' ' + part(h % 24, 'h')
  }
  const tick = () => {
    for (const node of document.querySelectorAll('[data-left]')) {
      const at = Number(node.dataset.left)
      if (!at) continue
      const ms = at - ahead - performance.now()
      if (node.parentNode.hidden !== ms <= 0) still(() => { node.parentNode.hidden = ms <= 0 })
      set(node, left(Math.max(0, ms)))
    }
  }

  // what moved under a thumb was not what it aimed at: the page scrolls along, and where it can't, waits
  const still = (change, follow = true) => {
    const topOf = (node) => node.getBoundingClientRect().top
    const aims = [...document.querySelectorAll('button, summary, a')].filter(
      (node) => node.offsetHeight && node.getBoundingClientRect().bottom > 0,
    )
    const tops = aims.map(topOf)
    change()
    const first = aims.findIndex((node) => node.isConnected && node.offsetHeight)
    if (follow && first >= 0) scrollBy(0, topOf(aims[first]) - tops[first])
    const moved = (node, i) => !node.isConnected || Math.abs(topOf(node) - tops[i]) > 1
    if (aims.some(moved)) stillUntil = performance.now() + stillMs
  }

  // the bar pushes the page down, or it would cover the heading
  const away = (isAway) => {
    if (lost.hidden === isAway) still(() => { lost.hidden = !isAway }, false)
  }

  const show = (event, state) => {
    const find = (name) => event.querySelector('[data-' + name + ']')
    const box = find('box'), form = find('choices'), moved = find('moved')
    if (!state || !box || state.sequence < Number(event.dataset.sequence)) return
    box.className = 'state ' + state.tone
    set(find('headline'), state.headline)
    set(find('lines'), state.lines.join('\\n'))
    find('left').dataset.left = state.until || ''
    find('timer').hidden = !state.until
    if (form && !state.decidable) {
      if (form.contains(document.activeElement)) box.focus({ preventScroll: true })
      form.remove()
    }
    if (state.step !== event.dataset.step) {
      event.dataset.step = state.step
      stillUntil = performance.now() + stillMs
      const said = find('said')
      if (said) set(said, (said.dataset.mine + ' ' + state.since).trim())
      find('failed').hidden = true
      for (const node of event.querySelectorAll('[data-not-now]')) {
        if (node === document.activeElement) box.focus({ preventScroll: true })
        node.classList.add('gone')
      }
    }
    const other = state.decidable && (state.seen !== event.dataset.seen || (!form && event.dataset.closed))
    if (!state.decidable) event.dataset.closed = '1'
    if (moved.hidden === other) moved.hidden = !other
    const course = find('course'), facts = find('facts')
    if (state.course && course) course.replaceChildren(...state.course.map(({ time, text }) => {
      const item = document.createElement('li')
      item.append(make('time', time), ' ', make('span', text))
      return item
    }))
    if (state.facts && facts) {
      const old = new Map([...facts.querySelectorAll('dt')].map((dt) => [dt.textContent, dt]))
      facts.replaceChildren(...state.facts.flatMap(([name, text]) => {
        const dt = old.get(name) || make('dt', name)
        const dd = dt.dd || (dt.dd = document.createElement('dd'))
        // many names stay folded as they are
        if (!dd.querySelector('details')) set(dd, text)
        return [dt, dd]
      }))
    }
    event.dataset.sequence = state.sequence
  }

  const ask = async () => {
    clearTimeout(timer)
    if (asking || over || document.hidden) return
    asking = true
    const mine = round
    try {
      const url = new URL(location.href)
      url.pathname += '/state'
      url.searchParams.set('have', events.map((event) => event.dataset.sequence || '').join('.'))
      const options = { cache: 'no-store', redirect: 'error', signal: AbortSignal.timeout(answerMs) }
      const answer = await fetch(url, options)
      const states = answer.ok ? await answer.json() : undefined
      const gone = [403, 404, 410].includes(answer.status)
      if (!answer.ok && !gone) throw answer.status
      failures = 0
      // an answer to a page that is there no more says nothing of this one
      if (mine === round) still(() => {
        if (gone) set(lost, 'This link works no more: the page shows how it was.')
        else {
          ahead = states.time - performance.now()
          events.forEach((event, i) => show(event, states.events[i]))
        }
        over = gone || states.events.every((state) => !state || state.over)
      })
      if (mine === round) away(gone)
      tick()
    } catch {
      failures += 1
      set(lost, 'The relay does not answer: this page may be out of date.')
      away(failures > 1)
    }
    asking = false
    clearTimeout(timer)
    if (!over) timer = setTimeout(ask, Math.min(longestMs, everyMs * 2 ** failures))
  }

  // the answer to a form: what a browser would show without this script, and where it would be
  const turn = (fresh, url) => {
    round += 1
    main.replaceWith(fresh.querySelector('main'))
    document.title = fresh.title
    history.replaceState(null, '', url)
    begin()
    lost.hidden = true
    stillUntil = performance.now() + stillMs
    const said = main.querySelector('[data-said]') || main.querySelector('h1')
    said.tabIndex = -1
    said.focus({ preventScroll: true })
    const item = said.closest('.item')
    if (item) item.scrollIntoView()
    else scrollTo(0, 0)
  }
  const send = async (form, button) => {
    sending = true
    const failed = form.closest('[data-event]').querySelector('[data-failed]')
    form.setAttribute('aria-busy', 'true')
    try {
      const body = new URLSearchParams(new FormData(form))
      body.set(button.name, button.value)
      const options = { method: 'POST', body, cache: 'no-store', redirect: 'error' }
      const answer = await fetch(form.action, { ...options, signal: AbortSignal.timeout(answerMs) })
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
      const isEvent = fresh.querySelector('main[data-page] [data-event]')
      if (!isEvent && (answer.status === 429 || answer.status >= 500)) throw answer.status
      if (!fresh.querySelector('main[data-page]')) throw answer.status
      turn(fresh, form.action)
    } catch (why) {
      const busy = 'Nothing was decided: too many requests. Try again in a few seconds.'
      still(() => {
        set(failed, why === 429 ? busy : 'Not sent: the relay does not answer. Try again.')
        failed.hidden = false
      })
      failed.scrollIntoView({ block: 'nearest' })
      stillUntil = performance.now() + stillMs
    }
    form.removeAttribute('aria-busy')
    sending = false
  }
  addEventListener('submit', (event) => {
    if (sending || performance.now() < stillUntil) return event.preventDefault()
    // an old browser does not say which button it was, and sends the form itself
    if (!event.submitter) return
    event.preventDefault()
    send(event.target, event.submitter)
  })

  const begin = () => {
    main = document.querySelector('main')
    events = [...main.querySelectorAll('[data-event]')]
    over = events.length === 0
    // by the relay's clock: this machine's may be wrong
    ahead = Number(main.dataset.now) - performance.now()
    for (const dt of main.querySelectorAll('dt')) dt.dd = dt.nextElementSibling
    for (const node of main.querySelectorAll('[data-lines], dd')) texts.set(node, node.textContent)
    for (const node of main.querySelectorAll('.t')) {
      const local = here(node.textContent)
      if (local) node.after(' ', piece(local))
    }
    clearTimeout(timer)
    timer = setTimeout(ask, everyMs)
  }
  begin()
  document.addEventListener('visibilitychange', ask)
  addEventListener('pageshow', (event) => { if (event.persisted) ask() })
  tick()
  setInterval(tick, 250)
})()
`
