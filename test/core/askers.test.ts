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
    ['in_slack', 'It is decided in Slack, by those listed.'],
    ['signed_in', 'It is decided on its page, by those listed, signed in.'],
    ['in_slack_or_signed_in', 'in Slack, or signed in on its page.'],
    ['nobody', 'who has the admin key may.'],
  ] as const)('%s: in words, and the button shows', (askers, words) => {
    const message = say(askers)
    const text = message.lines.join(' ')
    expect(text).toContain(words)
    expect(text).toContain('If nobody acts, Azure starts it')
    expect(text).not.toContain('Approve to')
    expect([buttonOf(message), asksByLink(message)]).toEqual(['Show event', false])
    // somebody is to decide all the same
    expect(wantsDecision(message)).toBe(true)
    expect(listButtonOf([message])).toBe('Show all')
    expect(say(askers, { verdict: declined }, 'declined').lines.join(' ')).toContain(words)
  })

  test('whoever reads it: as ever', () => {
    const message = say('readers')
    expect(message.lines.join(' ')).toContain('Approve to start it now.')
    expect([buttonOf(message), asksByLink(message)]).toEqual(['Decide', true])
    expect(listButtonOf([message, say('in_slack')])).toBe('Decide all here')
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
