// `/v1/beacons`: the beacons of a fleet and the VMs that never reported. `DELETE` is an owner's word
// that a beacon has left.
import * as z from 'zod'
import { iso } from '../../../shared/json.ts'
import { shownState } from '../../core/event/beacon-state.ts'
import { unsupported } from '../../core/rules/beacon-version.ts'
import { listChoices, quoted, time, wholeNumber } from '../../schema/checks.ts'
import { count } from '../../schema/event.ts'
import type { ListedBeacon } from '../../store/store.ts'
import { listFleet, missingIn } from '../../use-cases/beacons.ts'
import { dismissBeacon } from '../../use-cases/dismiss-beacon.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { fleetUnknown, named, problem } from '../problem.ts'
import { type Route, route } from '../route.ts'
import { fleetsFor } from './access.ts'

/** Beacons in one answer. For a larger fleet, `cursor` leads to the next page. */
const maxBeacons = 1_000
export const beaconStates = ['heard', 'silent', 'left'] as const

const beaconAnswer = z
  .object({
    fleet: z.string().exactOptional().describe('Only in the answer for one beacon.'),
    beacon: z.string().describe('Its id.'),
    vm: z.string(),
    resourceGroup: z.string(),
    scaleSet: z.string(),
    state: z.enum(beaconStates),
    version: z.string(),
    unsupported: z
      .string()
      .exactOptional()
      .describe('Why this relay does not support the version.'),
    usesOldKey: z
      .literal(true)
      .exactOptional()
      .describe('Its last report was signed by a key of the fleet that is not the first one.'),
    lastHeardAt: time,
    paceSeconds: z.number(),
    seesEvents: count,
    hooks: z.array(z.enum(['prepare', 'restore'])),
    goodbye: z
      .object({ reason: z.enum(['stopped', 'shutdown', 'upgrade', 'removed']), at: time })
      .exactOptional(),
    left: z
      .object({ why: z.enum(['removed', 'terminated', 'replaced', 'owner']), at: time })
      .exactOptional(),
    explainedBy: z
      .string()
      .exactOptional()
      .describe('The event that explains why it is not heard.'),
  })
  .meta({ id: 'Beacon' })

const beaconsAnswer = z.object({
  fleet: z.string(),
  beacons: z.array(beaconAnswer),
  more: z.boolean(),
  cursor: z.string().exactOptional().describe('For the next page, if there is one.'),
  expected: count.exactOptional().describe('From `expectedBeacons` in the configuration.'),
  missing: z
    .union([count, z.array(z.string())])
    .exactOptional()
    .describe(
      'VMs that never reported: their names, or how many if `expectedBeacons` is a number.',
    ),
})

const listBeacons = route({
  method: 'get',
  path: '/v1/beacons',
  name: 'listBeacons',
  summary: 'Lists the beacons of one fleet, and the VMs that never reported.',
  group: 'Beacons',
  caller: 'read',
  query: z.strictObject({
    fleet: z.string().optional().describe('Required if the configuration has several fleets.'),
    state: listChoices(beaconStates).optional().describe('Only beacons in this state.'),
    limit: wholeNumber(1, maxBeacons)
      .optional()
      .describe(
        `Beacons in the answer, ${maxBeacons} if absent. With \`state\`, there may be fewer.`,
      ),
    cursor: z.string().optional().describe('The `cursor` of the page before.'),
  }),
  answers: { 200: { about: 'One page.', schema: beaconsAnswer } },
  problems: [404],
  handler:
    ({ relay }) =>
    async (c, { query }) => {
      const { state, limit = maxBeacons, cursor: after } = query
      const fleets = fleetsFor(relay, c)
      const fleet = query.fleet ?? (fleets.length === 1 ? fleets[0]! : undefined)
      if (fleet === undefined) {
        const detail = `the parameter "fleet" is missing; write one of ${quoted(fleets)}`
        return problem(c, 400, 'query_invalid', detail)
      }
      if (!fleets.includes(fleet)) return fleetUnknown(c, fleet, fleets)
      const page = { limit: limit + 1, ...(after !== undefined && { after }) }
      const found = await relay.store.listBeacons(fleet, page)
      const more = found.length > limit
      const shown = found.slice(0, limit)
      const cursor = more ? shown.at(-1)!.beacon : undefined
      const beacons = shown
        .map((one) => publicBeacon(one, relay.now()))
        .filter((one) => state === undefined || one.state === state)
        .sort((a, b) => (a.vm < b.vm ? -1 : 1))
      // the first page says who is missing
      if (after !== undefined) return c.json({ fleet, beacons, more, cursor })
      const expected = await expectedIn(relay, fleet, more ? undefined : found)
      return c.json({ fleet, beacons, more, cursor, ...expected })
    },
})

/** `listed` is the whole fleet, if one page has it. */
async function expectedIn(relay: Relay, name: string, listed: ListedBeacon[] | undefined) {
  const fleet = relay.config.fleets[name]!
  if (fleet.expectedBeacons === undefined) return {}
  const { expected, missing, names } = missingIn(fleet, listed ?? (await listFleet(relay, name)))!
  return { expected, missing: typeof fleet.expectedBeacons === 'number' ? missing : names }
}

const removeBeacon = route({
  method: 'delete',
  // a proxy may have decoded the slashes of an id
  path: '/v1/beacons/{fleet}/{+beacon}',
  name: 'dismissBeacon',
  summary: 'Marks a beacon as left. If it reports again, it is heard again.',
  group: 'Beacons',
  caller: 'manage',
  params: { beacon: 'Its id from the list, percent-encoded.' },
  answers: { 200: { about: 'The beacon.', schema: beaconAnswer } },
  problems: [404, 503],
  handler:
    ({ relay }) =>
    async (c, { params }) => {
      const fleets = fleetsFor(relay, c)
      const { fleet } = params
      if (!fleets.includes(fleet)) return fleetUnknown(c, fleet, fleets)
      const beacon = params.beacon.toLowerCase()
      const left = await dismissBeacon(relay, { fleet, beacon })
      if (left === 'unknown') {
        const detail = `fleet ${named(fleet)} has no beacon ${named(beacon)}; GET /v1/beacons lists their ids`
        return problem(c, 404, 'beacon_unknown', detail)
      }
      if (left === 'busy') {
        const detail = 'the beacon reported while the relay changed its row; send the request again'
        return problem(c, 503, 'busy', detail)
      }
      const shown = publicBeacon({ ...left, seesEvents: left.sees.length }, relay.now())
      return c.json({ fleet, ...shown })
    },
})

function publicBeacon(listed: ListedBeacon, now: number) {
  const { beacon, vm, resourceGroup, scaleSet, heardAt, paceMs, seesEvents } = listed
  const { version, oldKey, hooks = [], goodbye, left, explainedBy } = listed
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
    ...(oldKey && { usesOldKey: oldKey }),
    lastHeardAt: iso(heardAt),
    paceSeconds: paceMs / 1_000,
    seesEvents,
    hooks,
    ...(goodbye && { goodbye: { ...goodbye, at: iso(goodbye.at) } }),
    ...(left && { left: { ...left, at: iso(left.at) } }),
    ...(explainedBy === undefined ? {} : { explainedBy }),
  }
}

export const beaconRoutes: Route[] = [listBeacons, removeBeacon]
