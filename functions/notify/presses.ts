// The interfaces to services whose messages have buttons: they read presses and answer them.

import type { SendOutcome } from '../core/delivery/attempt.ts'
import type { Claimed } from '../core/delivery/delivery.ts'
import type { DecideOutcome } from '../core/event/approval.ts'
import type { Decided, Decider, EventRecord } from '../core/event/event.ts'
import type { Permission } from '../core/rules/permission.ts'
import type { Part, Send } from './notifier.ts'

/** A button of ours that a person pressed. */
export interface Press {
  /** The person, as the service signed it. */
  by: Decider
  /** The person's workspace, or their organisation if the service sends that instead. */
  team: string
  decision: Decided['decision']
  /** The value of the pressed button, not verified. */
  value: string
}

export interface SlackPress extends Press {
  /** Accepts a few answers for half an hour. A secret. */
  replyUrl: string
}

export type Reading<Own extends Press> =
  | { outcome: 'pressed'; press: Own }
  /** Signed, but without a decision: another button, or a repeated request. */
  | { outcome: 'acknowledged'; note: string }
  | { outcome: 'refused'; status: 400 | 401; code: string; detail: string }

/** Why a press decided nothing. */
export type PressOutcome =
  | Exclude<DecideOutcome['outcome'], 'decided'>
  | Exclude<Permission, 'allowed'>
  | 'moved_on'
  | 'busy'
  /** Neither from the owner's workspace nor a listed approver. */
  | 'outsider'
  /** The event is no longer decided in this channel. */
  | 'not_here'

/** Why there is no event to show. `failed`: the decision may have been stored or not. */
export type DeadPress = 'forged' | 'expired' | 'channel_gone' | 'unknown' | 'failed'

/** A message and what it is about. */
export interface Shown extends Pick<Part, 'message' | 'pageUrl' | 'buttons'> {
  notification: Pick<Claimed['notification'], 'moment' | 'event'>
}

/** The answer to a press: a private text, or a replacement for the message. */
export type Reply =
  | { dead: DeadPress }
  | { refused: PressOutcome; record: EventRecord; by: Decider }
  | { shown: Shown }
  /** Replaced by one line, as the decision has its own message. */
  | { decided: EventRecord; pageUrl: string }

export interface SlackPresses {
  /** Checks signature, time and form. A payload is `pressed` once. Any of `secrets` may sign it. */
  read(
    header: (name: string) => string | undefined,
    body: string,
    secrets: readonly string[],
    now: number,
  ): Promise<Reading<SlackPress>>
  /**
   * Answers a press, and retries once if that may help. Sends only to the service's own hosts or to
   * the host of `own`, the channel's address. Never throws, and never puts `replyUrl` into the
   * outcome.
   */
  reply(
    send: Send,
    to: { replyUrl: string; own: string | undefined },
    reply: Reply,
    times: { now: number; attemptMs: number },
  ): Promise<SendOutcome>
}

export interface TeamsPresses {
  /** What an activity of the Bot Connector says. Its sender was checked. */
  read(activity: unknown): Reading<Press>
  /**
   * The body of the answer: a card in place of the pressed one, or a text for the person. `late`: the relay
   * still decides.
   */
  answerTo(reply: Reply | 'edited' | 'late', now: number): object
}

/** Read and answer the presses of buttons, by service. */
export interface Presses {
  slack: SlackPresses
  teams: TeamsPresses
}
