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
export type BeaconAlertKind = 'beacons_silent' | 'beacons_missing'
/** Kinds about the relay itself, see core/delivery/own-trouble.ts. They last as long as it does. */
export type TroubleKind =
  | 'channels_in_trouble'
  | 'backlog_grows'
  | 'disk_nearly_full'
  | 'clock_jumped'
/** Owners are notified of these once, and once when they are over. */
export type LastingKind = BeaconAlertKind | TroubleKind

/** A problem of Foghorn itself while it lasts. There is one for each fleet and kind. */
export interface Alert {
  kind: (typeof alertKinds)[number]
  since: number
  /** When it last occurred, to the minute. */
  lastAt: number
  /** Names of VMs, subscriptions or channels, by kind. The code that adds them limits how many. */
  vms: string[]
  /** One sentence each. */
  reasons: string[]
  /** When owners were notified. Only of `over_limits`, until the trouble is over. */
  sentAt?: number
  /** Only in the row of an alert of a lasting kind. */
  lasting?: Lasting
  /** Only in a message of such an alert. */
  news?: LastingNews
}

/** A beacon that is not heard, or something of the relay that is in trouble. */
export interface LastingItem {
  /** Of a beacon that was never heard, the name of its VM. */
  id: string
  /** The name of its VM or channel. Empty if it needs none. */
  name: string
  /** When it was last heard, or when the trouble began. */
  since: number
  /** Owners are notified from this time on. */
  from: number
  /** Owners were notified. */
  notified?: true
}

/** What the alert is about now, and which of it owners were notified of. */
export interface Lasting {
  items: LastingItem[]
  /** Names of items that are over since owners were notified of them. The next message has them. */
  back: string[]
  /** The same, of VMs that left. */
  left: string[]
  /** When `back` or `left` got its first name. */
  overSince?: number
  /** Sent since the first item of this episode. */
  messages: number
  /** The last message about new items, and about their end, also of an earlier episode. */
  notifiedAt?: number
  overNotifiedAt?: number
  /** Beacons in the fleet, as counted last. */
  of?: number
}

/** What one message of a lasting alert says. */
export interface LastingNews {
  /** `begun`: these are not heard or in trouble. `over`: these are back, have left or are well. */
  form: 'begun' | 'over'
  /** How many the message is about. */
  count: number
  /** Since when none of them was heard. */
  since: number
  /** How many there are now, also those of earlier messages. */
  remaining: number
  /** VMs of `over` that left. */
  left: string[]
  of?: number
}
