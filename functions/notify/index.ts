// All kinds of channels, by the name that an owner writes. registry.ts builds on this list.
export { pagerduty } from './pagerduty.ts'
export { slack } from './slack/index.ts'
export { teams } from './teams.ts'
export { webhook } from './webhook.ts'
