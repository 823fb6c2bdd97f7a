// Who may decide: people by their ids in Slack or Entra. Names and addresses can change owner.
import { guid, object, textBy } from '../schema/checks.ts'

const guidForm = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const approverForm = new RegExp(
  `^(?:slack:[TE][A-Z0-9]{4,30}/[UW][A-Z0-9]{4,30}|entra:${guidForm}/${guidForm})$`,
)

const approverRule =
  'write "slack:TEAM/USER" with their ids, such as "slack:T0123ABCD/U0123ABCD", or "entra:TENANT/USER" ' +
  "with the tenant's GUID and the user's object id; names and e-mail addresses are not accepted"
export const approversRule =
  'write a list of 1 to 100 people, or leave it out: then anyone with the link can decide'

/** One person. Entra ids are returned in lower case. */
export const approver = textBy(approverRule)
  .transform((text) => (text.toLowerCase().startsWith('entra:') ? text.toLowerCase() : text))
  .refine((text) => approverForm.test(text), { error: approverRule })

const tenantRule = 'write the GUID of the tenant whose people sign in'

export const signInSchema = object({
  tenantId: guid(tenantRule).describe('The tenant whose people sign in.'),
})
