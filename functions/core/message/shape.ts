// A message before a kind of channel lays it out.
export type Tone = 'info' | 'warning' | 'danger' | 'good'

export interface Message {
  /** One line, readable as a phone notification. */
  title: string
  /** The title without relative times, for a place that cannot be edited later. */
  lastingTitle: string
  /** Whole sentences: what happens, what to do, and what happens if nobody acts. */
  lines: string[]
  /** One or two sentences for a place that has no room for more: what is new, and what happens if nobody acts. */
  brief: string[]
  /** A small picture whose shape says what it is about, before the title. */
  sign: string
  /**
   * Details to look up: when, how long, which VMs, why, who. `at`: the time that the value is, epoch ms,
   * for channels that can show it by the reader's own clock.
   */
  facts: { name: string; value: string; at?: number }[]
  /** Small print that identifies the event, for searching. */
  reference: string
  tone: Tone
  /** Whether a decision still counts. */
  asks: boolean
  /** NotBefore of its event, epoch ms; `Infinity` if Azure gave none. Absent: it is about no event. */
  dueAt?: number
  /** The event was left to Azure. An approval is still possible. */
  declined: boolean
  /** Where the reader may go besides the page. */
  links?: { label: string; url: string }[]
  /** The link shows the event, but does not let its holder decide. */
  lookOnly?: true
  /** The link leads to the console, where owners see what is wrong. */
  opensConsole?: true
}
