// The script of a page that stands open: counts down, and asks for the state while somebody looks. What
// it gets is text, and it takes buttons away but never moves or adds one: a thumb may be on its way.
// Plain JavaScript, since a browser runs it as it stands here; its hash is in the page's policy.
export const liveScript = `
(() => {
  const everyMs = 5000, longestMs = 60000, answerMs = 10000, stillMs = 700
  const main = document.querySelector('main')
  const events = [...document.querySelectorAll('[data-event]')]
  const lost = document.querySelector('[data-lost]')
  const set = (node, text) => { if (node && node.textContent !== text) node.textContent = text }
  // by the relay's clock: this machine's may be wrong
  let ahead = Number(main.dataset.now) - performance.now()
  let failures = 0, timer, asking = false, over = false, stillUntil = 0

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
      node.parentNode.hidden = ms <= 0
      set(node, left(Math.max(0, ms)))
    }
  }
  const show = (event, state) => {
    const find = (name) => event.querySelector('[data-' + name + ']')
    const box = find('box'), form = find('choices'), moved = find('moved')
    if (!state || !box) return
    const before = box.offsetHeight
    box.className = 'state ' + state.tone
    set(find('headline'), state.headline)
    set(find('lines'), state.lines.join('\\n'))
    find('left').dataset.left = state.until || ''
    find('timer').hidden = !state.until
    if (form && !state.decidable) {
      if (form.contains(document.activeElement)) box.focus()
      form.remove()
      stillUntil = performance.now() + stillMs
    }
    const other = state.decidable && (state.seen !== event.dataset.seen || (!form && event.dataset.closed))
    if (!state.decidable) event.dataset.closed = '1'
    if (moved.hidden === other) moved.hidden = !other
    if (state.course) {
      const course = find('course')
      if (course) course.replaceChildren(...state.course.map(({ time, text }) => {
        const [item, when, what] = ['li', 'time', 'span'].map((name) => document.createElement(name))
        when.textContent = time
        what.textContent = text
        item.append(when, ' ', what)
        return item
      }))
      event.dataset.sequence = state.sequence
    }
    if (box.offsetHeight !== before) stillUntil = performance.now() + stillMs
  }
  const ask = async () => {
    clearTimeout(timer)
    if (asking || over || document.hidden) return
    asking = true
    try {
      const url = new URL(location.href)
      url.pathname += '/state'
      url.searchParams.set('have', events.map((event) => event.dataset.sequence || '').join('.'))
      const options = { cache: 'no-store', redirect: 'error', signal: AbortSignal.timeout(answerMs) }
      const answer = await fetch(url, options)
      over = [403, 404, 410].includes(answer.status)
      if (over) set(lost, 'This link works no more: the page shows how it was.')
      else if (!answer.ok) throw answer.status
      else {
        const { time, events: states } = await answer.json()
        ahead = time - performance.now()
        events.forEach((event, i) => show(event, states[i]))
        over = states.every((state) => !state || state.over)
        tick()
      }
      failures = 0
      lost.hidden = answer.ok
    } catch {
      failures += 1
      set(lost, 'The relay does not answer: this page may be out of date.')
      lost.hidden = failures < 2
    }
    asking = false
    if (!over) timer = setTimeout(ask, Math.min(longestMs, everyMs * 2 ** failures))
  }
  // what moved under a thumb was not what it aimed at
  addEventListener('submit', (event) => { if (performance.now() < stillUntil) event.preventDefault() })
  document.addEventListener('visibilitychange', ask)
  addEventListener('pageshow', (event) => { if (event.persisted) ask() })
  tick()
  setInterval(tick, 250)
  timer = setTimeout(ask, everyMs)
})()
`
