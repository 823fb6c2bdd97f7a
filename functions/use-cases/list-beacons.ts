// All beacons of a fleet, page by page.
import type { ListedBeacon } from '../store/store.ts'
import type { Relay } from './relay.ts'

const pageSize = 1_000
/** A larger fleet is listed in part. */
const maxPages = 10

export async function listFleet(
  { store }: Pick<Relay, 'store'>,
  fleet: string,
): Promise<ListedBeacon[]> {
  const beacons: ListedBeacon[] = []
  for (let page = 0; page < maxPages; page++) {
    const after = beacons.at(-1)?.beacon
    const range = { limit: pageSize, ...(after === undefined ? {} : { after }) }
    const found = await store.listBeacons(fleet, range)
    beacons.push(...found)
    if (found.length < pageSize) break
  }
  return beacons
}
