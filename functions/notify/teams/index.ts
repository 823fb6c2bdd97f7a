// Teams: a workflow webhook, or a bot.
import type { Kind } from '../kind.ts'
import { teamsBot } from './bot.ts'
import { buttons } from './buttons.ts'
import { teamsSchema } from './schema.ts'
import { teamsWebhook } from './webhook.ts'

export const teams: Kind<typeof teamsSchema> = {
  name: 'Teams',
  sites: [
    {
      name: 'Microsoft',
      host: /(^|\.)webhook\.office\.com$|^outlook\.office(365)?\.com$/,
      takes: () => false,
      remedy: 'the address of a workflow',
      mistake: () =>
        'Microsoft has retired Office 365 connectors; create a workflow "when a webhook request is received", and write its address',
    },
    {
      name: 'Teams',
      host: /(^|\.)(logic\.azure\.com|environment\.api\.powerplatform\.com)$/,
      // a logic app can accept any body
      takes: (kind) => ['teams', 'webhook'].includes(kind),
      remedy: '"kind": "teams"',
      mistake: (kind, { searchParams }) =>
        kind === 'teams' && !searchParams.has('sig')
          ? 'the workflow rejects requests, because its address has no "sig"; copy the whole address again'
          : undefined,
    },
  ],
  buttons,
  schema: teamsSchema,
  ids: ['channelId', 'tenantId'],
  placeholders: { channelId: () => '19:env@thread.tacv2' },
  notifiers: { teams: teamsWebhook, teams_bot: teamsBot },
}
