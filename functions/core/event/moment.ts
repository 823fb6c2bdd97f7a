// The steps of an event that lead to messages, and what each of them means to channels.

/** The moments are in the order of an event's life. */
export const moments = [
  'scheduled',
  'changed',
  'not_ready',
  'reminder',
  'approved',
  'declined',
  'stuck',
  'started',
  'completed',
  'cancelled',
  'lost',
] as const
export type Moment = (typeof moments)[number]

/**
 * Channels that got an earlier message as another one's fallback, and also get this moment. `reached`: it
 * is pending or delivered. `possibly_reached`: it may have arrived.
 */
export type Fallbacks = 'none' | 'reached' | 'possibly_reached'

interface Traits {
  /** What the moment does to an incident, on channels that have incidents. */
  incident: 'opens' | 'acknowledges' | 'resolves'
  /** Whether people can act before NotBefore. Until then, its message is urgent. */
  asks: boolean
  /** Whether its message is useless once the event is over. */
  expires: boolean
  fallbacks: Fallbacks
}

export const traits: Record<Moment, Traits> = {
  scheduled: { incident: 'opens', asks: true, expires: true, fallbacks: 'reached' },
  changed: { incident: 'opens', asks: true, expires: true, fallbacks: 'reached' },
  not_ready: { incident: 'opens', asks: true, expires: true, fallbacks: 'reached' },
  reminder: { incident: 'opens', asks: true, expires: true, fallbacks: 'none' },
  approved: {
    incident: 'acknowledges',
    asks: false,
    expires: false,
    fallbacks: 'possibly_reached',
  },
  declined: { incident: 'acknowledges', asks: false, expires: true, fallbacks: 'possibly_reached' },
  stuck: { incident: 'opens', asks: true, expires: true, fallbacks: 'reached' },
  started: { incident: 'opens', asks: false, expires: true, fallbacks: 'reached' },
  completed: { incident: 'resolves', asks: false, expires: false, fallbacks: 'possibly_reached' },
  cancelled: { incident: 'resolves', asks: false, expires: false, fallbacks: 'possibly_reached' },
  lost: { incident: 'resolves', asks: false, expires: false, fallbacks: 'possibly_reached' },
}

/** Whether the event is over with it. */
export function isEnd(moment: Moment): boolean {
  return traits[moment].incident === 'resolves'
}

export function opensIncident(moment: Moment): boolean {
  return traits[moment].incident === 'opens'
}
