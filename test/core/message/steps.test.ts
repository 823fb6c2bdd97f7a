// The messages after the first: who decided, what happens next, and when. The usual ones are in
// test/notify/golden/messages.txt; here are the variants.
import { describe, expect, test } from 'vitest'
import type { Verdict } from '../../../functions/core/event/event.ts'
import type { Facts } from '../../../functions/core/event/facts.ts'
import type { Moment } from '../../../functions/core/event/moment.ts'
import { viewOf } from '../../../functions/core/event/view.ts'
import { compose } from '../../../functions/core/message/message.ts'
import { describeInference } from '../../../functions/core/message/phrases.ts'
import type { Message } from '../../../functions/core/message/shape.ts'
import { aDrill, at, type Fields, facts, record } from '../../support/records.ts'

const minute = 60_000
const dueAt = at + 15 * minute
const past = dueAt + minute
const approved: Verdict = { decision: 'approved', how: 'link', who: 'ops', at }
const declined: Verdict = { ...approved, decision: 'declined' }

function say(moment: Moment, changes: Fields, now = at): Message {
  return compose({ moment, at: now, event: viewOf(record(changes)) }, now)
}

const textOf = (...told: Parameters<typeof say>) => say(...told).lines.join(' ')

test('once NotBefore has passed, a decision is followed by what Azure may do', () => {
  expect(textOf('declined', { verdict: declined }, past)).toMatch(
    /"Not now" does not stop it: Azure may restart web_0 at any moment, or already has\.$/,
  )
  expect(textOf('approved', { verdict: approved }, past)).not.toContain('If that fails')
})

describe('stuck', () => {
  const accepted = { vm: 'web_9', at }
  const rows: [string, Fields, number, RegExp][] = [
    [
      'no VM could tell Azure in time',
      {},
      past,
      /^Approved \d.* ago, but no beacon has sent the approval to Azure yet\..* Check that the beacon on web_0 runs\. Any beacon that sees the event can send the approval\.$/,
    ],
    [
      'Azure did not answer',
      { azure: { failure: { vm: 'web_7', outcome: 'unreachable', at } } },
      at,
      /the beacon on web_7 asked Azure, but got no answer\..* Check that web_7 reaches Azure's metadata service/,
    ],
    [
      'Azure was told, and refuses since',
      { azure: { accepted, failure: { vm: 'web_7', outcome: 'rejected', status: 400, at } } },
      at + 10 * minute,
      /^web_9 told Azure 10 min ago to restart web_0, but Azure has not done so\. Since then, the beacon on web_7 asked Azure, and Azure refused \(HTTP 400\)\./,
    ],
    [
      'Azure was told, of many',
      { azure: { accepted }, facts: facts({ resources: ['web_0', 'web_1'] }) },
      past,
      /Check web_0 and web_1 in the Azure portal\.$/,
    ],
  ]
  test.each(rows)('%s', (_, course, now, words) => {
    expect(textOf('stuck', { verdict: approved, ...course }, now)).toMatch(words)
  })

  test('a sentence names a few of many VMs', () => {
    const many = (count: number) => ({
      verdict: approved,
      facts: facts({ resources: [...Array(count).keys()].map((i) => `web_${i}`) }),
    })
    expect(textOf('stuck', many(3))).toContain(
      'Check that the beacons on web_0, web_1 and web_2 run. Any',
    )
    expect(textOf('stuck', many(60))).toContain(
      'on web_0, web_1, web_2, web_3, web_4 and 55 more run.',
    )
    expect(textOf('stuck', many(6))).toContain(
      'on web_0, web_1, web_2, web_3, web_4 and web_5 run.',
    )
  })

  test('beacons are blamed only if none answered', () => {
    for (const outcome of [
      'rejected',
      'unreachable',
      'not_scheduled',
      'not_as_approved',
    ] as const) {
      const course = { verdict: approved, azure: { failure: { vm: 'web_7', outcome, at } } }
      expect(textOf('stuck', course)).not.toMatch(/no beacon has answered|Check the beacon/)
    }
  })
})

test('after "not now", the text names no rule that approves', () => {
  const policy = { decide: 'approve', rule: 'own' } as const
  expect(textOf('scheduled', { policy, verdict: declined })).toContain(
    '"Not now" does not stop it: Azure will restart web_0 at 12:15 UTC or soon after.',
  )
})

test('an event that is back says so, and not since when it runs', () => {
  const begun = { phase: 'started', started: { at: at, kind: 'already_running' } } as const
  const { title, lines } = say('started', { ...begun, epoch: 2 })
  expect(title).toBe('Back, started at 12:00 UTC: Reboot of web_0')
  expect(lines.join(' ')).not.toMatch(/first saw|no notice/)
})

describe('started without notice', () => {
  test.each([
    ['Reboot', 'Azure gave no notice, so hardware may have failed. Check web_0 once it is back.'],
    ['Redeploy', 'Azure gave no notice, so hardware may have failed. Check web_0 once it is back.'],
    ['Terminate', 'Azure gave no notice. It will not bring web_0 back.'],
    ['Preempt', 'Azure gave no notice. It will not bring web_0 back.'],
    ['Freeze', 'Azure gave no notice. Check web_0.'],
  ])('%s', (eventType, line) => {
    const begun = { phase: 'started', started: { at: at, kind: 'none' } } as const
    expect(say('started', { ...begun, facts: facts({ eventType }) }).lines).toContain(line)
    const pair = facts({ eventType, resources: ['a', 'b'] })
    expect(textOf('started', { ...begun, facts: pair })).toMatch(
      /Check a and b once they|bring a and b back\.|Check a and b\./,
    )
  })

  test("a user's own event needs none", () => {
    const begun = { phase: 'started', started: { at: at, kind: 'none' } } as const
    expect(say('started', { ...begun, facts: facts({ source: 'User' }) }).lines).toContain(
      'A user of your subscription asked for it, and it started at once.',
    )
  })

  test('a late report blames neither the VM nor the relay', () => {
    const begun = { phase: 'started', started: { at: at, kind: 'reported_late' } } as const
    expect(say('started', begun).lines).toContain(
      'It had been scheduled before, but the report reached Foghorn late.',
    )
  })
})

describe('Azure added VMs after it was told', () => {
  const agreed = { eventType: 'Reboot', resources: ['web_0'] }
  const grown = {
    verdict: { ...approved, agreed },
    azure: { accepted: { vm: 'web_9', at } },
    facts: facts({ resources: ['Web_0', 'db_0'] }),
    changedAt: { resources: at },
    changedFrom: { resources: ['Web_0'] },
  }
  const told = 'web_9 told Azure 2 min ago to restart Web_0.'
  const nobody = 'Azure added db_0 afterwards, but nobody approved that VM.'

  test.each(['changed', 'scheduled'] as const)(
    '%s: names the VMs that nobody approved',
    (moment) => {
      const { lines, facts } = say(moment, grown, at + 2 * minute)
      expect(lines.join(' ')).toContain(`${told} ${nobody} It may start at any moment.`)
      expect(lines.join(' ')).not.toMatch(/Azure added db_0\.|Approved/)
      const decision = facts.find(({ name }) => name === 'Decision')
      expect(decision?.value).toBe('approved through the link sent to "ops", for Web_0 only')
    },
  )

  test('started: names them, whether or not Azure was told', () => {
    const begun = { phase: 'started', started: { at: at } } as const
    expect(say('started', { ...grown, ...begun }).lines).toContain(nobody)
    const untold = { ...grown, azure: {} }
    expect(say('started', { ...untold, ...begun }).lines).toContain(nobody)
    const within = { ...grown, facts: facts() }
    expect(textOf('started', { ...within, ...begun })).not.toContain('nobody approved')
  })

  test('an approval of an event that named no VM covers every VM', () => {
    const verdict = { ...approved, agreed: { ...agreed, resources: [] } }
    expect(textOf('scheduled', { ...grown, verdict })).not.toContain('nobody approved')
  })
})

test('an event that started after its approval lapsed', () => {
  const agreed = { eventType: 'Reboot', resources: ['a'] }
  const overruled = [{ ...approved, lapsedAt: at, agreed }]
  const begun = { phase: 'started' as const, started: { at: dueAt }, overruled }
  expect(say('started', begun, dueAt).lines).toContain(
    'The approval no longer applied, so Azure started it when it was due.',
  )
})

describe('started: by whom', () => {
  const rows: [string, Fields, string | undefined][] = [
    ['nobody', {}, 'Nobody decided, so Azure started it when it was due.'],
    [
      'not now',
      { verdict: declined },
      'A person chose "not now". Azure started it when it was due.',
    ],
    [
      'nobody was asked',
      { policy: { decide: 'notify', rule: 'own' } },
      'Azure started it when it was due.',
    ],
    [
      'before its time',
      { started: { at: at + minute } },
      'It started before NotBefore, and Foghorn did not start it. Somebody may have approved it outside Foghorn.',
    ],
    ['approved', { verdict: approved }, undefined],
    ['without notice', { started: { at, kind: 'none' } }, undefined],
    ['running', { started: { at, kind: 'already_running' } }, undefined],
    ['a drill', { drill: aDrill }, 'Nobody decided, so the drill started when it was due.'],
  ]
  test('does not say that it was due if Azure named no time', () => {
    const { notBeforeAt: _, ...timeless } = facts()
    const begun = { phase: 'started', started: { at: at }, facts: timeless } as const
    expect(say('started', begun).lines).toContain('Nobody decided, so Azure started it.')
  })

  test.each(rows)('%s', (_, course, line) => {
    const begun = { phase: 'started', started: { at: dueAt }, ...course } as const
    const { lines } = say('started', begun, dueAt)
    const found = lines.filter((one) => /started (it|when|before)/.test(one))
    expect(found).toEqual(line === undefined ? [] : [line])
  })

  test('the title of one that was already running says no time', () => {
    const begun = { phase: 'started', started: { at: at, kind: 'already_running' } } as const
    const { title, lines } = say('started', begun)
    expect(title).toBe('Already running: Reboot of web_0')
    expect(lines.join(' ')).toContain('when Foghorn first saw it, at 12:00 UTC.')
  })
})

describe('the end', () => {
  test('gone before it was due: what may still happen', () => {
    const ended = { at, outcome: 'cancelled', inferred: 'gone_before_its_time' } as const
    const lastLine = (changes: Partial<Facts>) =>
      say('cancelled', { ended, facts: facts(changes) }).lines.at(-1)
    expect(lastLine({ eventType: 'Redeploy', resources: ['a', 'b'] })).toBe(
      'If somebody approved it outside Foghorn, a and b may still move to other hardware.',
    )
    expect(lastLine({ eventType: 'Teleport' })).toBe(
      'If somebody approved it outside Foghorn, it may still happen.',
    )
  })

  test('if the VM is silent, does not claim that Azure no longer lists the event', () => {
    const over = (inferred: 'vm_gone' | 'start_not_seen_approved') =>
      textOf('completed', { ended: { at, outcome: 'completed', inferred } })
    expect(over('vm_gone')).toBe(
      `Foghorn concludes that the event completed: ${describeInference('vm_gone')}.`,
    )
    expect(over('start_not_seen_approved')).toMatch(/^Azure no longer lists it\. Foghorn concludes/)
  })

  test('lost: who to ask if a user requested it', () => {
    const ended = { at, outcome: 'lost', inferred: 'nobody_left_to_see' } as const
    expect(textOf('lost', { ended, facts: facts({ source: 'User' }) })).toContain(
      'Ask the user who requested it, and run "foghorn-beacon check" on the VMs.',
    )
  })
})

test('a late message that asks for nothing says so in its last line', () => {
  const event = viewOf(record({ verdict: approved }))
  const { lines } = compose({ moment: 'approved', at, event }, at + 12 * minute)
  expect(lines.at(-1)).toBe('This message is 12 min late: it was due at 12:00 UTC.')
})
