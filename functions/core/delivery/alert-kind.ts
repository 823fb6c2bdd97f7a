// The kinds of alerts, the messages about Foghorn itself. Features add theirs by declaration merging, and in
// features/alerts.ts what each of them does.
export interface AlertKinds {
  channel_test: true
}

export type AlertKind = keyof AlertKinds

export interface AlertText {
  title: string
  lines: string[]
}

export interface AlertTraits {
  /** What is wrong, what follows from it, and what to do. */
  text(about: FleetAlert, scene: Scene): AlertText
  /** What the text has no room for. */
  facts?(about: FleetAlert): { name: string; value: string }[]
  /** The path of its page, below `/console`. */
  page(about: FleetAlert, fleet: string): string
  /**
   * `noted`: the code that finds the problem also finds its end. `by_quiet`: after 15 minutes without the problem,
   * it is over. `untold`: owners are not told of its end.
   */
  ends: 'noted' | 'by_quiet' | 'untold'
}

interface Scene {
  fleet: string
  /** When the alert was planned, so a retry says the same. */
  at: number
}

/** What an alert says that begins or ends. */
export interface News extends AlertNews, Scene {
  names: string[]
  reasons: string[]
}

/** An alert for the owners of a fleet, or of the whole configuration. */
export interface FleetAlert {
  alert: AlertKind
  /** How often problems of this kind have begun in this fleet. */
  episode: number
  /** Counts the messages of the episode. */
  message: number
  /** When the episode began. */
  since: number
  /** The first names of VMs, subscriptions or channels, by kind. */
  names: string[]
  /** One sentence each. */
  reasons: string[]
  /** Absent in a test of a channel. */
  news?: AlertNews
}

export interface AlertNews {
  /** `begun`: these are not heard or in trouble. `over`: these are back, have left or are well. */
  form: 'begun' | 'over'
  /** How many the message is about. */
  count: number
  /** `begun`: since when none of them was heard. `over`: when the first of them was back. */
  since: number
  /** How many there are now, also those of earlier messages. */
  remaining: number
  /** VMs of `over` that left. */
  left: string[]
  /** Beacons in the fleet, as counted last. */
  of?: number
  /** Only for `over`: the number of the last message about new problems. */
  begunBy?: number
}
