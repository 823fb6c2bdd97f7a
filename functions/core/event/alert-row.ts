// What the row of an alert has: a problem of Foghorn itself. Alerts are stored like events.

export const alertKinds = [
  'over_limits',
  'beacons_silent',
  'beacons_missing',
  'subscription_disabled',
  'channels_in_trouble',
  'backlog_grows',
  'disk_nearly_full',
  'clock_jumped',
  'channel_test',
] as const
/** Kinds about beacons that are not heard. They last until the beacons are back. */
export type AbsenceKind = 'beacons_silent' | 'beacons_missing'
/** Kinds about the relay itself, see core/delivery/own-trouble.ts. They last until it is over. */
export type TroubleKind =
  | 'channels_in_trouble'
  | 'backlog_grows'
  | 'disk_nearly_full'
  | 'clock_jumped'
/** Owners are notified of these once, and once when they are over. */
export type LastingKind = AbsenceKind | TroubleKind

/** A problem of Foghorn itself while it lasts. There is one for each fleet and kind. */
export interface Alert {
  kind: (typeof alertKinds)[number]
  since: number
  /** When it last occurred, to the minute. */
  lastAt: number
  /** Names of VMs, subscriptions or channels, by kind. The files of alerts limit how many. */
  vms: string[]
  /** One sentence each. */
  reasons: string[]
  /** When owners were notified, while they wait for the end. Only of kinds that say it once. */
  sentAt?: number
  /** Only in the row of an alert of a lasting kind. */
  absence?: Absence
  /** Only in a message of such an alert. */
  news?: AbsenceNews
}

/** A beacon that is not heard, or another thing in trouble. */
export interface Absent {
  /** Its id. Of a beacon that was never heard, the name of its VM. */
  beacon: string
  /** Its name. Empty if it needs none. */
  vm: string
  /** When it was last heard, or when the trouble began. */
  since: number
  /** Owners are notified from this time on. */
  from: number
  /** Owners were notified. */
  notified?: true
}

/** Who is absent, and which of it owners were notified of. */
export interface Absence {
  absent: Absent[]
  /** Back since owners were notified of their absence. The next message names them. */
  back: string[]
  /** The same, of VMs that left. */
  left: string[]
  /** Since when one of the two is not empty. */
  overSince?: number
  /** Sent since the first absence of this episode. */
  messages: number
  /** The last message about absences, and about their end, also of an earlier episode. */
  notifiedAt?: number
  overNotifiedAt?: number
  /** Beacons in the fleet, as counted last. */
  of?: number
}

/** What one message says about absent beacons. */
export interface AbsenceNews {
  /** `absent`: these are not heard. `over`: these are back, or have left. */
  form: 'absent' | 'over'
  /** How many beacons the message is about. */
  count: number
  /** Since when none of them was heard. */
  since: number
  /** How many are absent now, also those of earlier messages. */
  remaining: number
  /** VMs of `over` that left. */
  left: string[]
  of?: number
}
