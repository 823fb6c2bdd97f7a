// The message *changed*: from what to what, and whether an approval still applies.
import { describe, expect, test } from 'vitest'
import type { EventRecord, OpenRecord } from '../../../functions/core/event/event.ts'
import type { Facts } from '../../../functions/core/event/facts.ts'
import { shownOf } from '../../../functions/core/event/sight.ts'
import { withValues } from '../../../functions/core/event/values.ts'
import { type EventView, viewOf } from '../../../functions/core/event/view.ts'
import { compose } from '../../../functions/core/message/message.ts'
import { at, facts, record, sight } from '../../support/records.ts'

const minute = 60_000
const later = at + minute

/** The record after a VM that saw the known values sees these. */
function changed(known: EventRecord, changes: Partial<Facts>, seenAt = later): EventRecord {
  const shows = shownOf({ ...known.facts, status: 'Scheduled' })
  const own = sight('web_0', { shows, polledAt: seenAt })
  const shown = { ...known.facts, ...changes, status: 'Scheduled' as const }
  const listening = { now: seenAt, listeningSince: 0 }
  return withValues({ ...(known as OpenRecord), sights: [own] }, own, shown, listening)
}

const say = (moved: EventRecord | EventView) =>
  compose({ moment: 'changed', at: later, event: viewOf(moved as EventRecord) }, later).lines

/** The lines about the change, which come before the impact. */
function changeIn(lines: string[]): string[] {
  return lines.slice(
    0,
    lines.findIndex((line) => /^(Each|The|In a real event, the) VM /i.test(line)),
  )
}

const known = record({ facts: facts({ resources: ['web_0', 'web_2'], durationSeconds: 5 }) })

describe('from what to what', () => {
  const longer = 'Azure changed its expected duration from about 5 s to about 30 s.'
  const rows: [Partial<Facts>, string[]][] = [
    [{ notBeforeAt: at + 60 * minute }, ['Azure moved it from 12:15 to 13:00 UTC.']],
    [
      { notBeforeAt: at + 14 * 60 * minute },
      ['Azure moved it from 12:15 to 2026-11-22 02:00 UTC.'],
    ],
    [{ resources: ['web_0', 'WEB_2', 'web_4'] }, ['Azure added web_4.']],
    [{ resources: ['web_0'] }, ['It no longer affects web_2.']],
    [{ resources: ['web_0', 'web_4'] }, ['Azure added web_4.', 'It no longer affects web_2.']],
    [{ durationSeconds: 30 }, [longer]],
    [
      { durationSeconds: 0 },
      ['Azure changed its expected duration from about 5 s to no interruption.'],
    ],
    [{ durationSeconds: -1 }, ['Azure changed its expected duration from about 5 s to unknown.']],
    [{ description: 'Another one.' }, ['Azure changed the reason that it gives.']],
    [
      { notBeforeAt: at + 60 * minute, description: 'Another one.' },
      ['Azure moved it from 12:15 to 13:00 UTC.', 'Azure changed the reason that it gives.'],
    ],
  ]
  test.each(rows)('%j', (changes, lines) => {
    expect(changeIn(say(changed(known, changes)))).toEqual(lines)
  })

  test('describes only the newest change', () => {
    const once = changed(known, { notBeforeAt: at + 60 * minute })
    const twice = changed(once, { durationSeconds: 30 }, later + 1)
    expect(changeIn(say(twice))).toEqual([longer])
    const late = changed(once, { durationSeconds: 30 }, later - 1)
    expect(changeIn(say(late))).toEqual([longer])
  })

  test.each([
    [-1, 'Azure changed its expected duration from unknown to about 30 s.'],
    [0, 'Azure changed its expected duration from no interruption to about 30 s.'],
  ])('a duration of %i s before', (durationSeconds, line) => {
    const before = record({ facts: facts({ durationSeconds }) })
    expect(changeIn(say(changed(before, { durationSeconds: 30 })))).toEqual([line])
  })

  test('a time that was unknown', () => {
    const { notBeforeAt: _, ...timeless } = known.facts
    const set = changed({ ...known, facts: timeless }, { notBeforeAt: at + 60 * minute })
    expect(changeIn(say(set))).toEqual(['Azure set its time to 13:00 UTC.'])
  })
})

describe('an approval that no longer covers the event', () => {
  const agreed = { eventType: 'Reboot', resources: ['web_0'] }
  const overruled = { decision: 'approved', how: 'link', who: 'chat', at, lapsedAt: at } as const

  test.each([
    [
      ['web_0', 'web_1'],
      'Azure added web_1 after the approval, so the approval no longer applies. Please decide again for web_0 and web_1.',
    ],
    [
      ['web_0'],
      'The event has changed since the approval, so the approval no longer applies. Please decide again for web_0.',
    ],
  ])('affects %j now', (resources, line) => {
    const grown = record({ facts: facts({ resources }), overruled: [{ ...overruled, agreed }] })
    expect(changeIn(say(grown))).toEqual([line])
    const told = { ...grown, policy: { decide: 'notify', rule: 'own' } as const }
    expect(changeIn(say(told))[0]).not.toContain('decide again')
  })
})
