// The kinds of channels there are, by the name that an owner writes. kinds.ts has what follows from it.
export { pagerduty } from './pagerduty.ts'
export { slack } from './slack/index.ts'
export { teams } from './teams.ts'
export { webhook } from './webhook.ts'
