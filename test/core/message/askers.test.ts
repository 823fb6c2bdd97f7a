// If readers may not decide by the link, the message says who may, and its button does not ask.
import { describe, expect, test } from 'vitest'
import { viewOf } from '../../../functions/core/event/view.ts'
import {
  asksByLink,
  buttonOf,
  compose,
  listButtonOf,
  wantsDecision,
} from '../../../functions/core/message/message.ts'
import { type Askers, askersOf } from '../../../functions/core/message/phrases.ts'
import { at, record } from '../../support/records.ts'

const declined = { decision: 'declined', how: 'link', who: 'chat', at } as const
const say = (askers: Askers, changes = {}, moment: 'scheduled' | 'declined' = 'scheduled') =>
  compose({ moment, at, event: viewOf(record(changes)) }, at, [], askers)

const services = { slack: 'Slack' }
const inSlack = askersOf(['slack:T0HOME/U0ADA'], services)

test('a service without buttons offers no way to decide', () => {
  expect(askersOf(['slack:T0HOME/U0ADA'], {})).toEqual({ services: [], signedIn: false })
})

describe('who is asked', () => {
  test.each([
    [['slack:T0HOME/U0ADA'], 'Only listed approvers can decide: use the buttons in Slack.'],
    [['entra:t/o', 'entra:t/p'], 'Only listed approvers can decide: open the page and sign in.'],
    [
      ['slack:T0HOME/U0ADA', 'entra:t/o'],
      'use the buttons in Slack, or open the page and sign in.',
    ],
    [
      [],
      'No listed approver may decide for all affected VMs. An owner can, with the admin key or a token.',
    ],
  ])('%j: the text names them, and the button shows the event', (names, words) => {
    const askers = askersOf(names, services)
    const message = say(askers)
    const text = message.lines.join(' ')
    expect(text).toContain(words)
    expect(text).toContain('Azure will restart web_0 at 12:15 UTC or soon after.')
    expect(text).not.toMatch(/approve to/i)
    expect([buttonOf(message), asksByLink(message)]).toEqual(['Show event', false])
    expect(wantsDecision(message)).toBe(true)
    expect(listButtonOf([message])).toBe('Show all')
    expect(say(askers, { verdict: declined }, 'declined').lines.join(' ')).toContain(words)
  })

  test('readers: the button opens a page to decide', () => {
    const message = say('readers')
    expect(message.lines.join(' ')).toContain('Open the page and approve to restart it now, or do')
    expect([buttonOf(message), asksByLink(message)]).toEqual(['Open to decide', true])
    expect(listButtonOf([message, say(inSlack)])).toBe('Open all to decide')
  })

  test('readers with buttons in the message need no page', () => {
    const message = say('pressers')
    expect(message.lines.join(' ')).toContain('or soon after. Approve to restart it now, or')
    expect(message.lookOnly).toBeUndefined()
    const again = say('pressers', { verdict: declined })
    expect(again.lines.join(' ')).toContain('but you can still approve to restart it now.')
  })
})
