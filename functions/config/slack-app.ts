// The app of Slack whose buttons decide.
import { list, object, textBy } from '../schema/checks.ts'

const signingRule = "write the app's signing secret, 32 hexadecimal digits"
const signingSecret = textBy(signingRule).regex(/^[0-9a-f]{32,64}$/, signingRule)
const teamRule =
  'write the id of a workspace, such as "T0123ABCD", or of an organisation, "E0123ABCD"'

/** Secrets are a list while one is replaced. */
export const slackAppSchema = object({
  signingSecret: list(
    signingSecret,
    `${signingRule}, or a list of them while one is replaced`,
  ).describe(
    'Of the app, under Basic Information: it signs what Slack sends. A list while one is replaced.',
  ),
  team: list(
    textBy(teamRule).regex(/^[TE][A-Z0-9]{4,30}$/, teamRule),
    `${teamRule}, or a list of such`,
  ).describe('Workspaces whose people may press a button; in shared channels there are others.'),
})
