// Whether beacons work: who of a fleet was heard, when, and what they see. For admins.
import type { Context } from 'hono'
import { quoted } from '../config/checks.ts'
import { didYouMean } from '../config/suggest.ts'
import type { Beacon } from '../core/event.ts'
import type { Relay } from '../relay.ts'
import { named, problem } from './problem.ts'

/** In one answer; of a larger fleet any of them are shown. */
export const maxBeacons = 1_000

export async function getBeacons(relay: Relay, c: Context): Promise<Response> {
  const fleets = Object.keys(relay.config.fleets)
  const fleet = c.req.query('fleet') ?? (fleets.length === 1 ? fleets[0]! : undefined)
  if (fleet === undefined) {
    return problem(c, 400, 'query_invalid', `name one fleet, as in ?fleet=…: ${quoted(fleets)}`)
  }
  if (!fleets.includes(fleet)) {
    const meant = didYouMean(fleet, fleets)
    const detail = `there is no fleet ${named(fleet)}; there are ${quoted(fleets)}${meant}`
    return problem(c, 404, 'fleet_unknown', detail)
  }
  const found = await relay.store.listBeacons(fleet, maxBeacons + 1)
  const shown = found.slice(0, maxBeacons).map(publicBeacon)
  shown.sort((a, b) => (a.vm < b.vm ? -1 : 1))
  return c.json({ fleet, beacons: shown, more: found.length > maxBeacons })
}

function publicBeacon({ beacon, vm, resourceGroup, scaleSet, heardAt, paceMs, sees }: Beacon) {
  const place = { resourceGroup, scaleSet }
  const heard = { lastHeardAt: new Date(heardAt).toISOString(), paceSeconds: paceMs / 1_000 }
  return { beacon, vm, ...place, ...heard, seesEvents: sees.length }
}
