// What a button asks before it counts, and what the person who pressed one reads in private.
import { describe, expect, test } from 'vitest'
import { viewOf } from '../../../functions/core/delivery/delivery.ts'
import type { EventRecord } from '../../../functions/core/event/event.ts'
import type { PressOutcome } from '../../../functions/notify/desk.ts'
import { questionOf, refusalOf } from '../../../functions/notify/slack/press.ts'
import { at, type Fields, facts, record } from '../../support/records.ts'

const minute = 60_000

describe('the question before Approve', () => {
  const ask = (changes: Fields) => questionOf(viewOf(record(changes)))

  test('names what starts and every VM, as long as there is room', () => {
    expect(ask({})).toEqual({
      title: 'Approve Reboot of web_0?',
      text: 'Azure is told to start it now: Reboot of web_0. The VM restarts. Data that is only in memory is lost. An approval is final.',
    })
    const { text } = ask({ facts: facts({ resources: ['web_0', 'web_1'], eventType: 'Freeze' }) })
    expect(text).toContain('Freeze of 2 VMs: web_0, web_1. Each VM pauses')
  })

  test('of a drill says that no VM is touched', () => {
    expect(ask({ drill: true }).text).toContain('The drill starts; no VM is touched: Reboot')
  })

  test.each(['x', '🚢', '\u202e', '<'])(
    'keeps its limits, whatever the names are: %j',
    (letter) => {
      const names = Array.from({ length: 100 }, (_, i) => letter.repeat(200) + i)
      const question = ask({ facts: facts({ resources: names, eventType: letter.repeat(200) }) })
      expect(question.title.length).toBeLessThanOrEqual(100)
      expect(question.text.length).toBeLessThanOrEqual(300)
      expect(question.title + question.text).toSatisfy((text: string) => text.isWellFormed())
      expect(question.title + question.text).not.toContain('\u202e')
      expect(question.text).toContain('An approval is final.')
    },
  )
})

describe('what a press that decides nothing is told', () => {
  const by = { how: 'slack' as const, who: 'T0HOME/U0ADA', at: at - 2 * minute }
  const approved = record({ verdict: { decision: 'approved', ...by } })
  const declined = record({ verdict: { decision: 'declined', ...by } })
  const begun = record({
    ...{ verdict: approved.verdict!, phase: 'started', startedAt: at - minute },
  })
  const over = record({ ended: { at: at - minute, outcome: 'cancelled' } })
  const guessed = record({ ended: { ...over.ended!, inferred: 'gone_before_its_time' } })
  const ada = 'by Slack user U0ADA (team T0HOME, signed by Slack), at 11:58 UTC.'
  const rows: [PressOutcome, EventRecord, string][] = [
    [
      'already_approved',
      approved,
      `it had been decided before, and nothing changed. Approved ${ada}`,
    ],
    [
      'already_declined',
      declined,
      `it had been decided before, and nothing changed. Not now, chosen ${ada} It can still be approved.`,
    ],
    ['started', begun, `too late, it started at 11:59 UTC. Approved ${ada}`],
    ['started', record({ phase: 'started' }), 'too late, it started.'],
    ['ended', over, 'too late, it was cancelled at 11:59 UTC.'],
    ['ended', guessed, 'too late, it was cancelled, it seems, at 11:59 UTC.'],
    [
      'not_listed',
      record(),
      'nothing was decided, as you are not among those who may: the approvers of its routes. Your id, for "approvers": "slack:T0HOME/U0BOB".',
    ],
    [
      'outsider',
      record(),
      'nothing was decided, as you are not from this workspace. Your id, for "approvers": "slack:T0HOME/U0BOB".',
    ],
    ['not_here', record(), 'nothing was decided, as it is not decided in this channel any more. '],
    ['moved_on', record(), 'nothing was decided, as the event is no longer what this message says'],
    ['busy', record(), 'nothing was decided, as too many did so at once. Press again.'],
  ]

  test.each(rows)('%s', (outcome, about, said) => {
    const text = refusalOf(outcome, about, { how: 'slack', who: 'T0HOME/U0BOB' }, at)
    expect(text).toContain(`Reboot of web_0: ${said}`)
  })
})
