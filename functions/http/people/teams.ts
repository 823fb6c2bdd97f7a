// `POST /teams/messages`: activities of the Bot Connector, such as a button pressed in Teams. Teams waits some
// 10 s for the answer, which replaces the card or tells the person why not.
import type { Context } from 'hono'
import * as z from 'zod'
import { parseJson } from '../../../shared/json.ts'
import { unavailableCode } from '../../../shared/report.ts'
import { within } from '../../../shared/within.ts'
import { botConnector, whyNotTeams } from '../../identity/bot.ts'
import type { Press, Reading } from '../../notify/presses.ts'
import { decidePress } from '../../use-cases/decide-event.ts'
import type { FrequentLog } from '../../use-cases/frequent-log.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { problem } from '../problem.ts'
import { route } from '../route.ts'

const maxActivityBytes = 64 * 1024
const answerMs = 8_000

/** Empty if the activity was no press. */
const answer = z.union([
  z.object({ statusCode: z.literal(200), type: z.string(), value: z.unknown() }),
  z.strictObject({}),
])

const saidSchema = z.object({ channelId: z.string(), serviceUrl: z.string() })

export const activityRoute = route({
  method: 'post',
  path: '/teams/messages',
  name: 'teamsActivity',
  summary: 'The Bot Connector says that a button was pressed in Teams.',
  group: 'Decisions',
  caller: 'service',
  sender: {
    scheme: {
      name: 'botConnector',
      value: { type: 'http', scheme: 'bearer', description: 'A token of the Bot Connector.' },
    },
    refuse: refuseActivity,
  },
  body: {
    schema: z.looseObject({ type: z.string(), ...saidSchema.shape }),
    maxBytes: maxActivityBytes,
  },
  answers: { 200: { about: 'A card in place of the pressed one, or a text.', schema: answer } },
  problems: [404, 503],
  handler:
    ({ relay, refusals }) =>
    async (c) => {
      const read = await readActivity(relay, refusals, c)
      if (read instanceof Response) return read
      if (read.outcome === 'acknowledged') {
        relay.log.debug('teams_acknowledged', { note: read.note })
        return c.json({}, 200)
      }
      const decided = await within(answerMs, decidePress(relay, read.press))
      const reply = decided === 'late' ? decided : (decided.reply ?? 'edited')
      return c.json(relay.presses.teams.answerTo(reply, relay.now()))
    },
})

type ActivityParts = Pick<Relay, 'config' | 'presses' | 'credentials' | 'now'>

/** What the Bot Connector sent, or the answer if the relay refuses it. */
async function readActivity(relay: ActivityParts, refusals: FrequentLog, c: Context) {
  const { config, credentials, presses, now } = relay
  const appId = config.azure?.clientId
  if (appId === undefined || tenantsIn(config).length === 0) {
    const detail = 'no channel is a bot in Teams; docs/channels.md says how to add one'
    return problem(c, 404, 'not_found', detail)
  }
  const refuse = (status: number, code: string, detail: string) => {
    refusals.note('teams_refused', { status, code, detail }, code)
    return problem(c, status, code, detail)
  }
  const [, token] = /^Bearer (\S+)$/i.exec(c.req.header('authorization') ?? '') ?? []
  if (token === undefined) {
    return refuse(401, 'token_invalid', 'there is no bearer token; only the Bot Connector sends it')
  }
  const verified = await credentials.identity.verify(token, botConnector)
  if (verified.outcome === 'unavailable') return refuse(503, unavailableCode, verified.reason)
  if (verified.outcome === 'invalid') return refuse(401, 'token_invalid', verified.reason)
  const activity = parseJson(await c.req.text())
  const said = saidSchema.safeParse(activity).data ?? { channelId: '', serviceUrl: '' }
  const why = whyNotTeams(verified, said, appId, now())
  if (why !== undefined) return refuse(401, 'token_invalid', why)
  const read: Reading<Press> = presses.teams.read(activity)
  return read.outcome === 'refused' ? refuse(read.status, read.code, read.detail) : read
}

/** The answer to an activity that the relay refuses, or undefined. */
async function refuseActivity(relay: ActivityParts, refusals: FrequentLog, c: Context) {
  const read = await readActivity(relay, refusals, c)
  return read instanceof Response ? read : undefined
}

/** The tenants of the people in channels where the bot is. */
function tenantsIn({ channels }: Relay['config']): string[] {
  return Object.values(channels).flatMap(({ tenantId }) => tenantId ?? [])
}
