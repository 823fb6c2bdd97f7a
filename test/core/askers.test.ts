// Whoever reads a message and may not decide by its link is told who does, and gets no button that asks.
import { describe, expect, test } from 'vitest'
import { viewOf } from '../../functions/core/delivery.ts'
import {
  type Askers,
  askersOf,
  asksByLink,
  buttonOf,
  compose,
  listButtonOf,
  wantsDecision,
} from '../../functions/core/message.ts'
import { at, record } from '../support/records.ts'

const declined = { decision: 'declined', how: 'link', who: 'chat', at } as const
const say = (askers: Askers, changes = {}, moment: 'scheduled' | 'declined' = 'scheduled') =>
  compose({ moment, at, event: viewOf(record(changes)) }, at, [], askers)

test.each([
  [['slack:T0HOME/U0ADA'], 'in_slack'],
  [['entra:t/o', 'entra:t/p'], 'signed_in'],
  [['slack:T0HOME/U0ADA', 'entra:t/o'], 'in_slack_or_signed_in'],
  [[], 'nobody'],
] as const)('of %j the way is "%s"', (names, askers) => {
  expect(askersOf([...names])).toBe(askers)
})

describe('who is asked', () => {
  test.each([
    ['in_slack', 'Only listed approvers can decide, by the buttons in Slack.'],
    ['signed_in', 'Only listed approvers can decide: open the page and sign in.'],
    ['in_slack_or_signed_in', 'by the buttons in Slack, or signed in on the page.'],
    ['nobody', 'No approver covers all of its VMs; only the admin key can decide.'],
  ] as const)('%s: in words, and the button shows', (askers, words) => {
    const message = say(askers)
    const text = message.lines.join(' ')
    expect(text).toContain(words)
    expect(text).toContain('If nobody acts, Azure starts it')
    expect(text).not.toContain('to approve')
    expect([buttonOf(message), asksByLink(message)]).toEqual(['Show event', false])
    // somebody is to decide all the same
    expect(wantsDecision(message)).toBe(true)
    expect(listButtonOf([message])).toBe('Show all')
    expect(say(askers, { verdict: declined }, 'declined').lines.join(' ')).toContain(words)
  })

  test('whoever reads it: the button opens a page, and says so', () => {
    const message = say('readers')
    expect(message.lines.join(' ')).toContain(
      'Open its page to approve, which starts it now, or to say',
    )
    expect([buttonOf(message), asksByLink(message)]).toEqual(['Open to decide', true])
    expect(listButtonOf([message, say('in_slack')])).toBe('Open all to decide')
  })

  test('whoever has the buttons before them: no page has to be opened', () => {
    const message = say('pressers')
    expect(message.lines.join(' ')).toContain('Approve to start it now. If nobody acts, Azure')
    expect(message.lookOnly).toBeUndefined()
    const again = say('pressers', { verdict: declined })
    expect(again.lines.join(' ')).toContain('Approve after all to start it now.')
  })
})

describe('somebody of Slack who decided', () => {
  test.each([
    ['slack', 'T0HOME/U0ADA', { words: 'Slack user U0ADA', id: 'U0ADA' }],
    ['slack', 'T0HOME/!channel', undefined],
    ['slack', 'T0HOME/', undefined],
    ['link', 'T0HOME/U0ADA', undefined],
  ] as const)('%s %s', (how, who, person) => {
    const { slackPerson } = say('readers', { verdict: { decision: 'declined', how, who, at } })
    expect(slackPerson).toEqual(person)
  })
})
