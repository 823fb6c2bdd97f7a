// What a message is before a channel lays it out.

export type Tone = 'info' | 'warning' | 'danger' | 'good'

export interface Message {
  /** One line, readable as a phone notification. */
  title: string
  /** The title for where it can't be changed: nothing in it depends on when it is read. */
  lastingTitle: string
  /** What happens, what to do, and what happens if nobody acts; whole sentences. */
  lines: string[]
  /** What one looks up: when, how long, which VMs, why, who. */
  facts: { name: string; value: string }[]
  /** Which event it is, for whoever has to search for it; small print. */
  reference: string
  tone: Tone
  /** Whether a decision still counts, so that buttons make sense. */
  asks: boolean
  /** Somebody said *not now*, and may still think better of it. */
  declined: boolean
  /** Whoever has the link alone sees the event there, and decides nothing. */
  lookOnly?: true
}
