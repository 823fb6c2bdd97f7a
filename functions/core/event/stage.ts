// A stage of an open event's life: what one rule, or one feature, does with it. The core calls the stages and
// knows none of them; `stages.ts` lists them in the order of effect.
import type { Takes } from '../delivery/overtake.ts'
import type { PolicyRule } from '../rules/policy.ts'
import type { EventRecord, OpenRecord } from './event.ts'
import type { Moment } from './moment.ts'
import type { Listening } from './sight.ts'
import type { SlotAsked } from './slots.ts'

/** What decisions need beside the event and its news. */
export interface Context {
  rules: PolicyRule[]
  /** Distances from NotBefore at which people are reminded, in seconds. */
  reminders: number[]
  /** Epoch ms. Before this time, the relay could hear no beacon. */
  listeningSince: number
  /** Why the fleet or the beacon may not have one more open event. */
  refusal?: string | undefined
  /** What the event got when it asked for its slot. */
  slot?: SlotAsked | undefined
}

/** An open event, and the moments of this conclusion so far. */
export interface Life {
  record: OpenRecord
  moments: Moment[]
}

export interface Times extends Pick<Context, 'rules' | 'reminders'> {
  listening: Listening
}

export interface Conclusion extends Times {
  /** The event as it is stored. */
  before: EventRecord | undefined
  /** The event before the first stage. */
  from: OpenRecord
  /** A document shows the event now. */
  isShown: boolean
  slot?: SlotAsked | undefined
}

/** What `settle` needs from the store. A feature adds its own by declaration merging. */
// biome-ignore lint/suspicious/noEmptyInterface: features add to it
export interface Loaded {}

/** A message that a channel would get. */
interface Notice {
  moment: Moment
  /** What the channel takes. Undefined: it is no longer configured. */
  takes: Takes | undefined
  /** An approval expires with this step. */
  isExpiry: boolean
  /** A message of this epoch was planned for the channel. */
  isKnown: boolean
}

/** Each function is pure and total. An unchanged record or life is the same object. */
export interface Stage {
  /** Called at each conclusion about an open event. */
  step(life: Life, at: Conclusion): Life
  /** When time alone may change something for this stage, epoch ms. */
  nextAt(record: OpenRecord, at: Times): number
  /** Called at each commit. `loaded` has what the store has if the commit is news, or may reach more channels. */
  settle(
    record: EventRecord,
    before: EventRecord | undefined,
    loaded: Loaded,
    now: number,
  ): EventRecord
  /** If it differs from before, the step may concern channels that have heard nothing. */
  reach(record: EventRecord): unknown
  /** Whether the channel, which a route names, may be notified. All stages must agree. */
  mayNotify(record: EventRecord, notice: Notice): boolean
}

export const never = Number.POSITIVE_INFINITY

/** Does nothing. Stages are made from it. */
export const inert: Stage = {
  step: (life) => life,
  nextAt: () => never,
  settle: (record) => record,
  reach: () => undefined,
  mayNotify: () => true,
}
