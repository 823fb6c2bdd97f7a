// Who may decide, and who may see the console: people by their ids in Slack or Entra, and groups by
// theirs. Names and addresses can change owner. Sign-in and the Slack app prove who a person is.
import { guid, list, object, textBy } from '../schema/checks.ts'

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

export const viewersRule =
  'write a list of 1 to 100 people or groups, or leave it out: then only the admin key and tokens open the console'
const viewerRule =
  'write "entra:TENANT/USER" or "entra-group:TENANT/GROUP", with the GUIDs of the tenant and of the person or group'
const viewerForm = new RegExp(`^entra(?:-group)?:${guidForm}/${guidForm}$`)

/** One person, or all members of a group. Returned in lower case. */
export const viewer = textBy(viewerRule)
  .transform((text) => text.toLowerCase())
  .refine((text) => viewerForm.test(text), { error: viewerRule })

const tenantRule = 'write the GUID of the tenant whose people sign in'

export const signInSchema = object({
  tenantId: guid(tenantRule).describe('The tenant whose people sign in.'),
})

const signingRule = "write the app's signing secret, 32 hexadecimal digits"
const signingSecret = textBy(signingRule).regex(/^[0-9a-f]{32,64}$/, signingRule)
const teamRule =
  'write the id of a workspace, such as "T0123ABCD", or of an organisation, "E0123ABCD"'

/** The Slack app whose buttons decide. */
export const slackAppSchema = object({
  signingSecret: list(signingSecret, `${signingRule}, or a list while you replace it`).describe(
    'The signing secret of the app, under Basic Information. A list while you replace it.',
  ),
  team: list(
    textBy(teamRule).regex(/^[TE][A-Z0-9]{4,30}$/, teamRule),
    `${teamRule}, or a list of these`,
  ).describe(
    'Workspaces whose users may press a button. A shared channel also has users of other workspaces.',
  ),
})
