// Whether a beacon is heard, silent, or has left: by its last report, its goodbye, and the events that hit its VM.

import { isSameName } from '../../../shared/document.ts'
import type { Beacon, Departure } from '../../core/event/beacon.ts'
import { silentFrom } from '../../core/event/beacon-state.ts'
import { type EventRecord, isOpen } from '../../core/event/event.ts'
import { takesVm } from '../../core/event/is-over.ts'
import { lastAccepted } from '../../core/event/scope.ts'

/** After its event has ended, a VM may need this time to start. */
const aftermathMs = 10 * 60_000
/** A VM that Azure takes may still report for this long after the event. */
const leavingMs = 60_000
/** While an event explains a silence, look this often whether it has ended. */
const explainedLookMs = 2 * 60_000

type Judged =
  /** `until`: it counts as heard until then, even if it does not report. */
  | { state: 'heard'; until: number; explainedBy?: string }
  | { state: 'silent' }
  | { state: 'left'; why: Departure }

type Watched = Pick<Beacon, 'vm' | 'heardAt' | 'paceMs' | 'goodbye' | 'left'>

/** `own`: the events that may hit the beacon's VM. Silence counts only while the relay listens. */
export function judgeBeacon(
  beacon: Watched,
  own: EventRecord[],
  now: number,
  listeningSince = 0,
): Judged {
  const { left, heardAt } = beacon
  if (left !== undefined) return { state: 'left', why: left.why }
  if (own.some((event) => tookVm(event, heardAt))) return { state: 'left', why: 'terminated' }
  const until = silentFrom(beacon, listeningSince)
  if (now < until) return { state: 'heard', until }
  const explanation = own
    .map((event) => ({ eventId: event.eventId, until: explainsUntil(event, now) }))
    .sort((a, b) => b.until - a.until)[0]
  if (explanation === undefined || explanation.until <= now) return { state: 'silent' }
  return { state: 'heard', until: explanation.until, explainedBy: explanation.eventId }
}

/** Preempt or Terminate of its VM is over, and it has not reported since. */
function tookVm(event: EventRecord, heardAt: number): boolean {
  const { ended } = event
  const isOver = ended !== undefined && ended.outcome === 'completed'
  return isOver && takesVm(event) && event.drill === undefined && heardAt < ended.at + leavingMs
}

/** Whether the event ended too long ago to say anything of a VM that was heard at `heardAt`. */
export function isTooOld({ ended }: EventRecord, heardAt: number, now: number): boolean {
  if (ended === undefined) return false
  return ended.at + aftermathMs <= now && ended.at + leavingMs <= heardAt
}

/** Until when the event explains that its VM is not heard. In the past if it does not. */
function explainsUntil(event: EventRecord, now: number): number {
  if (event.drill !== undefined) return 0
  if (!isOpen(event)) return event.ended!.at + aftermathMs
  const { started, facts } = event
  const began = [started?.at, lastAccepted(event)?.at, facts.notBeforeAt].some(
    (at) => at !== undefined && at <= now,
  )
  return began ? now + explainedLookMs : 0
}

/** VMs with the same key may be one VM. Without a subscription, its names are not unique. */
export function describeVm({ vm, resourceGroup }: Pick<Beacon, 'vm' | 'resourceGroup'>): string {
  return JSON.stringify([resourceGroup.toLowerCase(), vm.toLowerCase()])
}

/**
 * Whether the VM of a silent beacon now reports under another id: it was recreated, or its fleet
 * switched to tokens. A beacon that booted while the silent one was still heard is on another VM.
 */
export function replaces(other: Beacon, silent: Beacon): boolean {
  const isNewer = other.bootHeardAt > silent.heardAt
  return isNewer && mayShareGroup(other, silent) && isSameName(other.vm, silent.vm)
}

/**
 * Whether both VMs may be in one resource group. VMs that see the same event are. In another group,
 * a VM may have the same name.
 */
export function mayShareGroup(one: Located, other: Located): boolean {
  const [a, b] = [one.subscriptionId, other.subscriptionId]
  const mayBeSame = a === undefined || b === undefined || isSameName(a, b)
  return mayBeSame && isSameName(one.resourceGroup, other.resourceGroup)
}

type Located = Pick<Beacon, 'resourceGroup' | 'subscriptionId'>
