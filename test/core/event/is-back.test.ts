// When an event that ended is back, and what it keeps: law 7, a millisecond before and after.
import { describe, expect, test } from 'vitest'
import type { Ended, EndedRecord } from '../../../functions/core/event/event.ts'
import { endedAnew, isBack, reopened } from '../../../functions/core/event/is-back.ts'
import type { EventNews } from '../../../functions/core/event/news.ts'
import { toScope } from '../../../functions/core/event/scope.ts'
import { eventGrid, type Reporter, resourceGraph } from '../../../functions/core/event/sight.ts'
import { at, type Fields, record, sight } from '../../support/records.ts'
import { event, eventId } from '../../support/world.ts'

const minute = 60_000
const listening = { now: at + 10 * minute, listeningSince: 0 }
const ended = (how: Partial<Ended> = {}, more: Fields = {}) =>
  record({ ended: { at, outcome: 'cancelled', ...how }, ...more }) as EndedRecord

const reporter = (vm: string, polledAt: number, beacon = `id-${vm}`): Reporter => ({
  ...{ beacon, vm, resourceGroup: 'rg', scaleSet: '', tags: {}, bootId: 'boot', counter: 2 },
  ...{ heardAt: polledAt, polledAt, bootedAt: 0 },
})
const newsOf = (more: Partial<EventNews> = {}): EventNews => {
  const base = { fleet: 'prod', eventId, isLacking: false, past: [], starts: [], runs: [] }
  return { ...base, shown: event(), ...more }
}

describe('after an end that documents prove', () => {
  test.each([
    ['the affected VM, a minute later', 'web_0', minute, true],
    ['a millisecond sooner', 'web_0', minute - 1, false],
    ['an onlooker, as nobody else sees', 'web_9', minute, true],
  ])('%s', (_, vm, ms, expected) => {
    expect(isBack(ended(), undefined, reporter(vm, at + ms), newsOf(), listening)).toBe(expected)
  })

  test('one that lacked it shows it anew at once; a document from before the end says nothing', () => {
    const known = sight('web_0', { missing: { firstAt: at - 1, lastSeenAt: at - 2 } })
    const shownAt = (ms: number) =>
      isBack(ended(), known, reporter('web_0', at + ms), newsOf(), listening)
    expect([shownAt(0), shownAt(1)]).toEqual([false, true])
  })
})

test('what was gone in between counts, what was only seen does not', () => {
  const step = { at, event: event(), appeared: false, lastSeenAt: at }
  const known = sight('web_0', { firstSeenAt: at - minute })
  const after = (kind: 'seen' | 'gone') => {
    const news = newsOf({ past: [{ ...step, kind }] })
    return isBack(ended(), known, reporter('web_0', at + 1), news, listening)
  }
  expect([after('gone'), after('seen')]).toEqual([true, false])
})

describe("after Azure's word", () => {
  const by = { by: 'azure' } as const
  const known = sight('web_0', { firstSeenAt: at - minute })
  const started = newsOf({ shown: event({ status: 'Started' }) })
  test.each([
    ['the affected VM shows it a minute later', {}, reporter('web_0', at + minute), newsOf(), true],
    ['a millisecond sooner', {}, reporter('web_0', at + minute - 1), newsOf(), false],
    ['it starts', {}, reporter('web_0', at + 1), started, true],
    [
      'it had started before',
      { started: { at: at - 1 } },
      reporter('web_0', at + 1),
      started,
      false,
    ],
    ['Event Grid says that it starts', {}, reporter('x', at + 1, eventGrid), started, false],
    ["Azure's list does", {}, reporter('x', at + 1, resourceGraph), started, true],
    ['an onlooker shows it a minute later', {}, reporter('web_9', at + minute), newsOf(), true],
    ['Event Grid does', {}, reporter('x', at + 5 * minute, eventGrid), newsOf(), false],
  ] as const)('%s', (_, more, who, news, expected) => {
    expect(isBack(ended(by, more as Fields), known, who, news, listening)).toBe(expected)
  })
})

describe('what it keeps', () => {
  const approved = {
    decision: 'approved',
    how: 'link',
    who: 'x',
    at,
    scope: toScope(record()),
  } as const
  const declined = { decision: 'declined', how: 'link', who: 'x', at } as const
  const told = { vm: 'web_0', at }
  const back = (how: Partial<Ended>, more: Fields, shown = event()) =>
    reopened(ended(how, more), reporter('web_0', at + minute), shown, listening)

  test.each([
    ['an approval, if the end was only a word', { by: 'azure' }, { decided: approved }, approved],
    ['no approval that nobody took', {}, { decided: approved }, undefined],
    ['one that Azure accepted', {}, { decided: approved, azure: { accepted: told } }, approved],
    ['a "not now"', {}, { decided: declined }, declined],
  ] as const)('%s', (_, how, more, expected) => {
    expect(back(how, more as Fields).decided).toEqual(expected)
  })

  test('of one that Azure accepted and that does not cover it, that Azure was told', () => {
    const { decided, azure } = back(
      {},
      { decided: approved, azure: { accepted: told } },
      event({ resources: ['web_0', 'web_1'] }),
    )
    expect([decided, azure]).toEqual([undefined, { acceptedBefore: told }])
  })

  test('what the event belongs to in Azure', () => {
    const type = 'virtualMachines' as const
    const outside = { resource: { subscriptionId: 's', resourceGroup: 'rg', type, name: 'web_0' } }
    expect(back({}, { azure: { outside } }).azure).toEqual({ outside })
    expect(back({}, { azure: {} }).azure).toEqual({})
  })

  test('its names, if the document has none', () => {
    const named = back({}, {}, event({ resources: [] }))
    expect(named.facts.resources).toEqual(event().resources)
    const other = back({}, {}, event({ resources: ['web_5'] }))
    expect([other.facts.resources, other.epoch, other.backAt]).toEqual([['web_5'], 2, at + minute])
  })
})

test.each([
  ['it was seen to start', { phase: 'started', started: { at } }, 'completed', undefined],
  ['its time had come', {}, 'completed', 'start_not_seen_not_before_passed'],
  ['it was early', { notBefore: hourAhead() }, 'cancelled', 'gone_before_its_time'],
] as const)('a lost event whose VM lacks it now: %s', (_, more, outcome, inferred) => {
  const { notBefore = at, ...own } = more as Fields & { notBefore?: number }
  const facts = { ...record().facts, notBeforeAt: notBefore }
  const lost = ended({ outcome: 'lost', inferred: 'nobody_left_to_see' }, { ...own, facts })
  const lacks = sight('web_0', { missing: { firstAt: at + minute, lastSeenAt: at } })
  const anew = endedAnew(lost, lacks, { ...listening, now: at + minute })
  expect(anew?.epoch).toBe(2)
  expect(anew?.ended).toEqual({ at: at + minute, outcome, ...(inferred && { inferred }) })
  expect(endedAnew(ended(), lacks, listening)).toBeUndefined()
})

function hourAhead(): number {
  return at + 60 * minute
}

test.each([
  ['a word alone', { by: 'azure' } as const, true],
  ['what VMs showed', {}, false],
])('after an end by %s: what people did with the event', (_, how, isKept) => {
  const by = { how: 'link', who: 'chat', at } as const
  const wait = { prepareNow: by }
  const record = ended(how, { taken: by, wait })
  const { taken, wait: waits } = reopened(
    record,
    reporter('web_0', at + minute),
    event(),
    listening,
  )
  expect([taken, waits.prepareNow]).toEqual(isKept ? [by, by] : [undefined, undefined])
})
