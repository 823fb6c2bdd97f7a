// Every moment of every type is a whole message, also if values are unknown.
import { describe, expect, test } from 'vitest'
import { type Decide, type Decided, decisions } from '../../../functions/core/event/event.ts'
import { moments } from '../../../functions/core/event/moment.ts'
import type { EventView } from '../../../functions/core/event/view.ts'
import { toView } from '../../../functions/core/event/view.ts'
import { type Askers, listAskers } from '../../../functions/core/message/askers.ts'
import {
  asksByLink,
  compose,
  composeListButton,
  wantsDecision,
} from '../../../functions/core/message/message.ts'
import { describeSubject, plain } from '../../../functions/core/message/phrases.ts'
import type { Message } from '../../../functions/core/message/shape.ts'
import { eventTypes } from '../../../shared/document.ts'
import { at, type Fields, facts, record } from '../../support/records.ts'

const approved: Decided = { decision: 'approved', how: 'link', who: 'ops', at }
const declined: Decided = { decision: 'declined', how: 'link', who: 'ops', at }
const byPolicy: Decided = { decision: 'approved', how: 'policy', who: 'short freeze', at }

const view = (changes: Fields = {}): EventView => toView(record(changes))

function textOf({ title, lines, facts }: Message): string {
  return [title, ...lines, ...facts.map(({ name, value }) => `${name}: ${value}`)].join('\n')
}

/** The barest event there can be, and the richest. */
const bare = { eventType: 'X', resources: [] }
const rich = facts({ resources: [...Array(9).keys()].map((i) => `web_${i}`), durationSeconds: 30 })

describe('every message is whole', () => {
  const types = [...eventTypes, 'Teleport', 'Unknown']
  const rows = moments.flatMap((moment) => types.map((type) => [moment, type] as const))

  test.each(rows)('%s of %s', (moment, eventType) => {
    const changes = [bare, rich, facts()].flatMap((some) =>
      decisions.flatMap((decide: Decide) =>
        [undefined, approved, declined, byPolicy].flatMap((decided) =>
          [undefined, 'none', 'already_running', 'reported_late'].map((startKind) => ({
            facts: { ...some, eventType },
            policy: { decide, rule: 'own rule' },
            ...(decided && { decided }),
            ...(startKind && { startKind, started: { at: at }, phase: 'started' as const }),
          })),
        ),
      ),
    )
    for (const course of changes) {
      if (moment === 'declined' && course.decided === undefined) continue
      if (moment === 'approved' && course.decided === undefined) continue
      const event = view(course as Fields)
      const message = compose({ moment, at, event }, at)
      const text = textOf(message)
      expect(text).not.toMatch(/undefined|NaN|null|Invalid|\[object|Infinity|(^|\s)[.,;]|\s{2}/m)
      expect(message.title).not.toBe('')
      expect(message.lines.length).toBeGreaterThan(0)
      for (const line of message.lines) expect(line).toMatch(/^["\p{Lu}].*[.?]$/u)
    }
  })
})

test.each([
  [[], 'Reboot of an unnamed VM'],
  [['a'], 'Reboot of a'],
  [['a', 'b', 'c', 'd', 'e'], 'Reboot of a, b, c, d, e'],
  [['a', 'b', 'c', 'd', 'e', 'f', 'g'], 'Reboot of a, b, c, d, e and 2 more'],
  [['x'.repeat(40), 'y'.repeat(40)], `Reboot of ${'x'.repeat(40)} and 1 more`],
  [['\u200b', ' '], 'Reboot of (blank), (blank)'],
  [['x'.repeat(256)], `Reboot of ${'x'.repeat(63)}…`],
])('%j is %s', (resources, subject) => {
  expect(describeSubject(view({ facts: facts({ resources }) }))).toBe(subject)
})

test('the button of a list asks if the readers of one message may decide by its link', () => {
  const say = (askers: Askers) =>
    compose({ moment: 'scheduled', at, event: view() }, at, [], askers)
  const inSlack = say(listAskers(['slack:T0HOME/U0ADA'], { slack: 'Slack' }, true))
  expect([asksByLink(inSlack), wantsDecision(inSlack)]).toEqual([false, true])
  expect(composeListButton([inSlack])).toBe('Show all')
  expect(composeListButton([say('readers'), inSlack])).toBe('Open all to decide')
  expect(listAskers(['slack:T0HOME/U0ADA'], {}, true)).toEqual({ services: [], signedIn: false })
})

test('marks that turn or break lines are removed, and half a character becomes a mark', () => {
  expect(plain('a\u0000\r\nb\u202ec\u2028d')).toBe('a b c d')
  expect(plain('שרת 🚢 é')).toBe('שרת 🚢 é')
  expect(plain('web\u200b_\u00ad0\u{e0030}')).toBe('web_0')
  expect(plain('a\ud83d b')).toBe('a\ufffd b')
})

describe('where there is room for one or two sentences, they say what a rule does if nobody acts', () => {
  type Policy = NonNullable<Fields['policy']>
  const own: Policy = { decide: 'approve', rule: 'own' }
  const briefOf = (policy: Policy, moment: 'scheduled' | 'changed' = 'scheduled') =>
    compose({ moment, at, event: view({ policy }) }, at).brief.join(' ')

  test.each<[string, Policy, string]>([
    [
      'it waits',
      { ...own, whenReady: true },
      'Policy rule "own" approves it once web_0 is ready. Otherwise, Azure will restart web_0 at 12:15 UTC or soon after.',
    ],
    ['at once', own, 'Policy rule "own" approves it, so it may start at any moment.'],
  ])('%s', (_, policy, brief) => {
    expect(briefOf(policy)).toBe(brief)
    expect(briefOf(policy, 'changed')).toContain(brief)
  })
})
