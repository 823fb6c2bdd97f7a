// What can go wrong, by kind. A seed chooses the kinds of its world, and how often each one strikes.
import type { Random } from './random.ts'

const faultKinds = [
  // beacons
  'beacon_dies',
  'vm_reboots',
  'clock_off',
  // the way between beacon and relay
  'report_lost',
  'report_doubled',
  'report_delayed',
  'answer_lost',
  // Azure's metadata service
  'imds_empty',
  'imds_glitch',
  'imds_fails',
  'imds_old_version',
  'start_refused',
  // the relay
  'relay_crashes',
  'relay_stalls',
  'wake_lost',
  'store_slow',
  // channels
  'channel_slow',
  'channel_busy',
  'channel_fails',
  'channel_refuses',
  'channel_mute',
  'channel_dead',
] as const

/** These faults make whole stories, which take longer, so each is in fewer worlds. */
const storyKinds = [
  // all relays are down for minutes, and events are announced and started meanwhile
  'relay_away',
  // a VM's document is seconds late, or does not change for minutes, while its polls work
  'imds_lags',
  // every request is answered 400 for seconds
  'imds_refuses',
  // more than 5 requests in a second are answered 429
  'imds_throttles',
  // entries that cannot be read, and events in two entries
  'imds_unreadable',
  // an event vanishes before its time and comes back as Started
  'event_blinks',
  // an event is first seen long after its NotBefore
  'event_overdue',
  // Azure changes an event while beacons report it or are about to start it
  'event_revised',
  // a VM that an event does not hit moves to another place of Azure, and shows it no more; in some
  // worlds, no report arrives for minutes
  'vm_moves',
  // Azure accepts a start, and changes the event instead
  'start_ignored',
  // the beacons of hit VMs stop for a minute, and Azure cancels the event meanwhile
  'beacon_updates',
  // a liar has the fleet's key
  'vm_lies',
  'fleet_floods',
  // the preview is rolled out, and Azure advises that it may reclaim a Spot VM
  'spot_advice',
] as const

/** Endpoints of subscriptions. Each subscription has at most one of these. */
export const endpointKinds = [
  // answers 2xx and forgets the message, or says in the body that something failed
  'endpoint_lies',
  // gives no answer until the attempt ends
  'endpoint_hangs',
  'endpoint_redirects',
  // answers 410
  'endpoint_gone',
  // answers 5xx for hours
  'endpoint_fails',
  // refuses connections for days
  'endpoint_away',
] as const
/** What Azure says outside the VMs. */
const outsideKinds = [
  // Azure publishes the events of a fleet
  'azure_publishes',
  // Resource Graph and Resource Manager fail
  'azure_fails',
  // no VM of that fleet has a beacon
  'azure_alone',
  // a holder of the token says in Azure's place what is not so
  'azure_lies',
] as const
const allKinds = [...faultKinds, ...storyKinds, ...endpointKinds, ...outsideKinds]
export type FaultKind = (typeof allKinds)[number]

/** How often each kind strikes where it may, in [0, 1]; 0 where this world does not know it. */
export type Faults = Record<FaultKind, number>

const storyShare = 0.25
/** A flood takes as long as ten other worlds. */
const floodShare = 0.07
/** Whatever else fails: whether endpoints disturb others shows best where nothing else does. */
const endpointShare = 0.5

/** Kinds that strike in no world, and kinds that alone strike, in every world. */
interface Chosen {
  without?: readonly string[]
  only?: readonly string[]
}

/** Worlds without any fault are rare, and worlds with every fault are, too. */
export function chooseFaults(random: Random, { without = [], only = [] }: Chosen): Faults {
  const share = random.pick([0, 0.15, 0.3, 0.5, 0.8])
  const rate = random.pick([0.3, 1, 2])
  const entries = allKinds.map((kind) => {
    const isStory = storyKinds.some((one) => one === kind)
    const part = kind === 'fleet_floods' ? floodShare : isStory ? storyShare : 1
    const isEndpoint = endpointKinds.some((one) => one === kind)
    const strikes = random.chance(isEndpoint ? endpointShare : share * part)
    const often = random.pick([0.02, 0.05, 0.15]) * rate
    const has = only.length === 0 ? strikes : only.includes(kind)
    return [kind, has && !without.includes(kind) ? often : 0] as const
  })
  return Object.fromEntries(entries) as Faults
}

export function kindsOf(faults: Faults): FaultKind[] {
  return allKinds.filter((kind) => faults[kind] > 0)
}

/** Names by comma; a name that is none is an error, or nobody would notice. */
export function readKinds(text: string): FaultKind[] {
  const names = text.split(',').filter((name) => name !== '')
  const unknown = names.find((name) => !allKinds.some((kind) => kind === name))
  if (unknown === undefined) return names as FaultKind[]
  throw new Error(`there is no fault "${unknown}"; there are ${allKinds.join(', ')}`)
}
