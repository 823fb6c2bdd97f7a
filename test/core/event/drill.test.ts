// A drill moves by time alone, and no part of the core treats it as an event of Azure.
import { describe, expect, test } from 'vitest'
import { decide } from '../../../functions/core/event/approval.ts'
import { decideDrill, decideTime, withDueAt } from '../../../functions/core/event/decide.ts'
import { judgeLease } from '../../../functions/core/event/directive.ts'
import {
  type DrillWish,
  drillEndsBy,
  drillLifeMs,
  drillMoveMs,
  drillStartMs,
} from '../../../functions/core/event/drill.ts'
import type { Decided, EventRecord, OpenRecord } from '../../../functions/core/event/event.ts'
import { lostMs } from '../../../functions/core/event/is-over.ts'
import { publicView } from '../../../functions/core/event/public-view.ts'
import { stuckMs } from '../../../functions/core/event/stuck.ts'
import { toView } from '../../../functions/core/event/view.ts'
import { compose, composeList } from '../../../functions/core/message/message.ts'
import { at, record, scope } from '../../support/records.ts'
import { event } from '../../support/world.ts'

const second = 1_000
const notice = 120

const context = (reminders: number[] = []) => {
  return { rules: [], reminders, listeningSince: 0 }
}

function conclude(drill: EventRecord, now: number, reminders: number[] = []) {
  const { record, ...rest } = decideTime(drill, context(reminders), now)
  return { ...rest, record: record! }
}

function begin(changes: Partial<DrillWish> = {}): EventRecord {
  const facts = { eventType: 'Reboot', resources: ['web_3'], source: 'Platform' }
  const usual = { fleet: 'prod', facts, noticeSeconds: notice, impactSeconds: 10, vms: [] }
  return decideDrill(undefined, { ...usual, ...changes }, 'one', context(), at).record!
}

function approvedAt(drill: EventRecord, seconds: number): EventRecord {
  const who = { how: 'link', who: 'chat' } as const
  const decided = decide(drill, { decision: 'approved', ...who, at: at + seconds * second })
  if (decided.outcome !== 'decided') throw new Error(decided.outcome)
  return decided.record
}

const declined: Decided = { decision: 'declined', how: 'link', who: 'chat', at }

/** What the sweep makes of it, each step with its second and the phase it leads to. */
function playOut(from: EventRecord, reminders: number[] = [], lookAt?: number): string[] {
  const steps: string[] = []
  let drill = from
  const listening = { now: at, listeningSince: 0 }
  const first = withDueAt(drill as OpenRecord, { reminders, rules: [], listening })
  let now = lookAt ?? first.dueAt!
  for (let looks = 0; looks < 20 && drill.ended === undefined; looks++) {
    const { record, moments } = conclude(drill, now, reminders)
    for (const moment of moments) steps.push(`${(now - at) / second} ${moment}`)
    drill = record
    if (drill.ended === undefined) {
      expect(drill.dueAt).toBeGreaterThan(now)
      now = drill.dueAt!
    }
  }
  expect(drill.dueAt).toBeUndefined()
  return steps
}

describe('its course', () => {
  const rows: [name: string, drill: EventRecord, reminders: number[], steps: string[]][] = [
    ['nobody decides', begin(), [], ['120 started', '130 completed']],
    ['approved', approvedAt(begin(), 20), [], ['25 started', '35 completed']],
    [
      'approved just before NotBefore',
      approvedAt(begin(), 118),
      [],
      ['120 started', '130 completed'],
    ],
    ['not now', { ...begin(), decided: declined }, [60], ['120 started', '130 completed']],
    ['without notice', begin({ noticeSeconds: 0 }), [60], ['10 completed']],
    [
      'with reminders',
      begin(),
      [60, 30],
      ['60 reminder', '90 reminder', '120 started', '130 completed'],
    ],
    [
      'NotBefore moves',
      begin({ changeAfterSeconds: 30 }),
      [60],
      ['30 changed', '120 reminder', '180 started', '190 completed'],
    ],
    [
      'a moved NotBefore is reminded of anew',
      begin({ changeAfterSeconds: 70 }),
      [60],
      ['60 reminder', '70 changed', '120 reminder', '180 started', '190 completed'],
    ],
    [
      'what was approved moves no more',
      approvedAt(begin({ changeAfterSeconds: 30 }), 28),
      [],
      ['33 started', '43 completed'],
    ],
  ]

  test.each(rows)('%s', (_name, drill, reminders, steps) => {
    expect(playOut(drill, reminders)).toEqual(steps)
  })

  test('after the relay was down, missed steps happen one after another', () => {
    const late = at + 600 * second
    expect(playOut(begin(), [60], late)).toEqual(['600 started', '610 completed'])
    const running = conclude(begin(), at + notice * second).record
    expect(playOut(running, [], late)).toEqual(['600 completed'])
  })

  test('the relay was away too long: it ends without having started, and says why', () => {
    const { record, moments } = conclude(begin(), at + drillLifeMs)
    expect(moments).toEqual(['cancelled'])
    expect(record.ended).toMatchObject({ outcome: 'cancelled', inferred: 'drill_overdue' })
  })

  test('it is never stuck and never lost, though no beacon is there', () => {
    const long = begin({ noticeSeconds: 3_600, impactSeconds: 600 })
    const waiting = {
      ...long,
      decided: { ...declined, decision: 'approved', at: at + lostMs },
    } as EventRecord
    for (const now of [at + stuckMs, at + lostMs, at + 2 * lostMs - 1]) {
      expect(conclude(long, now).moments).toEqual([])
    }
    expect(playOut(waiting)).not.toContain(expect.stringMatching(/stuck|lost/))
    expect(
      conclude(conclude(long, at + 3_600 * second).record, at + 4_199 * second).moments,
    ).toEqual([])
  })

  test('it is over when it says that it is', () => {
    for (const drill of [begin(), begin({ changeAfterSeconds: 30 }), begin({ noticeSeconds: 0 })]) {
      const last = playOut(drill).at(-1)
      expect(last).toBe(`${(drillEndsBy(drill, drill.drill!) - at) / second} completed`)
    }
    const longest = begin({ noticeSeconds: 3_600, impactSeconds: 600, changeAfterSeconds: 1 })
    expect(drillEndsBy(longest, longest.drill!)).toBeLessThan(at + drillLifeMs)
    expect([drillStartMs, drillMoveMs]).toEqual([5_000, 60_000])
  })

  test('looking twice at the same time changes nothing', () => {
    const first = conclude(begin(), at + notice * second)
    expect(conclude(first.record, at + notice * second)).toEqual({
      ...{ record: first.record, moments: [] },
    })
  })
})

describe('no beacon gets a directive', () => {
  test('not after an approval by a person, and not by policy', () => {
    const observer = {
      ...{ beacon: 'id-web_3', bootId: 'boot', vm: 'web_3' },
      ...{ resourceGroup: 'rg', polledAt: at },
    }
    for (const how of ['link', 'policy'] as const) {
      const decided: Decided = { decision: 'approved', how, who: 'x', at, scope }
      const approved = { ...begin(), decided }
      expect(judgeLease(approved, event(), observer, at + 1)).toBe('not_due')
      // the same of a real event would be given
      expect(judgeLease(record({ decided }), event(), observer, at + 1)).toBe('granted')
    }
  })
})

describe('it is marked', () => {
  test('a list of drills is marked, a list with a real event in it is not', () => {
    const drill = compose({ moment: 'scheduled', at, event: toView(begin()) }, at)
    const real = compose({ moment: 'scheduled', at, event: toView(record()) }, at)
    expect(composeList([drill, drill]).title).toMatch(
      /^DRILL: prod: Reboot of .*, and 1 more to decide$/,
    )
    expect(composeList([drill, real]).title).toMatch(/^prod: Reboot of .*, and 1 more to decide$/)
  })

  test('systems get a flag, but not the plan', () => {
    expect(publicView(toView(begin()))).toMatchObject({ drill: true, eventId: 'drill-one' })
    expect(publicView(toView(record()))).not.toHaveProperty('drill')
  })
})
