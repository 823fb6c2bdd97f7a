import { expect, test } from 'vitest'
import { adviceOn, all, byUsers, fleets, team, testRows } from './advice-on.ts'

const signIn = { tenantId: '00000000-0000-4000-8000-000000000000' }

testRows('owners, names and sign-in', [
  ['no owners', { owners: undefined }, 'owners: alerts, such as', 'write "owners": ["chat"]'],
  [
    'no owners of one fleet',
    {
      owners: undefined,
      fleets: {
        prod: { ...fleets.prod, owners: ['chat'] },
        dev: { key: 'whsec_ZGV2ZGV2ZGV2ZGV2ZGV2ZGV2ZGV2ZGV2ZGV2' },
      },
    },
    'owners: alerts of dev',
  ],
  [
    'sign-in on a Cloudflare Worker',
    { publicUrl: 'https://foghorn.contoso.workers.dev', signIn },
    'signIn: the relay signs people in on Azure Functions only',
  ],
  [
    'two rules of one name',
    {
      policy: [
        { ...byUsers, name: 'a' },
        { match: {}, decide: 'ask', name: 'a' },
      ],
    },
    'policy[1].name: policy[0] has the same name',
  ],
  [
    'an office.com connector as a webhook',
    {
      channels: {
        chat: {
          ...{ kind: 'webhook', url: 'https://contoso.webhook.office.com/webhookb2/x' },
          secret: 'whsec_aG9va3NlY3JldGhvb2tzZWNyZXRob29rc2VjcmV0',
          fallback: 'team',
        },
        team,
      },
      routes: [all],
    },
    'channels.chat.url: Microsoft has retired',
  ],
])

test('where sign-in may work, there is no advice', () => {
  expect(adviceOn({ publicUrl: 'https://foghorn.contoso.com', signIn })).toEqual([])
})
