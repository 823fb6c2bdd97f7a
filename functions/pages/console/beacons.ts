// The page "Beacons": which are heard, silent or have left, with their versions and hooks, and which of the
// expected ones never reported.
import { html } from 'hono/html'
import type { BeaconState } from '../../core/event/beacon.ts'
import { span, utc } from '../../core/event/time.ts'
import type { Tone } from '../../core/event/words.ts'
import { plain } from '../../core/message/phrases.ts'
import type { Html } from '../event.ts'
import { whole } from '../times.ts'

export interface ShownBeacon {
  beacon: string
  vm: string
  resourceGroup: string
  scaleSet: string
  state: BeaconState
  version: string
  /** Why this relay does not support the version. */
  unsupported?: string
  /** The beacon still signs by a key that is about to be replaced. */
  oldKey?: true
  heardAt: number
  paceMs: number
  seesEvents: number
  hooks: string[]
  /** Why the beacon left or is not heard. */
  why?: string
}

interface Beacons {
  base: string
  fleets: string[]
  fleet: string
  /** Only Azure itself reports events of the fleet. */
  isBeaconless: boolean
  q: string
  state: string
  beacons: ShownBeacon[]
  /** Expected VMs that never reported. Absent: all reported, or none are expected. */
  missing?: { count: number; of?: number; names: string[] }
  /** Silent beacons of the visitor's other fleets. */
  silentElsewhere: { fleet: string; count: number }[]
  after?: string
  next?: string
}

/** With a short pace, a beacon is late only after this time. */
const lateMs = 60_000

const states: Record<ShownBeacon['state'], [tone: Tone, words: string]> = {
  heard: ['good', 'Reporting'],
  silent: ['bad', 'Silent'],
  left: ['over', 'Left'],
}

export function beaconsBody(shown: Beacons, now: number): Html {
  const { base, fleets, fleet, q, state, beacons, missing, after, next } = shown
  const address = (more: Record<string, string> = {}) =>
    `${base}/beacons?${new URLSearchParams({ fleet, ...(q && { q }), ...(state && { state }), ...more })}`
  const fleetField =
    fleets.length < 2
      ? html`<input type="hidden" name="fleet" value="${fleet}">`
      : html`<label>Fleet <select name="fleet">${fleets.map((one) => html`<option${one === fleet ? html` selected` : ''}>${one}</option>`)}</select></label>`
  const options = Object.entries(states).map(
    ([name, [, words]]) =>
      html`<option value="${name}"${name === state ? html` selected` : ''}>${words}</option>`,
  )
  const never = shown.isBeaconless
    ? 'This fleet has no beacons: Azure sends its events itself. So no hooks run, a message about a Preempt usually comes too late, and no alert says that a VM is silent.'
    : 'No beacon of this fleet has reported yet.'
  const elsewhere = shown.silentElsewhere.map(
    (one) =>
      html`<a href="${base}/beacons?${new URLSearchParams({ fleet: one.fleet, state: 'silent' })}">${one.count} in ${plain(one.fleet)}</a>`,
  )
  const none =
    q === '' && state === ''
      ? never
      : next === undefined
        ? 'No beacon matches.'
        : 'No beacon on this page matches.'
  return html`<h1>Beacons</h1>
<form class="filter" method="get" action="${base}/beacons" role="search">${fleetField}
<label>VM <input name="q" value="${q}" placeholder="begins with …" maxlength="100"></label>
<label>State <select name="state"><option value="">All states</option>${options}</select></label>
<button class="slim go">Search</button></form>
${state === 'silent' ? '' : silentPart(beacons, address({ state: 'silent' }))}
${elsewhere.length === 0 ? '' : html`<p class="state bad trouble"><b>Silent in other fleets:</b> <span>${elsewhere.map((link, i) => html`${i === 0 ? '' : ', '}${link}`)}</span></p>`}
${missing === undefined ? '' : missingPart(missing)}
${beacons.length === 0 ? html`<p class="empty">${none}</p>` : table(beacons, now, (q) => `${base}/events?${new URLSearchParams({ fleet, q, step: 'all' })}`)}
<div class="pager">${after === undefined ? '' : html`<a href="${address()}">First page</a>`}
${next === undefined ? '' : html`<a href="${address({ after: next })}" rel="next">Next page</a>`}</div>`
}

/** Silent beacons of this page, before the many that report. */
function silentPart(beacons: ShownBeacon[], address: string): Html {
  const silent = beacons.filter((one) => one.state === 'silent')
  if (silent.length === 0) return ''
  const names = silent.slice(0, namesShown).map(({ vm }) => plain(vm))
  return html`<p class="state bad trouble"><b><a href="${address}">${silent.length} silent</a></b><span>: ${names.join(', ')}${silent.length > namesShown ? ', …' : ''}</span></p>`
}

/** More names than this are folded away. */
const namesShown = 20

function missingPart({ count, of, names }: NonNullable<Beacons['missing']>): Html {
  const known = names.filter((name) => name !== '')
  const list = plain(known.join(', '))
  const all =
    known.length === 0
      ? ''
      : known.length <= namesShown
        ? html`<p>${list}</p>`
        : html`<details id="missing"><summary>${known.length} names</summary><p>${list}</p></details>`
  const whole = of === undefined ? '' : ` of ${of}`
  return html`<div class="state ask"><p class="headline">${count}${whole} expected ${(of ?? count) === 1 ? 'beacon' : 'beacons'} ${count === 1 ? 'has' : 'have'} never reported</p>${all}</div>`
}

type History = (vm: string) => string

/** A column of which no row has a value is left out. */
interface Column {
  name: string
  /** On a phone, where each value has its name before it. */
  label: string
  isNumber?: true
  value(one: ShownBeacon, now: number): Html
}

const columns: Column[] = [
  { name: 'State', label: 'State', value: statePart },
  { name: 'Last heard', label: 'Last heard', value: heardPart },
  { name: 'Version', label: 'Version', value: versionPart },
  { name: 'Hooks', label: 'Hooks', value: ({ hooks }) => hooks.join(', ') },
  {
    ...{ name: 'Open events seen', label: 'Seen', isNumber: true },
    value: ({ seesEvents }) => `${seesEvents}`,
  },
  { name: 'Scale set', label: 'Scale set', value: ({ scaleSet }) => plain(scaleSet) },
  { name: 'Resource group', label: 'Group', value: ({ resourceGroup }) => plain(resourceGroup) },
]

/** `history`: where the events of a VM are. */
function table(beacons: ShownBeacon[], now: number, history: History): Html {
  const shown = columns.filter(({ value }) => beacons.some((one) => value(one, now) !== ''))
  const heads = shown.map(
    ({ name, isNumber }) =>
      html`<th scope="col"${isNumber ? html` class="number"` : ''}>${name}</th>`,
  )
  const row = (
    one: ShownBeacon,
  ) => html`<tr data-key="${one.beacon}"><th scope="row"><a href="${history(one.vm)}">${plain(one.vm)}</a></th>
${shown.map(({ label, isNumber, value }) => html`<td data-label="${label}"${isNumber ? html` class="number"` : ''}>${value(one, now)}</td>`)}</tr>`
  return html`<div class="scroll" role="region" aria-label="Beacons" tabindex="0"><table class="stack brief">
<thead><tr><th scope="col">VM</th>${heads}</tr></thead>
<tbody>${beacons.toSorted(byNeed).map(row)}</tbody></table></div>`
}

/** Silent beacons come first. Then names are sorted as people count: web_2 before web_10. */
function byNeed(one: ShownBeacon, other: ShownBeacon): number {
  const silent = Number(other.state === 'silent') - Number(one.state === 'silent')
  return silent || one.vm.localeCompare(other.vm, 'en', { numeric: true })
}

/** A late beacon missed a report. Until it misses three, it counts as heard. */
function isLate({ state, heardAt, paceMs }: ShownBeacon, now: number): boolean {
  return state === 'heard' && now - heardAt > Math.max(2 * paceMs, lateMs)
}

function statePart(one: ShownBeacon, now: number): Html {
  const [tone, words] = isLate(one, now) ? (['ask', 'Late'] as const) : states[one.state]
  return html`<span class="badge ${tone}">${words}</span>${one.why === undefined ? '' : html` <span class="note">${whole(plain(one.why))}</span>`}`
}

/** A long pace says whether a beacon that was heard minutes ago is late. */
function heardPart({ state, heardAt, paceMs }: ShownBeacon, now: number): Html {
  const ago = `${span(Math.max(0, now - heardAt))} ago`
  const isLong = state !== 'left' && paceMs >= lateMs
  const pace = isLong ? html` <span class="note">reports every ${span(paceMs)}</span>` : ''
  return html`<span title="${utc(heardAt)}">${ago}</span>${pace}`
}

function versionPart({ version, unsupported, oldKey }: ShownBeacon): Html {
  return html`${plain(version)}${unsupported === undefined ? '' : html` <span class="note">${unsupported}</span>`}${oldKey ? html` <span class="note">uses the old key</span>` : ''}`
}
