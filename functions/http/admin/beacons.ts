// `GET /v1/beacons` for admins: when each beacon last reported, and how many events it sees.
import type { Context } from 'hono'
import { quoted } from '../../schema/checks.ts'
import type { ListedBeacon } from '../../store/store.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { fleetUnknown, named, problem } from '../problem.ts'

/** Per answer. For a larger fleet, `cursor` leads to the next page. */
const maxBeacons = 1_000

export async function getBeacons(relay: Relay, c: Context): Promise<Response> {
  const fleets = Object.keys(relay.config.fleets)
  const fleet = c.req.query('fleet') ?? (fleets.length === 1 ? fleets[0]! : undefined)
  if (fleet === undefined) {
    const detail = `the parameter "fleet" is missing; write one of ${quoted(fleets)}`
    return problem(c, 400, 'query_invalid', detail)
  }
  if (!fleets.includes(fleet)) return fleetUnknown(c, fleet, fleets)
  const limit = Number(c.req.query('limit') ?? maxBeacons)
  if (!Number.isInteger(limit) || limit < 1 || limit > maxBeacons) {
    const given = named(c.req.query('limit')!)
    const detail = `limit is ${given}; write a whole number from 1 to ${maxBeacons}`
    return problem(c, 400, 'query_invalid', detail)
  }
  const after = c.req.query('cursor')
  const page = { limit: limit + 1, ...(after === undefined ? {} : { after }) }
  const found = await relay.store.listBeacons(fleet, page)
  const more = found.length > limit
  const shown = found.slice(0, limit)
  const cursor = more ? { cursor: shown.at(-1)!.beacon } : {}
  const beacons = shown.map(publicBeacon).sort((a, b) => (a.vm < b.vm ? -1 : 1))
  return c.json({ fleet, beacons, more, ...cursor })
}

function publicBeacon(listed: ListedBeacon) {
  const { beacon, vm, resourceGroup, scaleSet, heardAt, paceMs, seesEvents } = listed
  const place = { resourceGroup, scaleSet }
  const heard = { lastHeardAt: new Date(heardAt).toISOString(), paceSeconds: paceMs / 1_000 }
  return { beacon, vm, ...place, ...heard, seesEvents }
}
