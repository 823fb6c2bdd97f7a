// What services with buttons need at the top of the configuration.
import type { ServiceApps } from '../core/rules/config.ts'
import { slackAppSchema } from './slack/app.ts'

export const apps = {
  slackApp: slackAppSchema
    .optional()
    .describe('The Slack app whose buttons decide, for routes with "approveIn": "slack".'),
}

export function appSecrets({ slackApp }: ServiceApps): string[] {
  return slackApp?.signingSecret ?? []
}
