// Whether a request comes from the Bot Connector, by the claims of its token. An adapter checks the signature.
// https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication
import * as z from 'zod'
import type { Issuer } from './identity.ts'

/** In Azure's public cloud. */
export const botConnector: Issuer = {
  keysUrl: 'https://login.botframework.com/v1/.well-known/keys',
  name: 'the Bot Connector',
}
const issuer = 'https://api.botframework.com'
/** Between its clock and the relay's. */
const toleranceMs = 5 * 60_000

const claimsSchema = z.object({
  iss: z.literal(issuer),
  aud: z.string(),
  /** Unix seconds. */
  exp: z.number(),
  nbf: z.number().optional(),
  serviceurl: z.string(),
})

interface Expected {
  /** Client id of the bot's app. */
  appId: string
  /** As the activity says: where its conversation is. */
  serviceUrl: string
}

/** Why a genuine token does not prove it, or undefined. */
export function whyNotBot(
  genuine: unknown,
  { appId, serviceUrl }: Expected,
  now: number,
): string | undefined {
  const read = claimsSchema.safeParse(genuine)
  if (!read.success) return `its claim "${String(read.error.issues[0]?.path[0] ?? 'iss')}" is wrong`
  const { aud, exp, nbf, serviceurl } = read.data
  if (aud !== appId) return 'its claim "aud" is not the "clientId" of "azure"'
  if (exp * 1_000 + toleranceMs <= now) return 'it has expired'
  if (nbf !== undefined && nbf * 1_000 - toleranceMs > now) return 'it is not valid yet'
  if (serviceurl !== serviceUrl) return 'its claim "serviceurl" is not that of the activity'
  return undefined
}
