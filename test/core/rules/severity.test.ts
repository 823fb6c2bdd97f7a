// The table of severities, and the severity of each step.
import { describe, expect, test } from 'vitest'
import { type Moment, moments } from '../../../functions/core/event/moment.ts'
import { toView } from '../../../functions/core/event/view.ts'
import {
  chooseSeverity,
  type Severity,
  severities,
} from '../../../functions/core/rules/severity.ts'
import { type Fields, facts, record } from '../../support/records.ts'

const loud: Severity[] = ['critical', 'error']

function of(changes: Fields, moment: Moment = 'scheduled'): Severity {
  return chooseSeverity({ moment, event: toView(record(changes)) })
}

const typed = (eventType: string, durationSeconds?: number) => {
  const { durationSeconds: _d, ...rest } = facts({ eventType })
  return { facts: durationSeconds === undefined ? rest : { ...rest, durationSeconds } }
}

describe('by type and policy', () => {
  test.each([
    ['Freeze', 0, 'info'],
    ['Freeze', 8, 'info'],
    ['Freeze', 9, 'warning'],
    ['Freeze', -1, 'warning'],
    ['Freeze', undefined, 'warning'],
    ['Reboot', 5, 'error'],
    ['Redeploy', -1, 'error'],
    ['Terminate', -1, 'error'],
    ['Preempt', -1, 'error'],
    ['Teleport', -1, 'error'],
    ['constructor', -1, 'error'],
    ['short Freeze', -1, 'info'],
  ] as const)('%s of %j s that people are asked about is %s', (type, seconds, severity) => {
    expect(of(typed(type, seconds))).toBe(severity)
  })

  test('what somebody has decided is never urgent', () => {
    const decided = { decision: 'declined', how: 'link', who: 'chat', at: 0 } as const
    for (const type of [...Object.keys(severities), 'Teleport']) {
      expect(loud).not.toContain(of({ ...typed(type), decided }))
    }
  })

  test.each(['approve', 'notify', 'ignore'] as const)('%s is never urgent', (decide) => {
    for (const type of [...Object.keys(severities), 'Teleport']) {
      expect(loud).not.toContain(of({ ...typed(type), policy: { decide, rule: 'r' } }))
    }
  })

  test('a restart without notice is critical, whatever the policy; a pause is not', () => {
    const unannounced = {
      started: { at: 0, kind: 'none' },
      policy: { decide: 'notify', rule: 'r' },
    } as const
    expect(of({ ...typed('Reboot'), ...unannounced }, 'started')).toBe('critical')
    expect(of({ ...typed('Freeze', 5), ...unannounced }, 'started')).toBe('info')
  })

  test("a user's own restart that starts at once is not urgent", () => {
    const started = {
      started: { at: 0, kind: 'none' },
      policy: { decide: 'approve', rule: 'r' },
    } as const
    const { facts } = typed('Reboot')
    expect(of({ ...started, facts: { ...facts, source: 'User' } }, 'started')).toBe('warning')
  })
})

test.each(moments)(
  '"%s" of a short Freeze is critical or an error only where it is stuck',
  (moment) => {
    const severity = of(typed('Freeze', 5), moment)
    expect(loud.includes(severity)).toBe(moment === 'stuck')
  },
)

test.each<[Moment, Severity]>([
  ['completed', 'info'],
  ['cancelled', 'info'],
  ['approved', 'info'],
  ['declined', 'info'],
  ['lost', 'warning'],
  ['stuck', 'error'],
  ['reminder', 'error'],
])('"%s" of a Reboot is %s', (moment, severity) => {
  expect(of(typed('Reboot'), moment)).toBe(severity)
})
