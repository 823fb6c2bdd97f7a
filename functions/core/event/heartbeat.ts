// When idle beacons report. Some hosts bill the time in which anything runs, so there all beacons
// report within one short window, each at a slot of its own. The slot follows from the beacon's id
// and the clock: the relay keeps no list, and a beacon that was late is back in its slot at once.
import { hash } from '../hash.ts'

/** How the idle beacons of a relay report. */
export interface Heartbeats {
  /** Time between two heartbeats of a beacon. After three of them without a report, the beacon is silent. */
  paceMs: number
  /** If there is no window, each beacon reports a pace after its last report, whenever that was. */
  window?: Window
}

/** The window begins at `startMs` after each full pace of the epoch. */
interface Window {
  startMs: number
  lengthMs: number
}

/**
 * Reports in the window, after its ramp. The smallest instance of Azure Functions answers twice as
 * many. Slots are random: even a second with more reports than usual must cause no queue.
 */
const arrivalsPerSecond = 40
/**
 * At the beginning of the window, the number of reports grows slowly. The first ones may wait until
 * an instance has started. If many others joined them, the host would start more instances.
 */
const rampMs = 6_000
/** While a relay does not know yet how many beacons there are, they must not all come at once. */
const leastWindowMs = 10_000

/** Up to this many, a heartbeat every five minutes is cheap: docs/heartbeat.md. */
const fewBeacons = 500
const shortPaceMs = 5 * 60_000
/**
 * The relay takes the first pace that has room for all beacons. Each window of a long pace is also
 * a window of the short pace.
 */
const longPacesMs = [15, 30, 45, 60].map((minutes) => minutes * 60_000)
const longestPaceMs = 60 * 60_000

/** A beacon's clock may be fast. If it comes this part of a pace early, this was its heartbeat. */
const earlyShare = 0.01

/** Heartbeats for a host that bills time. Relays with different addresses have different windows. */
export function alignedHeartbeats(publicUrl: string, beacons: number): Heartbeats {
  const paceMs = beacons <= fewBeacons ? shortPaceMs : longPaceFor(beacons)
  const neededMs = rampMs / 2 + (beacons / arrivalsPerSecond) * 1_000
  const lengthMs = Math.min(paceMs, Math.max(leastWindowMs, neededMs))
  return { paceMs, window: { startMs: computeShare(publicUrl) * longestPaceMs, lengthMs } }
}

function longPaceFor(beacons: number): number {
  const hasRoom = (paceMs: number) => beacons <= arrivalsPerSecond * (paceMs / 1_000)
  return longPacesMs.find(hasRoom) ?? longestPaceMs
}

/** Time until the next heartbeat of a beacon that reports now. It is at most a hundredth more than a pace. */
export function untilHeartbeat(
  { paceMs, window }: Heartbeats,
  fleet: string,
  beacon: string,
  now: number,
): number {
  if (window === undefined) return paceMs
  const slotMs = window.startMs + placeIn(window, computeShare(JSON.stringify([fleet, beacon])))
  const waitMs = (((Math.round(slotMs) - now) % paceMs) + paceMs) % paceMs
  return waitMs <= paceMs * earlyShare ? waitMs + paceMs : waitMs
}

/** When this share of all beacons has reported, in ms from the beginning of the window. */
function placeIn({ lengthMs }: Window, share: number): number {
  const evenMs = share * (lengthMs - rampMs / 2)
  return evenMs < rampMs / 2 ? Math.sqrt(2 * rampMs * evenMs) : rampMs / 2 + evenMs
}

/** A number in [0, 1). Equal texts give the same number. */
function computeShare(text: string): number {
  return Number.parseInt(hash(text).slice(0, 12), 16) / 2 ** 48
}
