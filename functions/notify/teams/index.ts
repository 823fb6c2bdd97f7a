// Teams: a workflow webhook, or a bot.
import type { Kind } from '../kind.ts'
import { teamsBot } from './bot.ts'
import { teamsSchema } from './schema.ts'
import { teamsWebhook } from './webhook.ts'

export const teams: Kind<typeof teamsSchema> = {
  schema: teamsSchema,
  ids: ['channelId', 'tenantId'],
  placeholders: { channelId: () => '19:env@thread.tacv2' },
  notifiers: { teams: teamsWebhook, teams_bot: teamsBot },
}
