// The kinds of channels there are.
import { discreet, type Notifiers } from './notifier.ts'
import { pagerduty } from './pagerduty.ts'
import { slack } from './slack.ts'
import { slackBot } from './slack-bot.ts'
import { teams } from './teams.ts'
import { webhook } from './webhook.ts'

export const notifiers: Notifiers = {
  slack: discreet(slack),
  slack_bot: discreet(slackBot),
  teams: discreet(teams),
  pagerduty: discreet(pagerduty),
  webhook: discreet(webhook),
}
