// The Slack app of the owner, at the top of the configuration: its buttons decide.
import { list, object, textBy } from '../../schema/checks.ts'

declare module '../../core/rules/config.ts' {
  interface ServiceApps {
    slackApp?:
      | {
          /** There are several secrets while an owner replaces one. */
          signingSecret: string[]
          /** Workspaces whose users may press a button. */
          team: string[]
        }
      | undefined
  }
}

const signingRule = "write the app's signing secret, 32 hexadecimal digits"
const signingSecret = textBy(signingRule).regex(/^[0-9a-f]{32,64}$/, signingRule)
const teamRule =
  'write the id of a workspace, such as "T0123ABCD", or of an organisation, "E0123ABCD"'

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
