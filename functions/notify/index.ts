// The kinds of channels there are.
import { discreet, type Notifiers } from './notifier.ts'
import { pagerduty } from './pagerduty.ts'
import { slack } from './slack.ts'
import { teams } from './teams.ts'
import { webhook } from './webhook.ts'

export const notifiers: Notifiers = {
  slack: discreet(slack),
  teams: discreet(teams),
  pagerduty: discreet(pagerduty),
  webhook: discreet(webhook),
}
