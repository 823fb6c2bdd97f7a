// What *changed* says: from what to what, as beacons or a drill made it, and what became of an approval.
import { describe, expect, test } from 'vitest'
import { type EventView, viewOf } from '../../../functions/core/delivery/delivery.ts'
import { conclude } from '../../../functions/core/event/conclude.ts'
import { beginDrill, drillMoveMs } from '../../../functions/core/event/drill.ts'
import type { EventRecord, Facts } from '../../../functions/core/event/event.ts'
import { advance } from '../../../functions/core/event/life.ts'
import { compose } from '../../../functions/core/message/message.ts'
import { at, facts, key, record } from '../../support/records.ts'
import { event } from '../../support/world.ts'

const minute = 60_000
const later = at + minute

/** The record once a beacon that saw it as it was sees it so. */
function changed(known: EventRecord, changes: Partial<Facts>, seenAt = later): EventRecord {
  const before = event({ ...known.facts })
  const news = { ...before, ...changes }
  const seen = { kind: 'seen', at: seenAt, vm: 'web_0', live: true, firstPoll: false } as const
  const reopening = { missedBefore: false, since: at }
  const step = advance(known, { ...seen, ...reopening, event: news, previous: before }, seenAt, key)
  expect(step.moments).toEqual(['changed'])
  return step.record!
}

const say = (moved: EventRecord | EventView) =>
  compose({ moment: 'changed', at: later, event: viewOf(moved as EventRecord) }, later).lines

/** What is said of the change, before what the event does. */
function changeIn(lines: string[]): string[] {
  return lines.slice(
    0,
    lines.findIndex((line) => /^(Each|The|In a real one, the) VM /i.test(line)),
  )
}

const known = record({ facts: facts({ resources: ['web_0', 'web_2'], durationSeconds: 5 }) })

describe('says from what to what', () => {
  const rows: [Partial<Facts>, string[]][] = [
    [{ notBeforeAt: at + 60 * minute }, ['Azure moved it from 12:15 to 13:00 UTC.']],
    [
      { notBeforeAt: at + 14 * 60 * minute },
      ['Azure moved it from 12:15 to 2026-11-22 02:00 UTC.'],
    ],
    [{ resources: ['web_0', 'WEB_2', 'web_4'] }, ['Azure added web_4.']],
    [{ resources: ['web_0'] }, ['It no longer hits web_2.']],
    [{ resources: ['web_0', 'web_4'] }, ['Azure added web_4.', 'It no longer hits web_2.']],
    [{ durationSeconds: 30 }, ['It now takes about 30 s; before, it was about 5 s.']],
    [{ durationSeconds: 0 }, ['No interruption is expected any more; before, it was about 5 s.']],
    [
      { durationSeconds: -1 },
      ['Azure no longer says how long it takes; before, it was about 5 s.'],
    ],
    [{ description: 'Another one.' }, ['Azure changed its reason.']],
    [
      { notBeforeAt: at + 60 * minute, description: 'Another one.' },
      ['Azure moved it from 12:15 to 13:00 UTC.', 'Azure changed its reason.'],
    ],
  ]
  test.each(rows)('%j', (changes, lines) => {
    expect(changeIn(say(changed(known, changes)))).toEqual(lines)
  })

  test('of the change that came last, and of no earlier one', () => {
    const once = changed(known, { notBeforeAt: at + 60 * minute })
    const twice = changed(once, { durationSeconds: 30 }, later + 1)
    expect(changeIn(say(twice))).toEqual(['It now takes about 30 s; before, it was about 5 s.'])
    const late = changed(once, { durationSeconds: 30 }, later - 1)
    expect(changeIn(say(late))).toEqual(['It now takes about 30 s; before, it was about 5 s.'])
  })

  test.each([
    [-1, 'It now takes about 30 s; before, that was not known.'],
    [0, 'It now takes about 30 s; before, no interruption was expected.'],
  ])('where it was %i s', (durationSeconds, line) => {
    const before = record({ facts: facts({ durationSeconds }) })
    expect(changeIn(say(changed(before, { durationSeconds: 30 })))).toEqual([line])
  })

  test('what was not known before, and what an older relay wrote down', () => {
    const { notBeforeAt: _, ...timeless } = known.facts
    const set = changed({ ...known, facts: timeless }, { notBeforeAt: at + 60 * minute })
    expect(changeIn(say(set))).toEqual(['Azure set its time to 13:00 UTC.'])
    const old = record({ changedAt: { resources: at } })
    expect(changeIn(say(old))).toEqual(['Azure changed which VMs it hits.'])
  })

  test('a drill moves by itself', () => {
    const wish = {
      fleet: 'prod',
      facts: facts(),
      impactSeconds: 10,
      changeAfterSeconds: 60,
      vms: [],
    }
    const { record: drill } = beginDrill({ ...wish, noticeSeconds: 900 }, 'one', at)
    const { record: moved, moments } = conclude(drill, [], later)
    expect([moments, drillMoveMs]).toEqual([['changed'], minute])
    expect(say(moved).slice(0, 2)).toEqual([
      'This is a drill: no VM is touched.',
      'The drill moved from 12:15 to 12:16 UTC.',
    ])
  })
})

describe('an approval that it has outgrown', () => {
  const agreed = { eventType: 'Reboot', resources: ['web_0'] }
  const overruled = { decision: 'approved', how: 'link', who: 'chat', at, lapsedAt: at } as const

  test.each([
    [
      ['web_0', 'web_1'],
      'Azure added web_1 after the approval, so the approval no longer applies. Please decide again for web_0 and web_1.',
    ],
    [
      ['web_0'],
      'The event is no longer what was approved, so the approval no longer applies. Please decide again for web_0.',
    ],
  ])('hits %j now', (resources, line) => {
    const grown = record({ facts: facts({ resources }), overruled: { ...overruled, agreed } })
    expect(changeIn(say(grown))).toEqual([line])
    const told = { ...grown, policy: { decide: 'notify', rule: 'own' } as const }
    expect(changeIn(say(told))[0]).not.toContain('decide again')
  })
})
