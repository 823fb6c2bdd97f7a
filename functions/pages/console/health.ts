// The first line of "Now": whether Foghorn sees the VMs and reaches people. Without it, a relay that sees
// nothing would look like one that has nothing to show.
import { html } from 'hono/html'
import type { EventSummary } from '../../core/event/summary.ts'
import { relative } from '../../core/event/time.ts'
import type { Tone } from '../../core/event/words.ts'
import { plain } from '../../core/message/phrases.ts'
import type { Html } from '../event.ts'
import { utcOn, whole } from '../times.ts'

export interface Health {
  /** Beacons that report. */
  reporting: number
  silent: Absent[]
  /** Expected beacons that never reported. */
  missing: Absent[]
  /** Azure itself sends events, too. `readAt`: when the relay last read Azure's list. */
  azure?: { readAt?: number; isFresh: boolean }
  channels: { works: number; untried: number; of: number }
  /** The relay's address, and a fleet of the visitor, for the first steps. */
  address: string
  fleet?: string
}

/** Beacons of one fleet. */
interface Absent {
  fleet: string
  count: number
  names: string[]
}

const namesShown = 3
/** Names of channels for which a line of a phone has room. */
const troublesShown = 2

function healthPart(base: string, health: Health, now: number): Html {
  const { reporting, silent, missing, azure, channels } = health
  const absent = describeCount(silent) + describeCount(missing)
  const known = reporting + absent
  const beacons =
    known === 0
      ? azure === undefined
        ? 'No beacon has reported'
        : 'No beacons'
      : `${reporting} of ${known} ${known === 1 ? 'beacon reports' : 'beacons report'}`
  const isOne = new Set([...silent, ...missing].map(({ fleet }) => fleet)).size < 2
  const list = (address: string, all: Absent[], what: string) =>
    all.map((one) => absentPart(address, one, isOne ? what : `${what} in ${plain(one.fleet)}`))
  const parts: Html[] = [
    html`<a href="${base}/beacons">${beacons}</a>`,
    ...list(`${base}/beacons?state=silent&fleet=`, silent, 'silent'),
    ...list(`${base}/beacons?fleet=`, missing, 'never reported'),
    ...(azure === undefined ? [] : [html`<span>${azureText(azure, now)}</span>`]),
    html`<a href="${base}/channels">${channelText(channels)}</a>`,
  ]
  const areWell = channels.works > 0 && channels.works + channels.untried === channels.of
  // nothing is green before a channel has accepted a message
  const sees = azure === undefined ? known > 0 : azure.isFresh
  const tone: Tone = sees && absent === 0 && areWell ? 'good' : 'ask'
  return html`<p class="health ${tone}">${parts.map((part, i) => html`${i === 0 ? '' : ' · '}${part}`)}</p>`
}

/** If Azure's list was read long ago or never, the log says why. */
function azureText({ readAt, isFresh }: NonNullable<Health['azure']>, now: number): Html | string {
  if (readAt === undefined) return 'Azure’s list was never read'
  return html`Azure’s list ${isFresh ? '' : 'last '}read ${whole(utcOn(readAt, now))}`
}

function absentPart(address: string, { fleet, count, names }: Absent, what: string): Html {
  const more = count > namesShown ? ', …' : ''
  const shown = names.slice(0, namesShown).map(plain).join(', ')
  const list = shown === '' ? '' : `: ${shown}${more}`
  return html`<a href="${address}${encodeURIComponent(fleet)}">${count} ${what}${list}</a>`
}

function channelText({ works, untried, of }: Health['channels']): string {
  if (of === 0) return 'no channel is routed'
  const fresh = untried === 0 ? '' : `, ${untried} not tried yet`
  return `${works} of ${of} ${of === 1 ? 'channel works' : 'channels work'}${fresh}`
}

function describeCount(all: Absent[]): number {
  return all.reduce((sum, { count }) => sum + count, 0)
}

/** What the strip says, and the sentences behind it. */
interface Strip {
  base: string
  health: Health
  /** Channels that get no messages, and why. */
  troubles: Trouble[]
  /** Some words of each feature. */
  briefs: Html[]
  /** What each feature says in full. */
  lines: Html[]
}

/**
 * One line before the work: how many beacons and channels are in order. Opened, it says which are not, and why.
 * It is open while there is no work. A screen on a wall has nothing to open.
 */
export function stripPart(strip: Strip, now: number, look: 'open' | 'folded' | 'wall'): Html {
  const { base, health, troubles, briefs, lines } = strip
  const channels = channelsMark(health, troubles, look === 'wall' ? troubles.length : troublesShown)
  const head = html`${[beaconsMark(health), ...azureMark(health), channels].map((part) => html`${part} `)}${briefs}`
  if (look === 'wall') return html`<p class="strip">${head}</p>`
  return html`<details class="strip" id="strip"${look === 'open' ? html` open` : ''}><summary>${head}</summary>
${healthPart(base, health, now)}
${troubles.map((one) => troublePart(one, now))}
${lines}</details>`
}

function beaconsMark({ reporting, silent, missing, azure }: Health): Html {
  const known = reporting + describeCount(silent) + describeCount(missing)
  if (known === 0) return azure === undefined ? markPart('ask', 'no beacon has reported') : ''
  return markPart(reporting === known ? 'good' : 'ask', `${reporting}/${known} beacons`)
}

function azureMark({ azure }: Health): Html[] {
  if (azure === undefined) return []
  return [
    markPart(
      azure.isFresh ? 'good' : 'ask',
      azure.isFresh ? 'Azure’s list' : 'Azure’s list is old',
    ),
  ]
}

/** Names channels, as the reader must see at once whether it is the pager. */
function channelsMark(
  { channels: { works, untried, of } }: Health,
  troubles: Trouble[],
  most: number,
): Html {
  if (troubles.length > most) return markPart('bad', `${troubles.length} channels get no messages`)
  if (troubles.length > 0) {
    const names = troubles.map(({ channel }) => plain(channel)).join(', ')
    return markPart('bad', `${names}: no messages`)
  }
  return markPart(untried > 0 || of === 0 ? 'ask' : 'good', `${works}/${of} channels`)
}

/** The shape says it, too: not everybody sees the colour. */
const shapes = { good: '●', ask: '▲', bad: '✖', over: '◐' } as const

export function markPart(tone: keyof typeof shapes, words: string): Html {
  return html`<span class="sum ${tone}"><i aria-hidden="true">${shapes[tone]}</i> ${words}</span>`
}

/** A channel that gets no messages. */
export interface Trouble {
  channel: string
  /** `on-call (PagerDuty)` */
  name: string
  /** The path of the channel's page. Absent if the channel is no longer configured. */
  path?: string
  /** The reason, without a dot at its end. */
  why: string
  since: number
  /** The channel that gets its messages. */
  fallback?: string
}

function troublePart({ name, path, why, since, fallback }: Trouble, now: number): Html {
  const shown = plain(name)
  const linked = path === undefined ? shown : html`<a href="${path}">${shown}</a>`
  const instead = fallback === undefined ? '' : ` Its messages go to ${plain(fallback)}.`
  return html`<p class="state bad trouble"><b>${linked} gets no messages</b><span>: ${whole(plain(why))}, since ${whole(utcOn(since, now))}.${instead}</span></p>`
}

/** Shown while no event is open: only beacons that report, or Azure's list, can say that there is none. */
export function emptyPart(health: Health, base: string, last: Html | string = ''): Html {
  const { reporting, silent, missing, azure, channels } = health
  if (reporting === 0 && azure === undefined && describeCount(silent) === 0) {
    return firstSteps(health, base)
  }
  if (reporting === 0 && azure?.isFresh !== true) {
    return html`<p class="empty ask"><b>Foghorn sees no VM.</b> ${whySeesNothing(azure)}</p>`
  }
  if (describeCount(silent) + describeCount(missing) > 0) {
    return html`<p class="empty ask"><b>No maintenance for the VMs whose beacons report.</b> Of the other VMs, Foghorn knows nothing.</p>`
  }
  const quiet = 'Azure has announced no maintenance for these VMs.'
  if (channels.works === 0) {
    return html`<p class="empty ask"><b>All quiet.</b> ${quiet} No channel has accepted a message yet: send a test, or run a drill.</p>`
  }
  return html`<p class="empty good"><b>All quiet.</b> ${quiet} ${last}</p>`
}

/** The newest event, while none is open. */
export function describeLast(last: EventSummary | undefined, now: number): string {
  if (last === undefined) return 'No event has been seen yet.'
  const { eventType, vms, firstSeenAt } = last
  return `The last event: ${eventType} of ${plain(vms[0] ?? 'unnamed VMs')}, ${relative(firstSeenAt, now)}.`
}

/** What is left to do on a fresh relay, each with its command. */
function firstSteps({ channels, address, fleet = 'NAME' }: Health, base: string): Html {
  const name = plain(fleet)
  const steps: [isDone: boolean, what: Html][] = [
    [true, html`The relay runs: ${address}`],
    [
      channels.works > 0,
      html`A channel accepts a message: <a href="${base}/channels">send a test</a>`,
    ],
    [
      false,
      html`A beacon reports. On a VM: <code>FOGHORN_RELAY_URL=${address} FOGHORN_FLEET=${name} FOGHORN_FLEET_KEY=… foghorn-beacon</code>`,
    ],
    [
      false,
      html`A drill takes the whole way: <code>FOGHORN_URL=${address} FOGHORN_ADMIN_KEY=… npm run drill -- --fleet ${name} --type Reboot</code>`,
    ],
  ]
  return html`<div class="empty ask first"><p><b>Foghorn sees no VM.</b> No beacon has reported. Until one reports, nobody is told of maintenance.</p>
<ol>${steps.map(([isDone, what]) => html`<li>${markPart(isDone ? 'good' : 'over', isDone ? 'done' : 'next')} ${what}</li>`)}</ol></div>`
}

function whySeesNothing(azure: Health['azure']): string {
  if (azure !== undefined) {
    return 'The relay cannot read Azure’s list of events: its log says why, and so does npm run azure -- check. Until then, only Event Grid tells people of maintenance.'
  }
  return 'All beacons are silent. Until one reports, nobody is told of maintenance.'
}
