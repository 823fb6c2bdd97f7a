// Whether a request comes from Teams through the Bot Connector, by its token. An adapter checks the signature.
// https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication
import * as z from 'zod'
import type { Issuer, Verified } from './identity.ts'

/** The Bot Connector of Azure's public cloud. */
export const botConnector: Issuer = {
  keysUrl: 'https://login.botframework.com/v1/.well-known/keys',
  name: 'the Bot Connector',
}
const issuer = 'https://api.botframework.com'
/** The Bot Connector's clock and the relay's may differ by this much. */
const toleranceMs = 5 * 60_000

const claimsSchema = z.object({
  iss: z.literal(issuer),
  aud: z.string(),
  /** Unix seconds. */
  exp: z.number(),
  nbf: z.number().optional(),
  serviceurl: z.string(),
})

/** What the activity says of itself. */
interface Said {
  /** The service of the conversation: anybody may open some of them in a browser, and claim to be anyone. */
  channelId: string
  serviceUrl: string
}

const teams = 'msteams'

/** Why a genuine token does not prove an activity of Teams, or undefined. `appId`: of the bot's app. */
export function whyNotTeams(
  { claims, endorsements = [] }: Extract<Verified, { outcome: 'genuine' }>,
  { channelId, serviceUrl }: Said,
  appId: string,
  now: number,
): string | undefined {
  if (channelId !== teams) return 'the activity is not from Teams'
  if (!endorsements.includes(teams)) return 'its key may not speak for Teams'
  const read = claimsSchema.safeParse(claims)
  if (!read.success) return `its claim "${String(read.error.issues[0]?.path[0] ?? 'iss')}" is wrong`
  const { aud, exp, nbf, serviceurl } = read.data
  if (aud !== appId) return 'its claim "aud" is not the "clientId" of "azure"'
  if (exp * 1_000 + toleranceMs <= now) return 'it has expired'
  if (nbf !== undefined && nbf * 1_000 - toleranceMs > now) return 'it is not valid yet'
  if (serviceurl !== serviceUrl) return 'its claim "serviceurl" is not that of the activity'
  return undefined
}
