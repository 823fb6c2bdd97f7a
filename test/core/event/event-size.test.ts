// An event fits into one row, whatever beacons report: history is cut, and decisions stay.
import { expect, test } from 'vitest'
import { agreedOf, isWithin } from '../../../functions/core/event/agreed.ts'
import type { EventRecord } from '../../../functions/core/event/event.ts'
import {
  eventLength,
  fitEvent,
  maxEventLength,
  packEvent,
  unpackEvent,
} from '../../../functions/core/event/event-size.ts'
import { addHistory } from '../../../functions/core/event/history.ts'
import { advance } from '../../../functions/core/event/life.ts'
import { viewOf } from '../../../functions/core/event/view.ts'
import { azureNames, bigFacts, bigNames, bigRecord } from '../../support/big.ts'
import { at, facts, key, record } from '../../support/records.ts'
import { event } from '../../support/world.ts'

const stored = <Event extends EventRecord>(one: Event): Event =>
  unpackEvent(JSON.parse(JSON.stringify(packEvent(one))))

test('an event that fits is left as it is', () => {
  const small = record()
  expect(fitEvent(small)).toBe(small)
})

test('the largest lawful event fits, and keeps its first entry, its decisions and its approval', () => {
  const fitted = fitEvent(bigRecord())
  expect(eventLength(fitted)).toBeLessThanOrEqual(maxEventLength)
  expect(fitted.facts).toEqual(bigFacts())
  expect(fitted.history.map(({ what }) => what).slice(0, 2)).toEqual(['seen', 'approved'])
  expect(stored(fitted).verdict?.agreed?.resources).toEqual(agreedOf(fitted, false).resources)
})

test('before that, it loses the names of VMs that are not ready, and keeps their counts', () => {
  const name = 'n'.repeat(256)
  const one = { vm: name, state: 'failed' as const, since: at, note: '"'.repeat(160) }
  const readiness = { counts: { failed: 20 }, unready: Array(20).fill(one) }
  const small = record({ readiness })
  expect(fitEvent(small)).toBe(small)
  const fitted = fitEvent(bigRecord({ readiness }))
  expect(eventLength(fitted)).toBeLessThanOrEqual(maxEventLength)
  expect(fitted.readiness?.counts).toEqual({ failed: 20 })
  expect(fitted.facts).toEqual(bigFacts())
})

test('cuts history with long notes, the oldest of the least valuable first', () => {
  const long = { what: 'changed' as const, note: 'n'.repeat(50_000) }
  const history = [
    { at, what: 'seen' as const },
    ...Array.from({ length: 40 }, () => ({ at, ...long })),
  ]
  const fitted = fitEvent(record({ history }))
  expect(eventLength(fitted)).toBeLessThanOrEqual(maxEventLength)
  expect(fitted.history).toHaveLength(41)
  const notes = fitted.history.map(({ note = '' }) => note.length)
  expect(Math.max(...notes)).toBeLessThanOrEqual(300)
})

test('cuts repetitions before steps, and keeps decisions', () => {
  let full = bigRecord({ history: [{ at, what: 'seen', note: 'web_0' }] })
  // an approval for other VMs, which Azure knows of, so its names are not in the facts
  full = {
    ...full,
    verdict: {
      ...full.verdict!,
      agreed: agreedOf({ facts: facts({ resources: bigNames(5_000, 400) }) }, false),
    },
  }
  for (let i = 0; i < 30; i++)
    full = addHistory(full, { at, what: 'directed', note: 'd'.repeat(300) })
  const fitted = fitEvent(full)
  expect(eventLength(fitted)).toBeLessThanOrEqual(maxEventLength)
  const whats = fitted.history.map(({ what }) => what)
  expect(whats).not.toContain('directed')
  expect(whats.slice(0, 2)).toEqual(['seen', 'approved'])
})

test('an approval that has no room beside the facts covers nothing rather than everything', () => {
  const other = agreedOf({ facts: bigFacts(9_000) }, false)
  const full = bigRecord()
  const fitted = fitEvent({ ...full, verdict: { ...full.verdict!, agreed: other } })
  expect(eventLength(fitted)).toBeLessThanOrEqual(maxEventLength)
  expect(isWithin(fitted.verdict?.agreed, fitted.facts)).toBe(false)
})

test('reads the approved values back, also if the event has changed since', () => {
  const same = record({ facts: bigFacts() })
  const approved = { decision: 'approved', how: 'link', who: 'chat', at } as const
  const one = { ...same, verdict: { ...approved, agreed: agreedOf(same, true) } }
  expect(stored(one)).toEqual(one)
  const grown = { ...one, facts: { ...one.facts, resources: bigNames(1) } }
  expect(stored(grown)).toEqual(grown)
  expect(unpackEvent(packEvent(viewOf(one)))).toEqual(viewOf(one))
})

test('a note has at most 300 characters, and the number of VMs if there are many', () => {
  const noted = addHistory(record(), { at, what: 'approved', note: 'x'.repeat(5_000) })
  expect(noted.history.at(-1)?.note).toHaveLength(300)
  const before = event()
  const seen = {
    ...{
      kind: 'seen' as const,
      at: at + 1,
      vm: 'web_0',
      live: true,
      appeared: true,
      missedBefore: true,
      since: at,
      previous: before,
    },
    event: event({ resources: bigNames() }),
  } as const
  const changed = advance(record(), seen, at + 1, key).record?.history.at(-1)
  expect(changed?.what).toBe('changed')
  expect(changed?.note?.length).toBeLessThan(60)
  expect(changed?.note).toContain('1000')
})

test('other documents add VMs up to 1 000', () => {
  const known = record({ facts: facts({ resources: azureNames(0, 900) }) })
  const seen = (from: number) =>
    ({
      ...{ kind: 'seen' as const, at: at + from, vm: 'web_0', live: true, appeared: true },
      ...{ missedBefore: true, since: at },
      event: event({ resources: azureNames(from) }),
    }) as const
  const grown = advance(known, seen(5_000), at, key).record!
  expect(grown.facts.resources).toHaveLength(1_000)
  const again = advance(grown, seen(9_000), at, key)
  expect(again.reason).toBe('nothing_new')
})
