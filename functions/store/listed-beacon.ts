// A beacon as lists show it.
import type { Beacon } from '../core/event/beacon.ts'

/** The fields of a beacon that a list shows. Its tags and the ids of its events may be large. */
export const listedFields = [
  'beacon',
  'vm',
  'resourceGroup',
  'scaleSet',
  'heardAt',
  'paceMs',
  'version',
  'hooks',
  'goodbye',
  'explainedBy',
  'silence',
  'left',
] as const

export interface ListedBeacon extends Pick<Beacon, (typeof listedFields)[number]> {
  seesEvents: number
}
