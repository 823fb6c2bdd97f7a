// A dry run shows what the relay would do. It is compared with a relay that receives the event.
import { describe, expect, test } from 'vitest'
import { type Case, dryRun } from '../../functions/check/dry-run.ts'
import { readConfig } from '../../functions/config/config.ts'
import { notifiers } from '../../functions/notify/registry.ts'
import { baseConfig, createWorld, event, FakeBeacon, startAt } from '../support/world.ts'

const approve = { name: 'mine', match: { tag: 'role=web' }, decide: 'approve' }
const routes = [
  { match: { tag: 'role=web' }, channels: ['team'], continue: false },
  { match: {}, channels: ['chat', 'pager'], remindBeforeSeconds: [1_800, 300] },
  { match: {}, moments: ['reminder'], remindBeforeSeconds: 1_800, channels: ['hook'] },
]

function run(config: object, changes: Partial<Case> = {}) {
  const read = readConfig(JSON.stringify({ ...baseConfig, ...config }), {})
  const one: Case = {
    fleet: 'prod',
    event: event(),
    vms: [],
    noticeSeconds: 900,
    at: startAt,
    ...changes,
  }
  return dryRun({ config: read, sending: { notifiers } }, one)
}

const web = { vm: 'web_0', resourceGroup: '', scaleSet: '', tags: { role: 'web' } }

describe('who decides', () => {
  test('the rules before it say why they do not', () => {
    const policy = [{ match: { source: 'User' }, decide: 'notify' }, approve]
    expect(run({ policy }, { vms: [web] })).toMatchObject({
      decide: 'approve',
      rules: [
        { rule: 'policy[0]', whyNot: 'source is "Platform", not "User"' },
        { rule: 'policy[1] "mine"', whyNot: undefined },
      ],
    })
  })

  test('where no rule matches, people are asked', () => {
    const { decide, rules } = run({ policy: [approve] })
    expect([decide, rules.length]).toEqual(['ask', 1])
    expect(rules[0]?.whyNot).toContain('tag: no affected VM has "role=web" (some are unknown')
  })
})

test('a rule that counts at night: why it does not now, and when it begins', () => {
  const night = { days: 'Sat', from: '22:00', to: '05:00' }
  const policy = [{ ...approve, match: { time: night } }]
  const routes = [
    { match: {}, channels: ['chat'] },
    { match: { time: night }, channels: ['team'] },
  ]
  const atNoon = run({ policy, routes })
  expect(atNoon).toMatchObject({
    decide: 'ask',
    rules: [{ rule: 'policy[0] "mine"', whyNot: 'its time is Sat 22:00 to 05:00 (UTC)' }],
    routes: [{}, { whyNot: 'its time is Sat 22:00 to 05:00 (UTC)' }],
    change: {
      at: startAt + 10 * 3_600_000,
      which: ['policy[0] "mine" begins', 'routes[1] begins'],
      decide: 'approve',
      rule: 'mine',
    },
  })
  expect(atNoon.notified[0]!.channels).toEqual(['chat'])
  const atNight = run({ policy, routes }, { at: startAt + 11 * 3_600_000 })
  expect(atNight.decide).toBe('approve')
  expect(atNight.notified[0]!.channels).toEqual(['chat', 'team'])
  expect(run({ policy: [], routes: [routes[0]!] })).not.toHaveProperty('change')
})

describe('who may decide', () => {
  const slackApp = { signingSecret: '0'.repeat(32), team: 'T0TEAM' }
  const [ann, bob] = ['slack:T0TEAM/U0ANN', 'slack:T0TEAM/U0BOB']
  const all = { match: {}, channels: ['chat', 'team'] }
  const web = { match: { tag: 'role=web' }, channels: ['chat'], approvers: [ann] }
  const other = { match: { tag: 'role=db' }, channels: ['chat'], approvers: [bob] }
  const known = { vm: 'web_0', resourceGroup: '', scaleSet: '', tags: { role: 'web' } }

  test.each<[string, object[], Partial<Case>, 'anybody' | string[] | undefined, string[]]>([
    ['everyone with the link', [all], {}, 'anybody', []],
    ['who is listed', [all, web], { vms: [known] }, [ann], []],
    ['nobody, while the VM is not known', [all, web, other], {}, [], []],
    ['by buttons, too', [{ ...all, approveIn: 'slack' }], {}, 'anybody', ['chat']],
    ['nothing to decide', [all, web], { event: event({ status: 'Started' }) }, undefined, []],
  ])('%s', (_, some, changes, deciders, buttons) => {
    const outcome = run({ slackApp, routes: some }, changes)
    expect([outcome.deciders, outcome.buttons]).toEqual([deciders, buttons])
  })

  test('nobody is named where a rule decides', () => {
    const policy = [{ match: {}, decide: 'approve' }]
    expect(run({ policy, routes: [all] }).deciders).toBeUndefined()
  })
})

describe('notified channels', () => {
  const hears = (config: object, changes: Partial<Case> = {}) =>
    Object.fromEntries(
      run(config, changes).notified.map(({ moment, channels }) => [moment, channels.join(' ')]),
    )

  test('a question: each moment that may come, reminders with their distance', () => {
    expect(hears({ routes })).toEqual({
      scheduled: 'chat pager',
      changed: 'chat pager',
      'reminder 1800 s (at once)': 'hook',
      'reminder 300 s': 'chat pager',
      approved: 'chat pager',
      declined: 'chat pager',
      stuck: 'chat pager',
      started: 'chat pager',
      completed: 'chat pager',
      cancelled: 'chat pager',
      lost: 'chat pager',
    })
  })

  test('of days of notice a reminder comes in time', () => {
    const moments = Object.keys(hears({ routes }, { noticeSeconds: 86_400 }))
    expect(moments).toContain('reminder 1800 s')
  })

  test('a route that stops hides the others', () => {
    expect(hears({ routes }, { vms: [web] }).scheduled).toBe('team')
  })

  test('if a rule approves, nobody is asked', () => {
    const moments = Object.keys(hears({ routes, policy: [approve] }, { vms: [web] }))
    const expected = ['scheduled', 'approved', 'changed', 'stuck', 'started', 'completed']
    expect(moments).toEqual([...expected, 'cancelled', 'lost'])
  })

  test.each([{ whenReady: true }, { maxConcurrent: 1 }])('if a rule waits: %j', (waits) => {
    const policy = [{ ...approve, ...waits }]
    const outcome = run({ routes, policy }, { vms: [web] })
    expect(outcome).toMatchObject({ decide: 'approve', waits, deciders: 'anybody' })
    expect(outcome.notified.map(({ moment }) => moment)).toEqual([
      ...['scheduled', 'approved', 'changed', 'not_ready'],
      ...['reminder 1800 s (at once)', 'reminder 300 s', 'declined', 'stuck', 'started'],
      ...['completed', 'cancelled', 'lost'],
    ])
  })

  test('if a rule only notifies, nobody is reminded and people may decide', () => {
    const policy = [{ match: {}, decide: 'notify' }]
    const moments = Object.keys(hears({ routes, policy }))
    const expected = ['scheduled', 'changed', 'approved', 'declined', 'stuck', 'started']
    expect(moments).toEqual([...expected, 'completed', 'cancelled', 'lost'])
  })

  test('a rule that ignores an event notifies nobody', () => {
    const policy = [{ match: {}, decide: 'ignore' }]
    expect(new Set(Object.values(hears({ routes, policy })))).toEqual(new Set(['']))
  })

  test('without notice it begins with its start', () => {
    const began = event({ status: 'Started' })
    expect(Object.keys(hears({ routes }, { event: began }))).toEqual([
      'started',
      'completed',
      'lost',
    ])
  })

  const waiting = (config: object, changes: Partial<Case> = {}) =>
    Object.fromEntries(
      run(config, changes).notified.flatMap(({ moment, onlyAfter }) =>
        onlyAfter === undefined ? [] : [[moment, onlyAfter.join(' ')]],
      ),
    )

  test('an incident that only a reminder opens ends only after it', () => {
    const escalation = {
      ...{ match: {}, channels: ['pager'] },
      ...{ moments: ['reminder'], remindBeforeSeconds: 300 },
    }
    const some = [{ match: {}, channels: ['chat'] }, escalation]
    const ends = ['approved', 'declined', 'completed', 'cancelled', 'lost']
    expect(waiting({ routes: some })).toEqual(Object.fromEntries(ends.map((end) => [end, 'pager'])))
    expect(waiting({ routes })).toEqual({})
  })

  test('an incident that only the start opens is no matter of what never starts', () => {
    const some = [{ match: {}, channels: ['pager'], moments: ['started'] }]
    expect(hears({ routes: some })).toMatchObject({ completed: 'pager', cancelled: '' })
    expect(waiting({ routes: some })).toEqual({ lost: 'pager' })
    expect(waiting({ routes: some }, { event: event({ status: 'Started' }) })).toEqual({})
  })

  test('an incident is acknowledged and closed, whatever the routes say', () => {
    const opening = [{ match: {}, moments: ['scheduled'], channels: ['pager', 'chat'] }]
    expect(hears({ routes: opening })).toMatchObject({
      scheduled: 'pager chat',
      approved: 'pager',
      started: '',
      completed: 'pager',
      lost: 'pager',
    })
  })
})

describe('before the VM itself has reported the event', () => {
  test('its tags are unknown, and other channels are notified', () => {
    expect(run({ routes }, { vms: [web] }).before).toEqual({
      decide: 'ask',
      by: undefined,
      notified: { moment: 'scheduled', channels: ['chat', 'pager'] },
    })
  })

  test('another rule decides', () => {
    const mild = { match: { tag: 'role=web' }, decide: 'notify' }
    const policy = [mild, { name: 'rest', match: {}, decide: 'ignore' }]
    expect(run({ policy, routes: routes.slice(1) }, { vms: [web] }).before).toMatchObject({
      decide: 'ignore',
      by: { rule: 'policy[1] "rest"' },
    })
  })

  test('a rule that approves waits for an earlier one', () => {
    const policy = [
      { match: { tag: 'role=db' }, decide: 'ask' },
      { name: 'rest', match: {}, decide: 'approve' },
    ]
    const event = { policy, routes: routes.slice(1) }
    expect(run(event, { vms: [web] })).toMatchObject({
      decide: 'approve',
      before: { decide: 'ask', by: undefined },
    })
    const unknown = run(event, { vms: [] })
    expect(unknown.decide).toBe('ask')
    expect(unknown.rules.at(-1)).toEqual({
      rule: 'policy[1] "rest"',
      whyNot: 'policy[0] may match once more is known',
    })
  })

  test('nothing is said where it makes no difference', () => {
    expect(run({ routes: routes.slice(1) }, { vms: [web] }).before).toBeUndefined()
    expect(run({ routes }).before).toBeUndefined()
  })
})

test('a relay that meets the event tells the same', async () => {
  const told = (one: { kind: string; channel: string; moment: string }[], moment: string) =>
    one.filter((row) => row.moment === moment).map(({ channel }) => channel)
  const world = await createWorld({ config: { routes } })
  const beacon = new FakeBeacon(world, 'web_0', { vm: { tags: { role: 'db' } } })
  await beacon.sees([event()])
  await beacon.sees([])
  await world.pass(10_001)
  const { body } = await world.getEvent(event().eventId)
  world.store.close()
  const expected = run({ routes }, { vms: [{ ...web, tags: { role: 'db' } }] }).notified
  for (const moment of ['scheduled', 'cancelled']) {
    const row = expected.find((one) => one.moment === moment)
    expect(told(body.deliveries, moment)).toEqual(row?.channels)
  }
})
