// What the steps after the first say: who did it, what happens if nobody acts, and when; never more than is known.
import { describe, expect, test } from 'vitest'
import { viewOf } from '../../functions/core/delivery.ts'
import type { EventRecord, Moment, Verdict } from '../../functions/core/event.ts'
import { compose, describeInference, type Message } from '../../functions/core/message.ts'
import { at, facts, record } from '../support/records.ts'

const minute = 60_000
const dueAt = at + 15 * minute
const past = dueAt + minute
const approved: Verdict = { decision: 'approved', how: 'link', who: 'ops', at }
const declined: Verdict = { ...approved, decision: 'declined' }

function say(moment: Moment, changes: Partial<EventRecord>, now = at): Message {
  return compose({ moment, at: now, event: viewOf(record(changes)) }, now)
}

const textOf = (...told: Parameters<typeof say>) => say(...told).lines.join(' ')

describe('declined', () => {
  test('as long as that matters, says that it can still be approved', () => {
    expect(textOf('declined', { verdict: declined })).toBe(
      'Not now, chosen through the link sent to "ops". That does not stop it: ' +
        'Azure starts it at 12:15 UTC or soon after. Until then it can still be approved.',
    )
  })

  test('once its time has come, does not', () => {
    expect(textOf('declined', { verdict: declined }, past)).toMatch(
      /That does not stop it: Azure may start it at any moment, or has by now\.$/,
    )
  })

  test('without a time', () => {
    const { notBeforeAt: _, ...timeless } = facts()
    expect(textOf('declined', { verdict: declined, facts: timeless })).toContain(
      'That does not stop it: Azure starts it, but has not said when. Until then',
    )
  })
})

describe('approved', () => {
  test('says what Foghorn does now, and what comes if that fails', () => {
    const { title, lastingTitle, lines } = say('approved', { verdict: approved })
    expect(title).toBe('Approved at 12:00 UTC: Reboot of web_0 is to start now')
    expect(lastingTitle).toBe(title)
    expect(lines.join(' ')).toContain(
      'Foghorn tells Azure to start it now, usually within seconds. ' +
        'If that fails, Azure starts it at 12:15 UTC or soon after.',
    )
    expect(textOf('approved', { verdict: approved }, past)).not.toContain('If that fails')
  })
})

describe('stuck', () => {
  const passedOn = { vm: 'web_9', at }
  const rows: [string, Partial<EventRecord>, number, RegExp][] = [
    [
      'no VM could tell Azure',
      {},
      at,
      /If none can, Azure starts it at 12:15 UTC or soon after\.$/,
    ],
    ['no VM could tell Azure in time', {}, past, /any VM that sees the event can do it\.$/],
    [
      'Azure was told',
      { passedOn },
      at + 10 * minute,
      /^web_9 told Azure 10 min ago, .* Look at web_0 in the Azure portal\. If nothing helps, Azure starts it at 12:15 UTC or soon after\.$/,
    ],
    [
      'Azure was told, of many',
      { passedOn, facts: facts({ resources: ['web_0', 'web_1'] }) },
      past,
      /Look at the VMs that it hits in the Azure portal\.$/,
    ],
  ]
  test.each(rows)('%s', (_, course, now, words) => {
    expect(textOf('stuck', { verdict: approved, ...course }, now)).toMatch(words)
  })
})

describe('started: by whom', () => {
  const rows: [string, Partial<EventRecord>, string | undefined][] = [
    ['nobody', {}, 'Nobody decided; Azure started it when its time came.'],
    ['not now', { verdict: declined }, 'Not now was chosen; Azure started it when its time came.'],
    [
      'nobody was asked',
      { policy: { decide: 'tell', rule: 'own' } },
      'Azure started it when its time came.',
    ],
    [
      'before its time',
      { startedAt: at + minute },
      'It started before its time, and not by Foghorn: it may have been approved elsewhere.',
    ],
    ['approved', { verdict: approved }, undefined],
    ['without notice', { notice: 'none' }, undefined],
    ['running', { notice: 'already_running' }, undefined],
    ['a drill', { drill: true }, 'Nobody decided; the drill started when its time came.'],
  ]
  test.each(rows)('%s', (_, course, line) => {
    const begun = { phase: 'started', startedAt: dueAt, ...course } as const
    const { lines } = say('started', begun, dueAt)
    const found = lines.filter((one) => /start(ed)? (it|when|before)/.test(one))
    expect(found).toEqual(line === undefined ? [] : [line])
  })

  test('the title says when, unless it ran before it was seen', () => {
    const begun = { phase: 'started', startedAt: at } as const
    expect(say('started', begun).title).toBe('Started at 12:00 UTC: Reboot of web_0')
    const sudden = say('started', { ...begun, notice: 'none' })
    expect(sudden.title).toBe('Started without notice at 12:00 UTC: Reboot of web_0')
    const running = say('started', { ...begun, notice: 'already_running' })
    expect(running.title).toBe('Already running: Reboot of web_0')
    expect(running.lines.join(' ')).toContain('when Foghorn first saw it, at 12:00 UTC.')
  })
})

describe('the end', () => {
  test('gone before its time: what may still come', () => {
    const ended = { at, outcome: 'cancelled', inferred: 'gone_before_its_time' } as const
    const { title, lines } = say('cancelled', { ended })
    expect(title).toBe('Cancelled, it seems, at 12:00 UTC: Reboot of web_0')
    expect(lines.at(-1)).toBe('If it was approved elsewhere, the VM may still restart.')
    const pair = facts({ eventType: 'Redeploy', resources: ['a', 'b'] })
    expect(say('cancelled', { ended, facts: pair }).lines.at(-1)).toBe(
      'If it was approved elsewhere, the VMs may still move to other hardware.',
    )
    const odd = say('cancelled', { ended, facts: facts({ eventType: 'Teleport' }) })
    expect(odd.lines.at(-1)).toBe('If it was approved elsewhere, it may still happen.')
  })

  test('a VM that is silent has not said that Azure lists it no more', () => {
    const over = (inferred: 'vm_gone' | 'start_not_seen_approved') =>
      textOf('completed', { ended: { at, outcome: 'completed', inferred } })
    expect(over('vm_gone')).toBe(`Taken as completed: ${describeInference('vm_gone')}.`)
    expect(over('start_not_seen_approved')).toMatch(/^Azure lists it no more\. Taken as/)
  })

  test('lost: since when nobody speaks, and what to do', () => {
    const ended = { at, outcome: 'lost', inferred: 'nobody_left_to_see' } as const
    const since = 'Every VM that saw it has been silent since 11:50 UTC or before, so how it ended'
    expect(textOf('lost', { ended })).toBe(
      `${since} is not known. Check web_0, and that the beacons run.`,
    )
    expect(textOf('lost', { ended, facts: facts({ source: 'User' }) })).toContain(
      'Check with whoever asked for it, and that the beacons run.',
    )
  })
})

describe('late', () => {
  const late = 'This message is 12 min late: it was to be sent at 12:00 UTC.'

  test.each([
    ['scheduled', {}, 0],
    ['approved', { verdict: approved }, -1],
  ] as const)('%s: says it where it matters, and guesses no cause', (moment, changes, place) => {
    const event = viewOf(record(changes))
    const { lines } = compose({ moment, at, event }, at + 12 * minute)
    expect(lines.at(place)).toBe(late)
  })
})

test('of many long names the count is kept', () => {
  const resources = [...Array(400).keys()].map((i) => `a-name-as-long-as-owners-make-them-${i}`)
  const value = say('scheduled', { facts: facts({ resources }) }).facts.find(
    ({ name }) => name === 'VMs hit',
  )?.value
  expect(value).toMatch(/^a-name.* and 39\d more$/)
  expect(value!.length).toBeLessThan(430)
})
