// Every moment of every type is a whole message, also if values are unknown.
import { describe, expect, test } from 'vitest'
import {
  type Decide,
  decisions,
  type Inference,
  type Verdict,
} from '../../../functions/core/event/event.ts'
import { moments } from '../../../functions/core/event/moment.ts'
import type { EventView } from '../../../functions/core/event/view.ts'
import { viewOf } from '../../../functions/core/event/view.ts'
import { buttonOf, compose, wantsDecision } from '../../../functions/core/message/message.ts'
import { describeInference, plain, subjectOf } from '../../../functions/core/message/phrases.ts'
import type { Message } from '../../../functions/core/message/shape.ts'
import { eventTypes } from '../../../shared/document.ts'
import { aDrill, at, type Fields, facts, record } from '../../support/records.ts'

const minute = 60_000
const approved: Verdict = { decision: 'approved', how: 'link', who: 'ops', at }
const declined: Verdict = { decision: 'declined', how: 'link', who: 'ops', at }
const byPolicy: Verdict = { decision: 'approved', how: 'policy', who: 'short freeze', at }

const view = (changes: Fields = {}): EventView => viewOf(record(changes))

function textOf({ title, lines, facts }: Message): string {
  return [title, ...lines, ...facts.map(({ name, value }) => `${name}: ${value}`)].join('\n')
}

const inferences: Inference[] = [
  'start_not_seen_vm_rebooted',
  'start_not_seen_approved',
  'start_not_seen_not_before_passed',
  'gone_before_its_time',
  'vm_gone',
  'nobody_left_to_see',
]

/** The barest event there can be, and the richest. */
const bare = { eventType: 'X', resources: [] }
const rich = facts({ resources: [...Array(9).keys()].map((i) => `web_${i}`), durationSeconds: 30 })

describe('every message is whole', () => {
  const types = [...eventTypes, 'Teleport', 'Unknown']
  const rows = moments.flatMap((moment) => types.map((type) => [moment, type] as const))

  test.each(rows)('%s of %s', (moment, eventType) => {
    const changes = [bare, rich, facts()].flatMap((some) =>
      decisions.flatMap((decide: Decide) =>
        [undefined, approved, declined, byPolicy].flatMap((verdict) =>
          [undefined, 'none', 'already_running', 'reported_late'].map((startKind) => ({
            facts: { ...some, eventType },
            policy: { decide, rule: 'own rule' },
            ...(verdict && { verdict }),
            ...(startKind && { startKind, started: { at: at }, phase: 'started' as const }),
          })),
        ),
      ),
    )
    for (const course of changes) {
      if (moment === 'declined' && course.verdict === undefined) continue
      if (moment === 'approved' && course.verdict === undefined) continue
      const event = view(course as Fields)
      const message = compose({ moment, at, event }, at)
      const text = textOf(message)
      expect(text).not.toMatch(/undefined|NaN|null|Invalid|\[object|Infinity|(^|\s)[.,;]|\s{2}/m)
      expect(message.title).not.toBe('')
      expect(message.lines.length).toBeGreaterThan(0)
      for (const line of message.lines) expect(line).toMatch(/^["\p{Lu}].*[.?]$/u)
    }
  })

  test.each(inferences)('an end that is inferred says so: %s', (inferred) => {
    const ended = { at, outcome: 'completed' as const, inferred }
    const event = view({ ended, phase: 'completed' })
    const { title, lines } = compose({ moment: 'completed', at, event }, at)
    expect(lines.join(' ')).toContain(
      `Foghorn concludes that the event completed: ${describeInference(inferred)}.`,
    )
    expect(title).toBe('Probably completed at 12:00 UTC: Reboot of web_0')
    expect(describeInference(inferred)).toMatch(/^[a-z].*[a-z]$/)
  })
})

describe('what it says', () => {
  const say = (moment: (typeof moments)[number], changes: Fields = {}, now = at) =>
    compose({ moment, at, event: view(changes) }, now)

  test.each([
    [
      'ask',
      undefined,
      'Azure will restart web_0 at 12:15 UTC or soon after. Open the page and approve to restart it now, or do nothing.',
      true,
    ],
    [
      'notify',
      undefined,
      'Nothing to decide. Azure will restart web_0 at 12:15 UTC or soon after.',
      false,
    ],
    ['approve', undefined, 'Policy rule "own" approves it, so it may start at any moment.', false],
    ['ask', declined, 'but you can still open the page and approve to restart it now.', true],
    ['ask', approved, 'Approved through the link sent to "ops": it may start', false],
  ] as const)('policy %s, decided %o', (decide, verdict, line, asks) => {
    const message = say('scheduled', {
      policy: { decide, rule: 'own' },
      ...(verdict && { verdict }),
    })
    expect(message.lines.join(' ')).toContain(line)
    expect(message.asks).toBe(asks)
  })

  test('failing hardware: days of notice, so redeploy it yourself', () => {
    const due = (days: number) => ({
      facts: facts({ eventType: 'Redeploy', notBeforeAt: at + days * 86_400_000 }),
    })
    expect(say('scheduled', due(6)).lines.join(' ')).toContain('redeploy the VM yourself')
    expect(say('scheduled', due(1)).lines.join(' ')).not.toContain('yourself')
  })

  test.each([
    [{}, 'Reboot', true],
    [{}, 'Redeploy', true],
    [{ source: 'User' }, 'Redeploy', false],
    [{}, 'Freeze', false],
  ])('six days of notice (%o), %s: points to hardware: %s', (more, eventType, points) => {
    const notBeforeAt = at + 6 * 86_400_000
    const { title, lines } = say('scheduled', { facts: facts({ eventType, notBeforeAt, ...more }) })
    expect(lines.join(' ').includes('failing hardware')).toBe(points)
    expect(lines.at(-1)?.startsWith('Or open the page and approve')).toBe(points)
    expect(title).toBe(`${eventType} of web_0 in 6 d, at 2026-11-27 12:00 UTC`)
  })

  test.each([
    [undefined, 1, undefined],
    [11, 1, 'It affects 1 VM. 11 other VMs report it, but are not affected.'],
    [1, 3, 'It affects 3 VMs. 1 other VM reports it, but is not affected.'],
    [0, 3, 'It affects 3 VMs. No other VM reports it.'],
    [0, 1, undefined],
    [4, 0, undefined],
  ])('%j are spared, %i hit: %s', (spared, hit, line) => {
    const resources = [...Array(hit).keys()].map((i) => `web_${i}`)
    const event = {
      ...view({ facts: facts({ resources }) }),
      ...(spared !== undefined && { spared }),
    }
    for (const moment of ['scheduled', 'reminder', 'started'] as const) {
      const { lines } = compose({ moment, at, event }, at)
      expect(lines.find((one) => one.startsWith('It affects'))).toBe(line)
    }
  })

  test('names some of many VMs, and omits an empty reason', () => {
    const resources = [...Array(100).keys()].map((i) => `web_${i}`)
    const message = say('scheduled', { facts: facts({ resources, description: ' ' }) })
    const value = message.facts.find(({ name }) => name === 'Affected VMs')?.value
    expect(value).toMatch(/^web_0, .*web_39 and 60 more$/)
    expect(textOf(message)).not.toContain('Why')
  })

  test('reads an older row without the count', () => {
    const old = JSON.parse(JSON.stringify(view()))
    expect('spared' in old).toBe(false)
    expect(compose({ moment: 'reminder', at, event: old }, at).lines).toHaveLength(2)
  })

  test('says that it is late after more than a minute', () => {
    expect(textOf(say('scheduled', {}, at + minute))).not.toContain('late')
    expect(textOf(say('scheduled', {}, at + minute + 1))).toContain('This message is 60 s late')
    expect(textOf(say('scheduled', {}, at + 20 * minute))).toContain('(5 min ago)')
    expect(say('scheduled', {}, at + 20 * minute).title).toContain('was due 5 min ago')
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
    expect(subjectOf(view({ facts: facts({ resources }) }))).toBe(subject)
  })

  test.each([
    [undefined, 'unknown'],
    [-1, 'unknown'],
    [0, 'no interruption'],
    [9, 'about 9 s'],
  ])('an interruption of %j is "%s"', (durationSeconds, value) => {
    const some = { ...facts(), ...(durationSeconds === undefined ? {} : { durationSeconds }) }
    if (durationSeconds === undefined) delete some.durationSeconds
    const rows = say('scheduled', { facts: some }).facts
    const found = rows.find(({ name }) => name === 'Expected duration')
    expect(found?.value).toBe(value)
  })

  test.each([
    [undefined, 'Open to decide', true],
    [declined, 'Open to reconsider', false],
    [approved, 'Show event', false],
  ] as const)('decided %o: the button says "%s"', (verdict, label, wants) => {
    const message = say('reminder', verdict && { verdict })
    expect(buttonOf(message)).toBe(label)
    expect(wantsDecision(message)).toBe(wants)
  })

  test('the lasting title has no relative time, and marks a drill', () => {
    const { lastingTitle } = say('scheduled', { drill: aDrill })
    expect(lastingTitle).toBe('DRILL: Reboot of web_0 at 12:15 UTC')
    const { notBeforeAt: _, ...unknown } = facts()
    const said = say('declined', { facts: unknown, verdict: declined })
    expect([said.title, said.lastingTitle]).toEqual([
      'Not now: Reboot of web_0, time unknown',
      'Not now: Reboot of web_0',
    ])
  })

  test('half a character becomes a mark', () => {
    expect(plain('a\ud83d b')).toBe('a\ufffd b')
  })

  test('removes marks that turn or break lines', () => {
    expect(plain('a\u0000\r\nb\u202ec\u2028d')).toBe('a b c d')
    expect(plain('שרת 🚢 é')).toBe('שרת 🚢 é')
    expect(plain('web\u200b_\u00ad0\u{e0030}')).toBe('web_0')
  })
})
