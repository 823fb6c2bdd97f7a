// The steps of an event that lead to messages, and what each of them means to channels.

/** In the order of an event's life. */
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

/** Channels that are notified of a moment, besides those of the routes. */
export interface FurtherChannels {
  /**
   * Channels that got an earlier message as another one's fallback. `reached`: it is pending or
   * delivered. `possibly_reached`: it may have arrived.
   */
  fallbacks: 'none' | 'reached' | 'possibly_reached'
  /** Channels with an open incident for the event. */
  incidents: boolean
}

interface Traits {
  /** What it does to an incident, on channels that have incidents. */
  incident: 'opens' | 'acknowledges' | 'resolves'
  /** Whether people can act before NotBefore. Until then, its message is urgent. */
  asks: boolean
  /** Whether its message is useless once the event is over. */
  expires: boolean
  further: FurtherChannels
}

const step: FurtherChannels = { fallbacks: 'reached', incidents: false }
const routesOnly: FurtherChannels = { fallbacks: 'none', incidents: false }
const closing: FurtherChannels = { fallbacks: 'possibly_reached', incidents: true }

export const traits: Record<Moment, Traits> = {
  scheduled: { incident: 'opens', asks: true, expires: true, further: step },
  changed: { incident: 'opens', asks: true, expires: true, further: step },
  not_ready: { incident: 'opens', asks: true, expires: true, further: step },
  reminder: { incident: 'opens', asks: true, expires: true, further: routesOnly },
  approved: { incident: 'acknowledges', asks: false, expires: false, further: closing },
  declined: { incident: 'acknowledges', asks: false, expires: true, further: closing },
  stuck: { incident: 'opens', asks: true, expires: true, further: step },
  started: { incident: 'opens', asks: false, expires: true, further: step },
  completed: { incident: 'resolves', asks: false, expires: false, further: closing },
  cancelled: { incident: 'resolves', asks: false, expires: false, further: closing },
  lost: { incident: 'resolves', asks: false, expires: false, further: closing },
}

/** Whether the event is over with it. */
export function isEnd(moment: Moment): boolean {
  return traits[moment].incident === 'resolves'
}

export function opensIncident(moment: Moment): boolean {
  return traits[moment].incident === 'opens'
}
