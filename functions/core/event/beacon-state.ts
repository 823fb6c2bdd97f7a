// Whether a beacon counts as heard, by its row alone: its last report, its goodbye, and what was concluded. A
// report sets `silentAt`, when it is looked at: a minute before it counts as silent, as an alert is collected
// for that long.
import type { Beacon, BeaconState } from './beacon.ts'

/** After this many of its own paces without a report, a beacon is silent. */
export const silentPaces = 3
/** With a short pace, a beacon counts as silent only after this time. */
const leastSilenceMs = 2 * 60_000

/** If a beacon is not heard for longer, it is silent. */
function chooseSilenceMs({ paceMs }: Pick<Beacon, 'paceMs'>): number {
  return Math.max(silentPaces * paceMs, leastSilenceMs)
}

/** A VM restarts, and an upgrade ends, within this time. */
const goodbyeMs = 15 * 60_000
/** How long before a silence the sweep looks at the beacon. An alert is collected for this time. */
export const silenceLeadMs = 60_000

/** When the beacon is silent, unless an event explains that. */
export function silentFrom(
  { heardAt, paceMs, goodbye }: Pick<Beacon, 'heardAt' | 'paceMs' | 'goodbye'>,
  listeningSince = 0,
): number {
  const silenceMs = chooseSilenceMs({ paceMs })
  const usual = goodbye === undefined ? heardAt + silenceMs : goodbye.at + goodbyeMs
  return listeningSince > heardAt ? Math.max(usual, listeningSince + silenceMs) : usual
}

/** When the sweep looks at a beacon that is heard. */
export function nextLookAt(beacon: Pick<Beacon, 'heardAt' | 'paceMs' | 'goodbye'>): number {
  return silentFrom(beacon) - silenceLeadMs
}

/** The row of a beacon that has just reported. Clears what was concluded before. */
export function withReport(beacon: Beacon, known: Beacon | undefined): Beacon {
  const { heardAt, goodbye } = beacon
  if (goodbye?.reason === 'removed')
    return withSilence({ ...beacon, left: { why: 'removed', at: heardAt } }, known)
  return withSilence({ ...beacon, silentAt: nextLookAt(beacon) }, known)
}

/** If it was silent, the sweep looks at once, so that owners are notified. */
function withSilence(beacon: Beacon, known: Beacon | undefined): Beacon {
  if (known?.silence === undefined) return beacon
  return { ...beacon, silence: known.silence, silentAt: beacon.heardAt }
}

/** Whether the beacon has reported since it was found silent. */
export function isHeardAgain({ heardAt, silence }: Pick<Beacon, 'heardAt' | 'silence'>): boolean {
  return silence !== undefined && heardAt > silence.since
}

/** The state for people, from the row alone: what the sweep has decided so far. */
export function shownState(
  beacon: Pick<Beacon, 'heardAt' | 'left' | 'silence'>,
  now: number,
): BeaconState {
  const { left, silence } = beacon
  if (left !== undefined) return 'left'
  if (silence !== undefined)
    return !isHeardAgain(beacon) && now >= silence.from ? 'silent' : 'heard'
  return 'heard'
}
