// What can go wrong, by kind. A seed chooses the kinds of its world, and how often each one strikes.
import type { Random } from './random.ts'

export const faultKinds = [
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
export type FaultKind = (typeof faultKinds)[number]

/** How often each kind strikes where it may, in [0, 1]; 0 where this world does not know it. */
export type Faults = Record<FaultKind, number>

/** Kinds that strike nowhere, and kinds that alone strike, in every world. */
interface Chosen {
  without?: readonly string[]
  only?: readonly string[]
}

/** Worlds without any fault are rare, and worlds with every fault are, too. */
export function chooseFaults(random: Random, { without = [], only = [] }: Chosen): Faults {
  const share = random.pick([0, 0.15, 0.3, 0.5, 0.8])
  const rate = random.pick([0.3, 1, 2])
  const entries = faultKinds.map((kind) => {
    const strikes = random.chance(share)
    const often = random.pick([0.02, 0.05, 0.15]) * rate
    const has = only.length === 0 ? strikes : only.includes(kind)
    return [kind, has && !without.includes(kind) ? often : 0] as const
  })
  return Object.fromEntries(entries) as Faults
}

export function kindsOf(faults: Faults): FaultKind[] {
  return faultKinds.filter((kind) => faults[kind] > 0)
}

/** Names by comma; a name that is none is an error, or nobody would notice. */
export function readKinds(text: string): FaultKind[] {
  const names = text.split(',').filter((name) => name !== '')
  const unknown = names.find((name) => !faultKinds.some((kind) => kind === name))
  if (unknown === undefined) return names as FaultKind[]
  throw new Error(`there is no fault "${unknown}"; there are ${faultKinds.join(', ')}`)
}
