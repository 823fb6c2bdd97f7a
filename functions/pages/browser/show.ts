// Shows the state of an event on the open page. It removes buttons, but never adds or moves one: a
// thumb may be on its way.
import type { LiveState } from '../state.ts'
import { guardPresses } from './press-guard.ts'
import { newElement, setText } from './text.ts'
import { updateOf } from './update.ts'

/** The part of the event that `event.ts` marked `data-NAME`. */
export function partOf(event: Element, name: string): HTMLElement | null {
  return event.querySelector(`[data-${name}]`)
}

export function show(event: HTMLElement, state: LiveState | null): void {
  const { dataset } = event
  const [box, form] = [partOf(event, 'box'), partOf(event, 'choices')]
  const update = updateOf(
    {
      sequence: Number(dataset.sequence),
      step: dataset.step ?? '',
      seen: dataset.seen ?? '',
      hasForm: form !== null,
      wasClosed: dataset.closed !== undefined,
    },
    state,
  )
  if (state === null || update === undefined || box === null) return
  showBox(event, box, state)
  showReadiness(event, box, state)
  if (update.removesForm) {
    if (form !== null) {
      keepFocus(form, box)
      form.remove()
    }
    dataset.closed = '1'
  }
  if (update.isNextStep) showStep(event, box, state)
  const moved = partOf(event, 'moved')
  if (moved !== null && moved.hidden === update.needsReload) moved.hidden = !update.needsReload
  if (state.timeline !== undefined) showTimeline(partOf(event, 'timeline'), state.timeline)
  if (state.facts !== undefined) showFacts(partOf(event, 'facts'), state.facts)
  dataset.sequence = String(state.sequence)
}

function showBox(event: Element, box: HTMLElement, state: LiveState): void {
  box.className = `state ${state.tone}`
  setText(partOf(event, 'headline'), state.headline)
  setText(partOf(event, 'lines'), state.lines.join('\n'))
  const [left, timer] = [partOf(event, 'left'), partOf(event, 'timer')]
  if (left !== null) left.dataset.left = String(state.until ?? '')
  if (timer !== null) timer.hidden = state.until === undefined
}

function showReadiness(event: Element, box: HTMLElement, { unready, preparable }: LiveState): void {
  const part = partOf(event, 'unready')
  if (part !== null) {
    setText(part, unready)
    part.hidden = unready === ''
  }
  if (preparable) return
  for (const node of event.querySelectorAll('[data-prepare]')) {
    keepFocus(node, box)
    node.classList.add('gone')
  }
}

function showStep(event: HTMLElement, box: HTMLElement, state: LiveState): void {
  event.dataset.step = state.step
  guardPresses()
  const said = partOf(event, 'said')
  if (said !== null) setText(said, `${said.dataset.mine} ${state.since}`.trim())
  const failed = partOf(event, 'failed')
  if (failed !== null) failed.hidden = true
  for (const node of event.querySelectorAll('[data-not-now]')) {
    keepFocus(node, box)
    node.classList.add('gone')
  }
}

/** If a part that has the focus is removed, the box gets the focus. */
function keepFocus(part: Element, box: HTMLElement): void {
  if (part.contains(document.activeElement)) box.focus({ preventScroll: true })
}

function showTimeline(timeline: Element | null, entries: NonNullable<LiveState['timeline']>): void {
  const items = entries.map(({ time, text }) => {
    const item = document.createElement('li')
    item.append(newElement('time', time), ' ', newElement('span', text))
    return item
  })
  timeline?.replaceChildren(...items)
}

function showFacts(list: Element | null, facts: NonNullable<LiveState['facts']>): void {
  const names = [...(list?.querySelectorAll('dt') ?? [])]
  const known = new Map(names.map((dt) => [dt.textContent, dt]))
  const values = new Map(names.map((dt) => [dt, dt.nextElementSibling]))
  const pairs = facts.flatMap(([name, text]) => {
    const dt = known.get(name) ?? newElement('dt', name)
    const dd = values.get(dt) ?? document.createElement('dd')
    // Do not unfold a long list of names.
    if (dd.querySelector('details') === null) setText(dd, text)
    return [dt, dd]
  })
  list?.replaceChildren(...pairs)
}
