// Warnings about the policy.
import { all, byUsers, fleets, testRows } from './advice-on.ts'

testRows('policy', [
  [
    'no rule for what people ask Azure for',
    { policy: [] },
    'policy: events that users request are not approved at once (Reboot in "prod", Redeploy in "prod": no rule',
    'delays such events until they are approved, by up to 15 minutes',
    'put { "match": { "source": "User" }, "decide": "approve" } first',
  ],
  [
    'a rule before it',
    { policy: [{ name: 'reboots', match: { eventType: 'Reboot' }, decide: 'notify' }, byUsers] },
    '(Reboot in "prod": policy[0] ("reboots") decides "notify")',
  ],
  [
    'a narrow rule before it',
    { policy: [{ match: { tag: 'db' }, decide: 'ask' }, byUsers] },
    'policy[0] decides "ask" for some',
  ],
  [
    'approved for some VMs only',
    { policy: [{ match: { source: 'User', tag: 'web' }, decide: 'approve' }] },
    'no rule matches all of them',
  ],
  [
    'a rule that is never reached',
    {
      policy: [
        byUsers,
        { name: 'mine', match: { source: 'user', eventType: 'Reboot' }, decide: 'ask' },
      ],
    },
    'policy[1] ("mine"): never reached: policy[0] comes first and matches the same events',
    'move it before that rule',
  ],
  [
    'approval without a limit',
    { policy: [{ match: {}, decide: 'approve' }] },
    'policy[0]: approves every Reboot, Redeploy, Preempt and Terminate, at any time',
    'maxDurationSeconds',
  ],
  [
    'approval of what the platform does',
    {
      policy: [
        byUsers,
        { match: { source: 'Platform', eventType: ['Freeze', 'Reboot'] }, decide: 'approve' },
      ],
    },
    'policy[1]: approves every Reboot, at any time',
  ],
  [
    'approval for some VMs',
    { policy: [byUsers, { match: { eventType: 'Redeploy', tag: 'web' }, decide: 'approve' }] },
    'policy[1]: approves every Redeploy of VMs that match its tag, at any time',
  ],
  [
    'approval without whenReady, which would limit it',
    { policy: [byUsers, { match: { eventType: 'Redeploy' }, decide: 'approve' }] },
    'policy[1]: approves every Redeploy, at any time',
    '"whenReady": true',
  ],
  [
    'a type that Azure does not have',
    { policy: [byUsers, { match: { eventType: 'Rebot' }, decide: 'notify' }] },
    'policy[1].match.eventType: Azure has no "Rebot" today',
    'did you mean "Reboot"?',
  ],
  [
    'a source that Azure does not have',
    { routes: [all, { match: { source: 'Usr' }, channels: ['chat'] }] },
    'routes[1].match.source: Azure has no "Usr" today',
    'did you mean "User"?',
  ],
  [
    'everything ignored but what people ask for',
    { policy: [byUsers, { match: {}, decide: 'ignore' }] },
    'policy: it ignores all events that Azure schedules in fleet "prod"; limit',
    'write "decide": "notify"',
  ],
  [
    'everything ignored in one fleet, type by type',
    {
      fleets,
      policy: [
        byUsers,
        { match: { fleet: 'test', eventType: ['Freeze', 'Reboot', 'Redeploy'] }, decide: 'ignore' },
        { match: { eventType: 'Preempt', tag: 'spot' }, decide: 'ignore' },
        { match: { fleet: 'test', eventType: ['preempt', 'TERMINATE'] }, decide: 'ignore' },
      ],
    },
    'policy: it ignores all events that Azure schedules in fleet "test"',
  ],
])
