// Slack, through an incoming webhook or with the token of a bot. `blocks.ts` makes the body of both;
// its texts are in `core/message/`. `test/notify/golden/layouts.json` has whole requests as sent.
import type { Kind } from '../kind.ts'
import { slackBot } from './bot.ts'
import { buttons } from './buttons.ts'
import { slackSchema } from './schema.ts'
import { slackWebhook } from './webhook.ts'

export const slack: Kind<typeof slackSchema> = {
  name: 'Slack',
  sites: [
    {
      name: 'Slack',
      host: /(^|\.)slack(-gov)?\.com$/,
      // the trigger of a workflow can accept any body
      takes: (kind, { pathname }) =>
        kind.startsWith('slack') || (kind === 'webhook' && !pathname.startsWith('/services/')),
      remedy: '"kind": "slack"',
    },
  ],
  buttons,
  schema: slackSchema,
  open: ['channel'],
  placeholders: {
    token: (name) => `xoxb-${name.replaceAll('_', '-').padEnd(8, '-')}`,
    channel: (name) => `C${name.toUpperCase().replaceAll('_', '0').padEnd(8, '0').slice(0, 30)}`,
  },
  notifiers: { slack: slackWebhook, slack_bot: slackBot },
}
