// The question before a press counts, and the private reply to the person who pressed.
import { describe, expect, test } from 'vitest'
import type { EventRecord } from '../../functions/core/event/event.ts'
import { toView } from '../../functions/core/event/view.ts'
import { describeImpact } from '../../functions/core/message/phrases.ts'
import { composeQuestion, composeRefusal } from '../../functions/notify/press-texts.ts'
import type { PressOutcome } from '../../functions/notify/presses.ts'
import { aDrill, at, type Fields, facts, record } from '../support/records.ts'

const minute = 60_000

describe('the question before Approve', () => {
  const ask = (changes: Fields) => composeQuestion(toView(record(changes)))

  test('names what starts and every VM for which there is room', () => {
    expect(ask({})).toEqual({
      approve: 'Restart now',
      leave: 'Let Azure restart it',
      title: 'Approve Reboot of web_0?',
      text: `Azure starts it now: Reboot of web_0. ${describeImpact(toView(record()))} You cannot undo this.`,
    })
    const { text } = ask({ facts: facts({ resources: ['web_0', 'web_1'], eventType: 'Freeze' }) })
    expect(text).toContain('Freeze of 2 VMs: web_0, web_1. ')
  })

  test('says how many VMs are not ready', () => {
    const readiness = { counts: { ready: 1, failed: 1 }, unready: [] }
    const two = facts({ resources: ['web_0', 'web_1'] })
    expect(ask({ facts: two, wait: { readiness } }).text).toContain(
      'web_1. 1 of them is not ready. Each VM',
    )
    expect(ask({ wait: { readiness: { ...readiness, counts: { failed: 1 } } } }).text).toContain(
      'not ready',
    )
    expect(ask({ wait: { readiness: { ...readiness, counts: { ready: 1 } } } }).text).not.toContain(
      'ready',
    )
  })

  test('of a drill says that no VM is touched', () => {
    expect(ask({ drill: aDrill }).text).toContain('touches no VM: Reboot')
  })

  test.each(['x', '🚢', '\u202e', '<'])(
    'keeps its limits, whatever the names are: %j',
    (letter) => {
      const names = Array.from({ length: 100 }, (_, i) => letter.repeat(200) + i)
      const readiness = { counts: { failed: 100 }, unready: [] }
      const course = { facts: facts({ resources: names, eventType: letter.repeat(200) }) }
      const question = ask({ ...course, wait: { readiness } })
      expect(ask(course).text).toContain('You cannot undo this.')
      expect(question.title.length).toBeLessThanOrEqual(100)
      expect(question.text.length).toBeLessThanOrEqual(300)
      expect(question.title + question.text).toSatisfy((text: string) => text.isWellFormed())
      expect(question.title + question.text).not.toContain('\u202e')
      expect(question.text).toContain('You cannot undo this.')
    },
  )
})

describe('the reply to a press that decides nothing', () => {
  const by = { how: 'slack' as const, who: 'T0HOME/U0ADA', at: at - 2 * minute }
  const approved = record({ decided: { decision: 'approved', ...by } })
  const declined = record({ decided: { decision: 'declined', ...by } })
  const begun = record({
    ...{ decided: approved.decided!, phase: 'started', started: { at: at - minute } },
  })
  const over = record({ ended: { at: at - minute, outcome: 'cancelled' } })
  const guessed = record({ ended: { ...over.ended!, inferred: 'gone_before_its_time' } })
  const ada = 'by Slack user U0ADA (team T0HOME, signed by Slack), at 11:58 UTC.'
  const rows: [PressOutcome, EventRecord, string][] = [
    [
      'already_approved',
      approved,
      `nothing changed, because it was already decided. Approved ${ada}`,
    ],
    [
      'already_declined',
      declined,
      `nothing changed, because it was already decided. Left to Azure ${ada} You can still approve it.`,
    ],
    ['started', begun, `too late: it started at 11:59 UTC. Approved ${ada}`],
    ['started', record({ phase: 'started' }), 'too late: it started.'],
    ['ended', over, 'too late: it was cancelled at 11:59 UTC.'],
    ['ended', guessed, 'too late: it was probably cancelled at 11:59 UTC.'],
    [
      'not_listed',
      record(),
      'nothing was decided, because you are not a listed approver. Your id, for "approvers": "slack:T0HOME/U0BOB".',
    ],
    [
      'outsider',
      record(),
      'nothing was decided, because you are not from this workspace. Your id, for "approvers": "slack:T0HOME/U0BOB".',
    ],
    [
      'not_here',
      record(),
      'nothing was decided, because people in this channel may no longer decide this event. ',
    ],
    [
      'moved_on',
      record(),
      'nothing was decided, because the event changed or was decided after this message. ',
    ],
    ['busy', record(), 'nothing was decided, because there were too many decisions at once. '],
  ]

  test.each(rows)('%s', (outcome, about, said) => {
    const text = composeRefusal(outcome, about, { how: 'slack', who: 'T0HOME/U0BOB' }, at)
    expect(text).toContain(`Reboot of web_0: ${said}`)
  })
})
