// All kinds of channels, by the name that an owner writes. To add one, write its `Kind` (`kind.ts`) and
// add a line here. `.github/CONTRIBUTING.md` has the other steps. `registry.ts` builds on this list.
export { http } from './http/index.ts'
export { mail } from './mail/index.ts'
export { pagerduty } from './pagerduty.ts'
export { slack } from './slack/index.ts'
export { teams } from './teams/index.ts'
export { webhook } from './webhook.ts'
