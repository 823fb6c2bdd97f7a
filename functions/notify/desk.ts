// The way back from a service whose messages have buttons: what a person pressed, and the answer.

import type { SendOutcome } from '../core/delivery/attempt.ts'
import type { Claimed } from '../core/delivery/delivery.ts'
import type { DecideOutcome } from '../core/event/approval.ts'
import type { Decider, EventRecord, Verdict } from '../core/event/event.ts'
import type { Permission } from '../core/rules/permission.ts'
import type { Part, Send } from './notifier.ts'

/** A button of ours that a person pressed. */
export interface Press {
  /** As the service vouches for them. */
  by: Decider
  /** Their workspace, or their organisation where the service gives that instead. */
  team: string
  decision: Verdict['decision']
  /** Of `Buttons`, as far as anybody knows. */
  value: string
  /** Takes a few answers for half an hour from whoever knows it: a secret. */
  replyUrl: string
}

export type Reading =
  | { outcome: 'pressed'; press: Press }
  /** Signed, and nothing to act upon: something else was pressed, or this came before. */
  | { outcome: 'acknowledged'; note: string }
  | { outcome: 'refused'; status: 400 | 401; code: string; detail: string }

/** Why a press decided nothing. */
export type PressOutcome =
  | Exclude<DecideOutcome['outcome'], 'decided'>
  | Exclude<Permission, 'allowed'>
  | 'moved_on'
  | 'busy'
  /** Not of the owner's workspace, and not listed by name. */
  | 'outsider'
  /** The event is not decided in this channel any more. */
  | 'not_here'

/** Why there is no event to speak of; `failed`: the press may count or not. */
export type DeadPress = 'forged' | 'expired' | 'channel_gone' | 'unknown' | 'failed'

/** A message as it is laid out; `telling` says what it is about. */
export interface Shown extends Pick<Part, 'message' | 'pageUrl' | 'buttons'> {
  telling: Pick<Claimed['telling'], 'moment' | 'event'>
}

/** What answers a press: words for that person alone, or what stands in the message's place. */
export type Reply =
  | { dead: DeadPress }
  | { refused: PressOutcome; record: EventRecord; by: Decider }
  | { shown: Shown }
  /** One line: the decision has a message of its own. */
  | { decided: EventRecord; pageUrl: string }

export interface Desk {
  /**
   * Judges signature, time and form. A payload is `pressed` once. While a secret is replaced, `secrets`
   * holds both.
   */
  read(
    header: (name: string) => string | undefined,
    body: string,
    secrets: readonly string[],
    now: number,
  ): Promise<Reading>
  /**
   * Answers a press, and tries once more if that may help. An answer goes to the service itself or to
   * `own`, the channel's address. Throws nothing, and never puts `replyUrl` into the outcome.
   */
  reply(
    send: Send,
    to: { replyUrl: string; own: string | undefined },
    reply: Reply,
    times: { now: number; attemptMs: number },
  ): Promise<SendOutcome>
}
