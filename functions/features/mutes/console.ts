// `/console/mutes`: what is muted, and the forms that mute events and end a mute.
import type { Context } from 'hono'
import * as z from 'zod'
import { may } from '../../core/rules/access.ts'
import { tokenFor } from '../../http/api/console-form.ts'
import { answerPage, buildBase, wrongAddress } from '../../http/console/answer.ts'
import type { ConsolePart } from '../../http/console/part.ts'
import { sendBy } from '../../http/console/send.ts'
import type { ReadPart, Snapshots } from '../../http/console/snapshot.ts'
import type { Visitor } from '../../http/console/visitor.ts'
import { readQuery } from '../../http/query.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { muteWish } from './http.ts'
import { type MuteNotice, muteBrief, mutedPart, muteLink, mutesBody } from './page.ts'
import { timesOfMute } from './rule.ts'
import { addMute, endMute, mutesFor } from './use.ts'

export const muteConsole: ConsolePart = (relay, snapshots) => ({
  gets: { '/mutes': (c, visitor) => showMutes(relay, c, visitor) },
  posts: {
    '/mute': (c, visitor) => mute(relay, snapshots, c, visitor),
    '/end-mute': (c, visitor) => unmute(relay, snapshots, c, visitor),
  },
})

export const muteNow: ReadPart = async (relay) => {
  const mutes = await mutesFor(relay, { by: 'admin' })
  return {
    content: mutes,
    brief: ({ fleets }) => muteBrief(mutes.filter(({ fleet }) => fleets.includes(fleet)).length),
    line({ base, fleets, records, asks, at }) {
      const own = mutes.filter(({ fleet }) => fleets.includes(fleet))
      // people have to decide it, and are not told of it
      const hidden = records.filter((record) => record.muted !== undefined && asks(record))
      return mutedPart(base, own, hidden.length, at)
    },
    link: muteLink,
  }
}

const mutesQuery = z.strictObject({ said: z.string().max(40).optional() })

async function showMutes(relay: Relay, c: Context, visitor: Visitor): Promise<Response> {
  const read = readQuery(c, mutesQuery)
  if ('refusal' in read) return wrongAddress(relay, c, visitor, read.refusal)
  const { access, fleets } = visitor
  const { said } = read.query
  const page = {
    base: buildBase(relay),
    mutes: await mutesFor(relay, access),
    fleets,
    ...(may(access, 'manage') && { send: await tokenFor(relay, c, 'send') }),
    ...(said && { notice: said }),
  }
  const body = mutesBody(page, relay.now())
  return answerPage(relay, c, visitor, { title: 'Mutes', tab: 'now', body })
}

/** An empty field of the form is one that was left out. */
function mute(relay: Relay, snapshots: Snapshots, c: Context, visitor: Visitor): Promise<Response> {
  return sendBy<MuteNotice>(relay, c, visitor, async (fields) => {
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

function unmute(
  relay: Relay,
  snapshots: Snapshots,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  return sendBy<MuteNotice>(relay, c, visitor, async (fields) => {
    const ended = await endMute(relay, visitor.access, fields.get('id') ?? '')
    snapshots.drop()
    return ended === 'ended' ? 'unmuted' : 'not_unmuted'
  })
}
