// Teams with a bot: a card that is edited, with a reply in its thread for each step. The bot is the identity
// that the relay has in Azure. It speaks to the Bot Connector:
// https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference
import * as z from 'zod'
import { parseJson } from '../../../shared/json.ts'
import { type Attempt, type Call, notifyByEditing } from '../edited.ts'
import {
  type Answer,
  fromError,
  fromStatus,
  isSuccess,
  type Notifier,
  request,
  wordsOf,
} from '../notifier.ts'
import { fittingBody, replyOf } from './card.ts'
import type { Bot } from './schema.ts'

/** What the bot's token is for. */
const resource = 'https://api.botframework.com'

export const teamsBot: Notifier<Bot> = {
  overtakes: () => true,
  // Teams accepts 60 messages in 30 s from a bot in one thread, and an edit comes with a reply.
  rate: { everyMs: 1_000, burst: 2, together: 1, atOnce: 4 },
  opensIncidents: false,
  buttons: {
    approveIn: 'teams',
    how: 'entra',
    service: 'Teams',
    maxValueLength: 2_000,
    isEdited: true,
  },
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
      return call(attempt, 'POST', '', JSON.stringify(conversation))
    },
    edit(attempt, { place, message }) {
      const path = `/${encodeURIComponent(place)}/activities/${encodeURIComponent(message)}`
      return call(attempt, 'PUT', path, fittingBody(attempt.outgoing), 'gone')
    },
    reply(attempt, { place }) {
      const path = `/${encodeURIComponent(place)}/activities`
      return call(attempt, 'POST', path, replyOf(attempt.outgoing), 'gone')
    },
    remove(attempt, { place, message }) {
      const path = `/${encodeURIComponent(place)}/activities/${encodeURIComponent(message)}`
      return call(attempt, 'DELETE', path)
    },
  }),
}

/** A new conversation has both. An edit and a reply have an `id` that nobody needs. */
const created = z.object({ id: z.string().min(1), activityId: z.string().min(1) })

/** `missing`: what a 404 means. Never throws. */
async function call(
  { outgoing, channel, send }: Attempt<Bot>,
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: string,
  missing: 'gone' | 'broken' = 'broken',
): Promise<Call> {
  const { azureTokens, signal } = outgoing
  try {
    // a worker that slept past its lease must not send
    signal.throwIfAborted()
    const headers = {
      authorization: `Bearer ${await azureTokens.read(resource)}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const url = `${channel.endpoint}/v3/conversations${path}`
    const answer = await request(send, method, url, {
      headers,
      signal,
      ...(body !== undefined && { body }),
    })
    if (answer.status === 401) azureTokens.drop(resource)
    return judge(answer, path === '', missing, outgoing.now)
  } catch (error) {
    return fromError(error, outgoing)
  }
}

function judge(answer: Answer, isNew: boolean, missing: 'gone' | 'broken', now: number): Call {
  const note = `HTTP ${answer.status}${wordsOf(answer)}`
  if (answer.status === 404 && missing === 'gone') return { outcome: 'gone', note }
  // a token that was refused is renewed, and 412 means that another request changes the conversation
  if ([401, 412].includes(answer.status)) return { outcome: 'retry', note }
  if (!isSuccess(answer.status)) return fromStatus(answer, now)
  if (!isNew) return { outcome: 'done', place: '', message: '' }
  const read = created.safeParse(parseJson(answer.text))
  if (read.success) return { outcome: 'done', place: read.data.id, message: read.data.activityId }
  // the message may have been posted, and every further attempt might post it again
  const said = `HTTP ${answer.status}, but the answer is not from the Bot Connector${wordsOf(answer)}`
  return { ...fromStatus(answer, now), note: said }
}
