// Whoever reads a message and may not decide by its link is told who does, and gets no button that asks.
import { describe, expect, test } from 'vitest'
import { viewOf } from '../../../functions/core/delivery/delivery.ts'
import {
  type Askers,
  askersOf,
  asksByLink,
  buttonOf,
  compose,
  listButtonOf,
  wantsDecision,
} from '../../../functions/core/message/message.ts'
import { at, record } from '../../support/records.ts'

const declined = { decision: 'declined', how: 'link', who: 'chat', at } as const
const say = (askers: Askers, changes = {}, moment: 'scheduled' | 'declined' = 'scheduled') =>
  compose({ moment, at, event: viewOf(record(changes)) }, at, [], askers)

const services = { slack: 'Slack' }
const inSlack = askersOf(['slack:T0HOME/U0ADA'], services)

test('a service without buttons is no way', () => {
  expect(askersOf(['slack:T0HOME/U0ADA'], {})).toEqual({ services: [], signedIn: false })
})

describe('who is asked', () => {
  test.each([
    [['slack:T0HOME/U0ADA'], 'Only listed approvers can decide, by the buttons in Slack.'],
    [['entra:t/o', 'entra:t/p'], 'Only listed approvers can decide: open the page and sign in.'],
    [['slack:T0HOME/U0ADA', 'entra:t/o'], 'by the buttons in Slack, or signed in on the page.'],
    [[], 'No approver covers all of its VMs; only the admin key can decide.'],
  ])('%j: in words, and the button shows', (names, words) => {
    const askers = askersOf(names, services)
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
    expect(listButtonOf([message, say(inSlack)])).toBe('Open all to decide')
  })

  test('whoever has the buttons before them: no page has to be opened', () => {
    const message = say('pressers')
    expect(message.lines.join(' ')).toContain('Approve to start it now. If nobody acts, Azure')
    expect(message.lookOnly).toBeUndefined()
    const again = say('pressers', { verdict: declined })
    expect(again.lines.join(' ')).toContain('Approve after all to start it now.')
  })
})
