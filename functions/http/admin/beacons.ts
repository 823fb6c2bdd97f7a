// Beacons for admins: `GET /v1/beacons` lists those of a fleet and who is missing, and `DELETE
// /v1/beacons/:fleet/:beacon` is an owner's word that one has left.
import type { Context } from 'hono'
import * as z from 'zod'
import { iso } from '../../../shared/json.ts'
import { shownState } from '../../core/event/silence.ts'
import { unsupported } from '../../core/rules/beacon-version.ts'
import { oneOf, quoted, wholeNumber } from '../../schema/checks.ts'
import type { ListedBeacon } from '../../store/store.ts'
import { listFleet, missingIn } from '../../use-cases/beacons.ts'
import { dismissBeacon } from '../../use-cases/notice-silence.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { fleetUnknown, named, problem } from '../problem.ts'
import { readQuery } from '../query.ts'
import { fleetsFor } from './access.ts'

/** Per answer. For a larger fleet, `cursor` leads to the next page. */
const maxBeacons = 1_000
export const beaconStates = ['heard', 'silent', 'left'] as const

export const beaconsQuery = z.strictObject({
  fleet: z.string().optional().describe('Required if the configuration has several fleets.'),
  state: oneOf(beaconStates).optional().describe('Only beacons in this state.'),
  limit: wholeNumber(1, maxBeacons)
    .optional()
    .describe(
      `Beacons in the answer, ${maxBeacons} if absent. With \`state\`, there may be fewer.`,
    ),
  cursor: z.string().optional().describe('The `cursor` of the page before.'),
})

export async function getBeacons(relay: Relay, c: Context): Promise<Response> {
  const read = readQuery(c, beaconsQuery)
  if ('refusal' in read) return problem(c, 400, 'query_invalid', read.refusal)
  const { state, limit = maxBeacons, cursor: after } = read.query
  const fleets = fleetsFor(relay, c)
  const fleet = read.query.fleet ?? (fleets.length === 1 ? fleets[0]! : undefined)
  if (fleet === undefined) {
    const detail = `the parameter "fleet" is missing; write one of ${quoted(fleets)}`
    return problem(c, 400, 'query_invalid', detail)
  }
  if (!fleets.includes(fleet)) return fleetUnknown(c, fleet, fleets)
  const page = { limit: limit + 1, ...(after === undefined ? {} : { after }) }
  const found = await relay.store.listBeacons(fleet, page)
  const more = found.length > limit
  const shown = found.slice(0, limit)
  const cursor = more ? { cursor: shown.at(-1)!.beacon } : {}
  const beacons = shown
    .map((one) => publicBeacon(one, relay.now()))
    .filter((one) => state === undefined || one.state === state)
    .sort((a, b) => (a.vm < b.vm ? -1 : 1))
  const isWhole = after === undefined && !more
  const expected =
    after === undefined ? await expectedIn(relay, fleet, isWhole ? found : undefined) : {}
  return c.json({ fleet, beacons, more, ...cursor, ...expected })
}

/** An owner's word. The id may be encoded or not. */
export async function deleteBeacon(relay: Relay, c: Context): Promise<Response> {
  const fleets = fleetsFor(relay, c)
  const fleet = c.req.param('fleet')!
  if (!fleets.includes(fleet)) return fleetUnknown(c, fleet, fleets)
  const beacon = c.req.param('beacon')!.toLowerCase()
  const left = await dismissBeacon(relay, { fleet, beacon })
  if (left === 'unknown') {
    const detail = `fleet ${named(fleet)} has no beacon ${named(beacon)}; GET /v1/beacons lists their ids`
    return problem(c, 404, 'beacon_unknown', detail)
  }
  if (left === 'busy') {
    return problem(
      c,
      503,
      'busy',
      'the beacon reported while the relay changed its row; send the request again',
    )
  }
  return c.json({ fleet, ...publicBeacon({ ...left, seesEvents: left.sees.length }, relay.now()) })
}

/** `listed` is the whole fleet, if one page has it. */
async function expectedIn(relay: Relay, name: string, listed: ListedBeacon[] | undefined) {
  const fleet = relay.config.fleets[name]!
  if (fleet.expectedBeacons === undefined) return {}
  const { expected, missing, names } = missingIn(fleet, listed ?? (await listFleet(relay, name)))!
  return { expected, missing: typeof fleet.expectedBeacons === 'number' ? missing : names }
}

function publicBeacon(listed: ListedBeacon, now: number) {
  const { beacon, vm, resourceGroup, scaleSet, heardAt, paceMs, seesEvents } = listed
  const { version, hooks = [], goodbye, left, explainedBy } = listed
  const reason = unsupported(version)
  const state = shownState(listed, now)
  return {
    beacon,
    vm,
    resourceGroup,
    scaleSet,
    state,
    version,
    ...(reason === undefined ? {} : { unsupported: `version ${reason}` }),
    lastHeardAt: iso(heardAt),
    paceSeconds: paceMs / 1_000,
    seesEvents,
    hooks,
    ...(goodbye && { goodbye: { ...goodbye, at: iso(goodbye.at) } }),
    ...(left && { left: { ...left, at: iso(left.at) } }),
    ...(explainedBy === undefined ? {} : { explainedBy }),
  }
}
