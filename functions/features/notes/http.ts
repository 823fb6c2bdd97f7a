// `/v1/events/{fleet}/{eventId}/note`: what an owner notes for those who decide.
import type { Context } from 'hono'
import * as z from 'zod'
import { maxReasonLength } from '../../core/limits.ts'
import { seesFleet } from '../../core/rules/access.ts'
import { readAccess } from '../../http/api/access.ts'
import { named, problem } from '../../http/problem.ts'
import { type Route, route } from '../../http/route.ts'
import { object } from '../../schema/checks.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { noteEvent } from './use.ts'

const path = '/v1/events/{fleet}/{eventId}/note'

const noteWish = object({
  text: z.string().min(1).max(maxReasonLength).describe('One or two sentences.'),
})

const putNote = route({
  method: 'put',
  path,
  name: 'noteEvent',
  summary: 'Writes a note on an event, in the place of an earlier one.',
  about:
    'The console shows the note, and the event has it in the API and in webhooks. Nobody is notified.',
  group: 'Events',
  caller: 'decide',
  json: {
    schema: noteWish,
    maxBytes: 4_096,
    code: 'note_malformed',
    example: '{"text": "The database fails over at 14:00. Wait until then."}',
  },
  answers: { 204: { about: 'The event has the note.' } },
  problems: [404, 503],
  handler:
    ({ relay }) =>
    (c, { params, body }) =>
      write(relay, c, params, body.text),
})

const deleteNote = route({
  method: 'delete',
  path,
  name: 'removeNote',
  summary: 'Removes the note of an event.',
  group: 'Events',
  caller: 'decide',
  answers: { 204: { about: 'The event has no note.' } },
  problems: [404, 503],
  handler:
    ({ relay }) =>
    (c, { params }) =>
      write(relay, c, params, ''),
})

async function write(
  relay: Relay,
  c: Context,
  { fleet, eventId: id }: { fleet: string; eventId: string },
  text: string,
): Promise<Response> {
  const key = { fleet, eventId: id.toLowerCase() }
  const access = readAccess(c)
  const known = seesFleet(access, fleet) ? await relay.store.readEvent(key) : undefined
  if (known === undefined) {
    const detail = `fleet ${named(fleet)} has no event ${named(id)}; GET /v1/events lists all`
    return problem(c, 404, 'event_unknown', detail)
  }
  if ((await noteEvent(relay, access, key, text)) === 'noted') return c.body(null, 204)
  const detail = 'too many requests changed this event at once; send the request again'
  return problem(c, 503, 'busy', detail)
}

export const noteRoutes: Route[] = [putNote, deleteNote]
