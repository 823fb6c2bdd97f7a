// `azure` of the configuration: as whom the relay asks Azure, and what it may do there.
import * as z from 'zod'
import { guid, isAuthority, list, maxListed, object } from '../schema/checks.ts'

const subscriptionRule = `write the GUID of a subscription, or a list of 1 to ${maxListed} of these`
const secretRule =
  'write the secret of the app registration as "env:NAME", or "federatedTokenFile", and not both'
const appRule =
  'an app registration needs "tenantId", "clientId", and "clientSecret" or "federatedTokenFile"'

const origin = (usual: string) =>
  z
    .string()
    .refine(isAuthority, {
      error: 'write an https:// address without a path (http:// for loopback only)',
    })
    .transform((url) => new URL(url).origin)
    .default(usual)

/** The ids are in lower case. */
export const subscriptionIds = list(guid(subscriptionRule), subscriptionRule).transform((ids) =>
  ids.map((id) => id.toLowerCase()),
)

export const azureSchema = object({
  subscriptions: subscriptionIds
    .default([])
    .describe(
      'The relay may tell Azure to start events of VMs in these subscriptions, and takes the events that Azure publishes of them, if a fleet names them in `azureSubscriptions`.',
    ),
  tenantId: guid('write the GUID of the tenant of the app registration')
    .optional()
    .describe(
      'Of an app registration. If left out, the relay uses the managed identity of its host.',
    ),
  clientId: guid('write the GUID of the app registration, or of the managed identity')
    .optional()
    .describe('The client id of the app registration, or of one of several managed identities.'),
  clientSecret: z
    .string(secretRule)
    .min(1, secretRule)
    .max(256, secretRule)
    .optional()
    .describe('The secret of the app registration.'),
  federatedTokenFile: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('In place of a secret: the path of a file with the token of another issuer.'),
  authority: origin('https://login.microsoftonline.com').describe('Where tokens come from.'),
  resourceManager: origin('https://management.azure.com').describe(
    'Where Azure Resource Manager answers. Other clouds use another address.',
  ),
}).superRefine(({ tenantId, clientId, clientSecret, federatedTokenFile }, { addIssue }) => {
  const proofs = [clientSecret, federatedTokenFile].filter((one) => one !== undefined).length
  const isApp = tenantId !== undefined && clientId !== undefined && proofs === 1
  const isHost = tenantId === undefined && proofs === 0
  if (proofs === 2) addIssue({ code: 'custom', path: ['clientSecret'], message: secretRule })
  else if (!isApp && !isHost) addIssue({ code: 'custom', path: ['tenantId'], message: appRule })
})
