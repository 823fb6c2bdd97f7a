// Presses in Teams: reads who pressed what, as an activity of the Bot Connector says it, and makes the answer,
// which is the answer to that request.
// https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/universal-actions-for-adaptive-cards/work-with-universal-actions-for-adaptive-cards
import * as z from 'zod'
import { linkless } from '../../../shared/presentable.ts'
import { composeRefusal, deadPresses, decidedLine } from '../press-texts.ts'
import type { Press, Reading, Reply, TeamsPresses } from '../presses.ts'
import { cardType, composeCard, composeLine, type Verb } from './card.ts'

const id = z.guid().transform((text) => text.toLowerCase())
const verbs: Verb[] = ['approved', 'declined']

const anyActivity = z.object({ type: z.string().max(64), name: z.string().max(64).optional() })
const anyAction = z.object({ value: z.object({ action: z.object({ verb: z.string().max(255) }) }) })
const pressed = z.object({
  /** A guest from another tenant has it here. */
  from: z.object({
    aadObjectId: id,
    tenantId: id.optional(),
    name: z.string().max(256).optional(),
  }),
  channelData: z.object({ tenant: z.object({ id }) }),
  value: z.object({
    action: z.object({ data: z.object({ value: z.string().max(2_000) }) }),
  }),
})

export const teamsPresses: TeamsPresses = {
  read(activity) {
    const any = anyActivity.safeParse(activity)
    if (!any.success) return malformed(any.error)
    const { type, name } = any.data
    if (type !== 'invoke' || name !== 'adaptiveCard/action') {
      return { outcome: 'acknowledged', note: `ignored the type ${JSON.stringify(type)}` }
    }
    const action = anyAction.safeParse(activity)
    if (!action.success) return malformed(action.error)
    const decision = verbs.find((verb) => verb === action.data.value.action.verb)
    if (decision === undefined) {
      return { outcome: 'acknowledged', note: 'a button that decides nothing' }
    }
    const press = pressed.safeParse(activity)
    if (!press.success) return malformed(press.error)
    const { from, channelData, value } = press.data
    const team = from.tenantId ?? channelData.tenant.id
    const { aadObjectId, name: called } = from
    const by = {
      how: 'entra' as const,
      who: `${team}/${aadObjectId}`,
      ...(called && { name: called }),
    }
    return { outcome: 'pressed', press: { by, team, decision, value: value.action.data.value } }
  },
  answerTo(reply, now) {
    if (reply === 'edited')
      return text('Your decision is stored. This message changes in a moment.')
    if (reply === 'late') {
      return text('The relay has not answered yet. Look at this message again, or open its page.')
    }
    if ('shown' in reply) return card(composeCard(reply.shown))
    if ('decided' in reply) return card(composeLine(decidedLine(reply.decided, now), reply.pageUrl))
    return text(privateWords(reply, now))
  },
}

/** Gives places without values, which may be a token. */
function malformed({ issues }: z.ZodError): Reading<Press> {
  const where = issues.map(({ path }) => path.join('.') || 'activity')
  const detail = `not an activity of a pressed button: ${where.slice(0, 5).join(', ')}`
  return { outcome: 'refused', status: 400, code: 'activity_malformed', detail }
}

function card(value: object) {
  return { statusCode: 200, type: cardType, value }
}

function text(value: string) {
  return { statusCode: 200, type: 'application/vnd.microsoft.activity.message', value }
}

function privateWords(
  reply: Extract<Reply, { dead: unknown } | { refused: unknown }>,
  now: number,
): string {
  if ('dead' in reply) return deadPresses[reply.dead]
  return linkless(composeRefusal(reply.refused, reply.record, reply.by, now))
}
