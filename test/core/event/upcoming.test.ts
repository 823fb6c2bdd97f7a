import { expect, test } from 'vitest'
import { buildLanes } from '../../../functions/core/event/upcoming.ts'
import { toView } from '../../../functions/core/event/view.ts'
import { at, delivery, facts, notification, record } from '../../support/records.ts'

const minute = 60_000
const of = (eventId: string, resources: string[], minutes: number, more: object = {}) =>
  record({ eventId, facts: facts({ resources, notBeforeAt: at + minutes * minute, ...more }) })

const named = (lanes: ReturnType<typeof buildLanes>) =>
  lanes.map(({ set, slots }) => [
    set,
    slots.map(({ record: { eventId }, clashes }) => (clashes ? `${eventId}!` : eventId)),
  ])

test('one lane for each scale set, the next event first', () => {
  const records = [of('a', ['db_1'], 90), of('b', ['web_1', 'web_2'], 10), of('c', ['web_7'], 300)]
  expect(named(buildLanes(records, [], at))).toEqual([
    ['web', ['b', 'c']],
    ['db', ['a']],
  ])
})

test.each([
  [39, ['a!', 'b!']],
  [50, ['a', 'b']],
])('two events of one set, the second %i min after the first one begins', (minutes, slots) => {
  const records = [of('a', ['web_1'], 0), of('b', ['web_2'], minutes)]
  expect(named(buildLanes(records, [], at))).toEqual([['web', slots]])
})

test('advice has no time, so it has no place, and clashes with nothing', () => {
  const advice = { eventType: 'SpotRebalanceRecommendation', notBeforeAt: undefined }
  const records = [of('a', ['web_1'], 0, advice), of('b', ['web_2'], 5)]
  expect(named(buildLanes(records, [], at))).toEqual([['web', ['b']]])
})

test('short pauses interrupt nobody, however close', () => {
  const freeze = { eventType: 'Freeze', durationSeconds: 9 }
  const records = [of('a', ['web_1'], 0, freeze), of('b', ['web_2'], 5)]
  expect(named(buildLanes(records, [], at))).toEqual([['web', ['a', 'b']]])
})

test('a long event reaches the next one; other fleets and sets do not', () => {
  const records = [
    of('a', ['web_1'], 0, { durationSeconds: 3_600 }),
    of('b', ['web_2'], 80),
    of('c', ['db_1'], 0),
    { ...of('d', ['web_1'], 0), fleet: 'test' },
  ]
  const lanes = buildLanes(records, [], at)
  expect(lanes.map(({ fleet, set }) => `${fleet}/${set}`).sort()).toEqual([
    ...['prod/db', 'prod/web', 'test/web'],
  ])
  expect(named(lanes).find(([, slots]) => slots?.length === 2)).toEqual(['web', ['a!', 'b!']])
})

test('the scale set that a message named, also for VMs with such names', () => {
  const one = of('a', ['fe1a2b_3'], 0)
  const vms = [{ name: 'fe1a2b_3', scaleSet: 'frontend' }]
  const told = delivery('x', { notification: notification({ event: { ...toView(one), vms } }) })
  const records = [one, of('b', ['fe1a2b_4'], 5), of('c', ['other'], 0)]
  expect(named(buildLanes(records, [told], at))).toEqual([
    ['frontend', ['a!', 'b!']],
    ['other', ['c']],
  ])
})
