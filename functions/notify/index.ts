// The kinds of channels there are.
import type { Notifiers } from './notifier.ts'
import { pagerduty } from './pagerduty.ts'
import { slack } from './slack.ts'
import { teams } from './teams.ts'
import { webhook } from './webhook.ts'

export const notifiers: Notifiers = { slack, teams, pagerduty, webhook }
