// `/v1/mutes`: for some time, people are not told of events of a fleet, a scale set or a tag.
import * as z from 'zod'
import { iso } from '../../../shared/json.ts'
import { maxReasonLength } from '../../core/limits.ts'
import { minuteMs } from '../../core/units.ts'
import { fleetsFor, readAccess } from '../../http/api/access.ts'
import { fleetUnknown, named, problem } from '../../http/problem.ts'
import { type Route, route } from '../../http/route.ts'
import { object, textBy, time } from '../../schema/checks.ts'
import { type Mute, maxMuteMs, timesOfMute } from './rule.ts'
import { addMute, endMute, mutesFor } from './use.ts'

declare module '../../http/route.ts' {
  interface FeatureGroups {
    Mutes: string
  }
}

const maxMuteMinutes = maxMuteMs / minuteMs
const minutesRule = `write a whole number of minutes from 1 to ${maxMuteMinutes}`
const fromRule = 'write a time such as "2026-11-21T22:00:00Z", at most 30 days ahead'
const nameRule = 'write a text of 1 to 256 characters'
const readVms = (what: string) =>
  textBy(nameRule).min(1, nameRule).max(256, nameRule).optional().describe(what)

const aMute = z
  .object({
    id: z.string(),
    fleet: z.string(),
    scaleSet: z.string().exactOptional(),
    tag: z.string().exactOptional(),
    reason: z.string().exactOptional(),
    from: time.exactOptional().describe('When it begins, if it does not count yet.'),
    until: time,
    createdAt: time,
    by: z.string().describe('`admin`, or `id/name` of a token.'),
  })
  .meta({ id: 'Mute' })

const listMutes = route({
  method: 'get',
  path: '/v1/mutes',
  name: 'listMutes',
  summary: 'Lists the mutes that count now or later, the next to end first.',
  group: 'Mutes',
  caller: 'read',
  answers: {
    200: {
      about: 'Those of the fleets of the sender.',
      schema: z.object({ mutes: z.array(aMute) }),
    },
  },
  handler:
    ({ relay }) =>
    async (c) =>
      c.json({ mutes: (await mutesFor(relay, readAccess(c))).map(publicMute) }),
})

export const muteWish = object({
  fleet: z.string(),
  scaleSet: readVms('Only events that affect only VMs of this scale set.'),
  tag: readVms('Only events that affect only VMs with this tag: `name` or `name=value`.'),
  minutes: z.int(minutesRule).min(1, minutesRule).max(maxMuteMinutes, minutesRule),
  from: z.iso
    .datetime({ offset: true, error: fromRule })
    .optional()
    .describe('When it begins, at most 30 days ahead. Absent: now.'),
  reason: z.string().min(1).max(maxReasonLength).optional().describe('The console shows it.'),
})

const postMute = route({
  method: 'post',
  path: '/v1/mutes',
  name: 'createMute',
  summary: 'Mutes events: people are not told of them for some time.',
  about:
    'Webhooks, subscriptions and streams get every step. Who already knows of an event is told its end. When the mute ends, channels that have heard nothing of an open event get its newest message.',
  group: 'Mutes',
  caller: 'manage',
  json: {
    schema: muteWish,
    maxBytes: 4_096,
    code: 'mute_malformed',
    example: 'at least {"fleet": "prod", "minutes": 60}',
  },
  answers: { 201: { about: 'The mute.', schema: aMute } },
  problems: [404, 409, 422],
  handler:
    ({ relay }) =>
    async (c, { body: { minutes, from, ...wish } }) => {
      const times = timesOfMute(minutes, from, relay.now())
      if (times === undefined) return problem(c, 422, 'mute_too_far_ahead', `from: ${fromRule}`)
      const added = await addMute(relay, readAccess(c), { ...wish, ...times })
      if (added.outcome === 'added') return c.json(publicMute(added.mute), 201)
      if (added.outcome === 'fleet_unknown') {
        return fleetUnknown(c, added.fleet, fleetsFor(relay, c))
      }
      const detail = `the fleet has ${added.most} mutes, which is the limit, or there are 100 in all; end some`
      return problem(c, 409, 'too_many_mutes', detail)
    },
})

const deleteMute = route({
  method: 'delete',
  path: '/v1/mutes/{id}',
  name: 'endMute',
  summary: 'Ends a mute at once.',
  group: 'Mutes',
  caller: 'manage',
  params: { id: 'Its id from the list.' },
  answers: { 204: { about: 'It has ended.' } },
  problems: [404],
  handler:
    ({ relay }) =>
    async (c, { params: { id } }) => {
      if ((await endMute(relay, readAccess(c), id)) === 'ended') return c.body(null, 204)
      const detail = `there is no mute with the id ${named(id)}; GET /v1/mutes lists all`
      return problem(c, 404, 'mute_unknown', detail)
    },
})

function publicMute({ id, fleet, scaleSet, tag, reason, from, until, createdAt, by }: Mute) {
  const what = { id, fleet, scaleSet, tag, reason, ...(from && { from: iso(from) }) }
  return { ...what, until: iso(until), createdAt: iso(createdAt), by: by.who }
}

export const muteRoutes: Route[] = [listMutes, postMute, deleteMute]
export const muteGroup = { Mutes: 'Times in which people are not told.' }
