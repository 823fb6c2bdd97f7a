// Warnings about routes.
import { expect, test } from 'vitest'
import { adviceOn, all, byUsers, fleets, testRows } from './advice-on.ts'

testRows('routes', [
  [
    'a type that no route matches',
    {
      routes: [
        { match: { eventType: ['Reboot', 'Redeploy', 'Terminate', 'Freeze'] }, channels: ['chat'] },
      ],
    },
    'routes: nobody is notified when Preempt is scheduled in fleet "prod": no route matches',
    'such as { "match": {}, "channels": ["chat"] }',
  ],
  [
    'a source that no route matches',
    { routes: [{ match: { source: 'Platform' }, channels: ['chat'] }] },
    'Freeze (source User), Reboot (source User)',
  ],
  [
    'routes that tell later steps only',
    { routes: [{ match: {}, moments: ['completed'], channels: ['chat'] }] },
    'nobody is notified when Freeze, Reboot, Redeploy, Preempt or Terminate is scheduled',
    'routes match, but only for later moments; add "scheduled" to their "moments", or a route',
  ],
  [
    'a route that tells one later step, twice',
    { routes: [{ match: {}, moments: ['started', 'started'], channels: ['chat'] }] },
    'routes match, but only for later moments',
  ],
  [
    'routes with conditions only',
    { routes: [all, { match: { tag: 'a' }, channels: ['chat'] }].slice(1) },
    'routes: only routes with conditions on VMs or duration match Freeze, Reboot',
    'add a route without',
  ],
  [
    'a fleet that no route matches',
    { fleets, routes: [{ match: { fleet: 'prod' }, channels: ['chat'] }] },
    'nobody is notified when Freeze, Reboot, Redeploy, Preempt or Terminate is scheduled in fleet "test"',
  ],
  [
    'a route that never tells',
    {
      routes: [
        { ...all, continue: false },
        { match: { tag: 'db' }, channels: ['chat'] },
      ],
    },
    'routes[1]: never notifies: earlier routes match the same events and stop',
    'remove their "continue": false',
  ],
  [
    'a reminder as early as the event',
    { routes: [{ ...all, remindBeforeSeconds: [900, 300] }] },
    'routes[0].remindBeforeSeconds: Azure announces',
    'write less than 900',
  ],
  [
    'a reminder earlier than its type is announced',
    {
      routes: [
        all,
        { match: { eventType: 'Redeploy' }, channels: ['chat'], remindBeforeSeconds: 600 },
      ],
    },
    'announces Redeploy about 600 s ahead',
    'write less than 600',
  ],
  [
    'a reminder too early for one type of two',
    {
      routes: [
        all,
        {
          match: { eventType: ['Reboot', 'Redeploy'] },
          channels: ['chat'],
          remindBeforeSeconds: 700,
        },
      ],
    },
    'announces Redeploy about 600 s ahead',
    'put Redeploy into a route of its own',
  ],
  [
    'a reminder of Preempt',
    {
      routes: [
        all,
        { match: { eventType: 'Preempt' }, channels: ['chat'], remindBeforeSeconds: 30 },
      ],
    },
    'announces Preempt about 30 s ahead',
    'leave it out',
  ],
  [
    'a reminder where nobody is asked',
    {
      policy: [byUsers, { match: {}, decide: 'notify' }],
      routes: [{ ...all, remindBeforeSeconds: 300 }],
    },
    'routes[0].remindBeforeSeconds: the policy asks nobody about events of this route',
    'write "decide": "ask" for them, or leave this out',
  ],
  [
    'a reminder of what is approved or told',
    {
      policy: [
        byUsers,
        { match: { eventType: 'Freeze', maxDurationSeconds: 8 }, decide: 'approve' },
        { match: { eventType: 'Freeze' }, decide: 'notify' },
      ],
      routes: [
        all,
        { match: { eventType: 'freeze' }, channels: ['chat'], remindBeforeSeconds: 60 },
      ],
    },
    'routes[1].remindBeforeSeconds: the policy asks nobody',
  ],
])

test('where all that is known is approved, people may be asked about what Azure has one day', () => {
  const policy = [{ match: {}, decide: 'approve' }]
  const vain = (match: object) => {
    const routes = [all, { match, channels: ['chat'], remindBeforeSeconds: 60 }]
    return adviceOn({ policy, routes }).some((one) => one.includes('no reminder is sent'))
  }
  expect(vain({})).toBe(false)
  expect(vain({ eventType: 'Reboot' })).toBe(true)
})
