// The inputs and results of decisions. Each step of a decision has the same shape.
import type { Delivery } from '../delivery/delivery.ts'
import type { ConcludeReason } from './conclude.ts'
import type { EventRecord } from './event.ts'
import type { StepReason } from './life.ts'
import type { Moment } from './moment.ts'
import type { Observer } from './observer.ts'
import type { EventNews, Reading } from './reading.ts'
import type { TurnTaken, TurnWish } from './turn.ts'

/** The new record, the moments to notify of, and why. An unchanged record is the same object. */
export interface Decision<Reason = string> {
  record: EventRecord | undefined
  moments: Moment[]
  /** Moments of before, for channels that routes reach only now. */
  routed?: Moment[]
  reason: Reason
}

/** Facts that only some decisions need. */
export interface Loaded {
  /** All beacons that saw the event. The reporting one is as in its report. */
  observers?: Observer[]
  /** All deliveries of the event so far. */
  deliveries?: Delivery[]
  /** The event's page was opened lately. */
  isWatched?: boolean
  /** Whether the fleet and the beacon may have one more open event. */
  room?: { refusal: string | undefined }
  /** Whether it is the event's turn. */
  turn?: TurnTaken
}

/** A fact that the decision asks for. */
export type Needs =
  | { needs: 'observers' | 'deliveries' | 'isWatched' | 'room' }
  | { needs: 'turn'; wish: TurnWish; epoch: number }

export type ReportReason =
  | StepReason
  | 'relays_own'
  | 'refused'
  | 'seen_again'
  | 'start_reported'
  | 'disputed'
  | 'lapsed'
  | 'weighed'
  | 'approved_by_rule'
  | 'not_ready'
  | 'newly_routed'
  | 'directed'
  | 'watched'
  | 'seen_by_another'
  | ConcludeReason

/** What one report says of one event. */
export interface EventReport {
  reading: Reading
  news: EventNews
}

export interface Step {
  record: EventRecord
  moments: Moment[]
  routed?: Moment[]
  reason: ReportReason
}

/** The step that follows. The last step with moments gives the reason. */
export function follow(
  step: Step,
  record: EventRecord,
  reason: ReportReason,
  moments: Moment[] = [],
): Step {
  if (record === step.record && moments.length === 0) return step
  const isExplained = step.moments.length > 0 || step.routed !== undefined
  return {
    ...step,
    record,
    moments: [...step.moments, ...moments],
    reason: moments.length === 0 && isExplained ? step.reason : reason,
  }
}
