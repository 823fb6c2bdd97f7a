// `/console/mutes`: what is muted, and the forms that mute events and end a mute.
import type { Context } from 'hono'
import * as z from 'zod'
import { may } from '../../core/rules/access.ts'
import { timesOfMute } from '../../core/rules/mute.ts'
import { mutesBody } from '../../pages/console/mutes.ts'
import { addMute, endMute, mutesFor } from '../../use-cases/mutes.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { tokenFor } from '../admin/console-form.ts'
import { muteWish } from '../admin/mutes.ts'
import { readQuery } from '../query.ts'
import { answerPage, baseOf, wrongAddress } from './answer.ts'
import { sendBy } from './send.ts'
import type { Snapshots } from './snapshot.ts'
import type { Visitor } from './visitor.ts'

const mutesQuery = z.strictObject({ said: z.string().max(40).optional() })

export async function showMutes(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  const read = readQuery(c, mutesQuery)
  if ('refusal' in read) return wrongAddress(relay, c, visitor, read.refusal)
  const { access, fleets } = visitor
  const { said } = read.query
  const page = {
    base: baseOf(relay),
    mutes: await mutesFor(relay, access),
    fleets,
    ...(may(access, 'manage') && { send: await tokenFor(relay, c, 'send') }),
    ...(said && { notice: said }),
  }
  const body = mutesBody(page, relay.now())
  return answerPage(relay, c, visitor, { title: 'Mutes', tab: 'now', body })
}

/** An empty field of the form is one that was left out. */
export function mute(
  relay: Relay,
  snapshots: Snapshots,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  return sendBy(relay, c, visitor, async (fields) => {
    const written = Object.keys(muteWish.shape).flatMap((key) => {
      const value = fields.get(key)?.trim() ?? ''
      if (value === '') return []
      if (key === 'minutes') return [[key, Number(value)]]
      // the browser sends `2026-11-21T22:00`
      return [[key, key === 'from' ? `${value.slice(0, 16)}:00Z` : value]]
    })
    const wish = muteWish.safeParse(Object.fromEntries(written))
    if (!wish.success) return 'not_muted'
    const { minutes, from, ...rest } = wish.data
    const times = timesOfMute(minutes, from, relay.now())
    if (times === undefined) return 'not_muted'
    const added = await addMute(relay, visitor.access, { ...rest, ...times })
    snapshots.drop()
    return added.outcome === 'added' ? 'muted' : 'not_muted'
  })
}

export function unmute(
  relay: Relay,
  snapshots: Snapshots,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  return sendBy(relay, c, visitor, async (fields) => {
    const ended = await endMute(relay, visitor.access, fields.get('id') ?? '')
    snapshots.drop()
    return ended === 'ended' ? 'unmuted' : 'not_unmuted'
  })
}
