// Whether a beacon that an alert is about to name is silent: a report may have come while its silence was noted,
// and the relay may have forgotten the beacon.
import { isHeardAgain } from '../../core/event/beacon-state.ts'
import type { Rechecks } from '../../use-cases/hearer.ts'
import type { Relay } from '../../use-cases/relay.ts'

export async function noLongerSilent({ store, host }: Relay, fleet: string, ids: string[]) {
  const [back, left]: [string[], string[]] = [[], []]
  for (const id of ids) {
    await host.pause()
    const beacon = await store.readBeacon(fleet, id)
    if (beacon === undefined || beacon.left !== undefined) left.push(id)
    else if (beacon.silence === undefined || isHeardAgain(beacon)) back.push(id)
  }
  return { back, left }
}

export const silenceRechecks: Rechecks = { beacons_silent: noLongerSilent }
