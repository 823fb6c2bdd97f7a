// Teams with a bot: a card that is edited, with a reply in its thread for each step. The bot is the identity
// that the relay has in Azure. It speaks to the Bot Connector:
// https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference
import * as z from 'zod'
import { parseJson } from '../../../shared/json.ts'
import { addressBelow } from '../../core/rules/path.ts'
import { type Attempt, type Created, type Edited, notifyByEditing } from '../edited.ts'
import {
  type Answer,
  describeChain,
  fromError,
  fromStatus,
  isSuccess,
  type Notifier,
  request,
  type Undelivered,
} from '../notifier.ts'
import { buttons } from './buttons.ts'
import { composeReply, fittingBody } from './card.ts'
import type { Bot } from './schema.ts'

/** What the bot's token is for. */
const resource = 'https://api.botframework.com'

export const teamsBot: Notifier<Bot> = {
  takes: 'newest',
  // Teams accepts 60 messages in 30 s from a bot in one thread, and an edit comes with a reply.
  rate: { everyMs: 1_000, burst: 2, together: 1, atOnce: 4 },
  buttons: { ...buttons, isEdited: true },
  notify: notifyByEditing({
    placeOf: ({ channelId }) => channelId,
    async create(attempt) {
      const { channelId, tenantId } = attempt.channel
      const activity: unknown = JSON.parse(fittingBody(attempt.outgoing))
      const conversation = {
        isGroup: true,
        tenantId,
        channelData: { channel: { id: channelId } },
        activity,
      }
      return call(attempt, 'POST', [], createdIn, JSON.stringify(conversation))
    },
    edit(attempt, { place, message }) {
      return call(
        attempt,
        'PUT',
        [place, 'activities', message],
        editedIn,
        fittingBody(attempt.outgoing),
      )
    },
    reply(attempt, { place }, isLoud) {
      const body = composeReply(attempt.outgoing, isLoud)
      return call(attempt, 'POST', [place, 'activities'], editedIn, body)
    },
    remove(attempt, { place, message }) {
      return call(attempt, 'DELETE', [place, 'activities', message], editedIn)
    },
  }),
}

/** Never throws. */
async function call<Judged>(
  { outgoing, channel, send }: Attempt<Bot>,
  method: 'POST' | 'PUT' | 'DELETE',
  path: string[],
  judge: (answer: Answer, now: number) => Judged,
  body?: string,
): Promise<Judged | Undelivered> {
  const { azureTokens, signal, now } = outgoing
  try {
    // a worker that slept past its lease must not send
    signal.throwIfAborted()
    const headers = {
      authorization: `Bearer ${await azureTokens.read(resource)}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const url = addressBelow(channel.endpoint, ['v3', 'conversations', ...path])
    const parts = { headers, signal, ...(body !== undefined && { body }) }
    const answer = await request(send, method, url, parts)
    if (answer.status === 401) azureTokens.drop(resource)
    return judge(answer, now)
  } catch (error) {
    return fromError(error, outgoing)
  }
}

const created = z.object({ id: z.string().min(1), activityId: z.string().min(1) })

function createdIn(answer: Answer, now: number): Created {
  if (!isSuccess(answer.status)) return failureIn(answer, now)
  const read = created.safeParse(parseJson(answer.text))
  if (read.success) return { outcome: 'done', place: read.data.id, message: read.data.activityId }
  // the message may have been posted, and every further attempt might post it again
  const said = `HTTP ${answer.status}, but the answer is not from the Bot Connector${describeChain(answer)}`
  return { ...fromStatus(answer, now), note: said }
}

function editedIn(answer: Answer, now: number): Edited {
  if (isSuccess(answer.status)) return { outcome: 'done' }
  return answer.status === 404
    ? { outcome: 'gone', note: describeAnswer(answer) }
    : failureIn(answer, now)
}

function failureIn(answer: Answer, now: number): Undelivered {
  // a token that was refused is renewed, and 412 means that another request changes the conversation
  return [401, 412].includes(answer.status)
    ? { outcome: 'retry', note: describeAnswer(answer) }
    : fromStatus(answer, now)
}

function describeAnswer(answer: Answer): string {
  return `HTTP ${answer.status}${describeChain(answer)}`
}
