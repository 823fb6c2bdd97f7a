// Warnings about conditions that no event can meet, in routes and in rules.
import { describe, expect, test } from 'vitest'
import { prodKey } from '../support/world.ts'
import { adviceOn, all, byUsers, type Row, testRows } from './advice-on.ts'

const types =
  '"Freeze", "Reboot", "Redeploy", "Preempt", "Terminate", "SpotRebalanceRecommendation"'
const route = (match: object) => ({ routes: [all, { match, channels: ['chat'] }] })
const path = '/subscriptions/x/resourceGroups/rg'

const rows: [match: object, said: string][] = [
  [
    { eventType: '*' },
    `eventType: Azure has no "*" today; it has ${types}, and only "resource" takes globs; leave this out`,
  ],
  [{ eventType: 'Reboot,Redeploy' }, 'write several as a list: ["Reboot", "Redeploy"]'],
  [{ eventType: 'reboot | Freeze' }, 'write several as a list: ["Reboot", "Freeze"]'],
  [{ eventType: prodKey }, 'eventType: Azure has no (not shown, as it may be a secret) today'],
  [{ eventType: '\u202eReboot' }, 'eventType: Azure has no "\\u{202e}Reboot" today'],
  [{ source: '*' }, 'source: Azure has no "*" today; it has "Platform", "User", and only'],
  [
    { resourceGroup: 'rg-*' },
    'resourceGroup: no resource group in Azure can have the name "rg-*", so it never matches; only "resource" takes globs',
  ],
  [{ resourceGroup: path }, `the name "${path}", so it never matches; write the name without`],
  [{ scaleSet: 'web*' }, 'scaleSet: no scale set in Azure can have the name "web*"'],
  [{ scaleSet: ['web', 'a b'] }, '"a b", so it never matches; write its name as Azure shows it'],
  [{ resource: `${path}/providers/x/web_0` }, 'resource: no VM in Azure can have the name'],
  [{ resource: '^web_[0-9]+$' }, '"^web_[0-9]+$", so it never matches; write a name, or a glob'],
  [{ resource: 'web_0, web_1' }, 'write several as a list: ["…", "…"]'],
  [
    { resource: 'hooks.slack.com/services/T0/B0/x' },
    'the name (not shown, as it may be a secret), so',
  ],
  ...['=db', ' role=db', 'role =db', ' ', 'a?=b'].map((tag): [object, string] => [
    { tag },
    `tag: no tag in Azure can have the name ${JSON.stringify(tag)}, so it never matches; write "name"`,
  ]),
]

testRows(
  'conditions of routes',
  rows.map(([match, said]): Row => [JSON.stringify(match), route(match), 'routes[1].match.', said]),
)

testRows(
  'conditions of rules',
  rows.map(([match, said]): Row => {
    const rule = { match: { ...match, maxDurationSeconds: 8 }, decide: 'approve' }
    return [JSON.stringify(match), { policy: [byUsers, rule] }, 'policy[1].match.', said]
  }),
)

describe('nothing is said of names that there may be', () => {
  test.each([
    ['eventType', ['reboot', 'FREEZE']],
    ['resource', ['web_*', 'db-?', 'café.1', '*']],
    ['resourceGroup', ['rg(1).x', 'RG_Données']],
    ['scaleSet', 'web-1'],
    ['tag', ['role', 'role= db', 'a b=c', 'hidden-link:/x/y', 'cost*', 'query=a?b&c']],
  ])('%s: %j', (key, value) => {
    expect(adviceOn(route({ [key]: value }))).toEqual([])
  })
})
