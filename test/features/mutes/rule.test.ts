// When a mute begins, and which of several counts.
import { expect, test } from 'vitest'
import {
  type Mute,
  maxMuteMs,
  mutedBy,
  timesOfMute,
} from '../../../functions/features/mutes/rule.ts'
import { at, facts, record, sight } from '../../support/records.ts'

const minute = 60_000
const day = 86_400_000

test.each([
  ['now', undefined, { until: at + 30 * minute }],
  ['in the past, which is now', at - minute, { until: at + 30 * minute }],
  ['later', at + minute, { from: at + minute, until: at + 31 * minute }],
  ['in 30 days', at + 30 * day, { from: at + 30 * day, until: at + 30 * day + 30 * minute }],
  ['in more than 30 days', at + 30 * day + 1, undefined],
])('a mute of 30 minutes may begin %s', (_, from, times) => {
  const text = from === undefined ? undefined : new Date(from).toISOString()
  expect(timesOfMute(30, text, at)).toEqual(times)
  expect(maxMuteMs).toBe(30 * day)
})

const mute = (id: string, more: Partial<Mute> = {}): Mute => ({
  ...{ id, fleet: 'prod', createdAt: at, reason: '', by: { how: 'token', who: 'ops' } },
  ...{ from: at, until: at + 60 * minute, ...more },
})
const event = record({ facts: facts({ resources: ['vm1'] }), firstSeenAt: at })
const vm = [sight('vm1', { scaleSet: 'web' })]

test.each<[string, Mute[], string | undefined]>([
  ['of its fleet', [mute('a')], 'a'],
  ['of another fleet', [mute('a', { fleet: 'dev' })], undefined],
  ['of its set', [mute('a', { scaleSet: 'web' })], 'a'],
  ['of another set', [mute('a', { scaleSet: 'db' })], undefined],
  ['that is over', [mute('a', { until: at + 1 })], undefined],
  ['that has not begun', [mute('a', { from: at + 2 })], undefined],
  [
    'that ends last, of three',
    [10, 30, 20].map((m) => mute(`${m}`, { until: at + m * minute })),
    '30',
  ],
])('an event is muted by a mute %s', (_, mutes, id) => {
  expect(mutedBy(mutes, event, vm, at + 1)?.id).toBe(id)
})

test('while the beacon of its VM may still report, a mute of a set counts', () => {
  const mutes = [mute('a', { scaleSet: 'web' })]
  expect(mutedBy(mutes, event, [], at + 9_999)).toMatchObject({ id: 'a', lookAt: at + 10_000 })
  expect(mutedBy(mutes, event, [], at + 10_000)).toBeUndefined()
})
