// An event fits into one row, whatever beacons report.
import { expect, test } from 'vitest'
import { addHistory, eventLength, fitEvent } from '../../../functions/core/event/history.ts'
import { tidyEvent } from '../../../functions/core/event/tidy.ts'
import { withValues } from '../../../functions/core/event/values.ts'
import { maxEventLength } from '../../../functions/core/limits.ts'
import { bigNames, bigRecord } from '../../support/big.ts'
import { at, facts, openRecord, record, sight } from '../../support/records.ts'
import { event } from '../../support/world.ts'

test('the largest event that Azure may make fits as it is', () => {
  const large = bigRecord({ sights: bigNames().map((vm) => sight(vm)) })
  expect(fitEvent(large)).toBe(large)
})

test('if VMs say too much of themselves, the largest sights have no place', () => {
  const tags = Object.fromEntries([...Array(50).keys()].map((i) => [`${i}`, 'x'.repeat(256)]))
  const sights = bigNames().map((vm, i) => sight(vm, i % 2 === 0 ? { tags } : {}))
  const fitted = fitEvent(bigRecord({ sights }))
  expect(eventLength(fitted)).toBeLessThanOrEqual(maxEventLength)
  expect(fitted.sights.filter((one) => one.tags['0'] === undefined)).toHaveLength(100)
  expect(fitted.sights.length).toBeGreaterThan(100)
})

test('sights of onlookers leave before those of affected VMs', () => {
  const tags = Object.fromEntries([...Array(50).keys()].map((i) => [`${i}`, 'x'.repeat(256)]))
  const sights = [...bigNames(), 'onlooker'].map((vm, i) => sight(vm, i % 2 === 1 ? { tags } : {}))
  const fitted = fitEvent(bigRecord({ sights }))
  expect(fitted.sights.map(({ vm }) => vm)).not.toContain('onlooker')
})

test.each([
  ['200 names of 196 characters', 200, 196, 200],
  ['one name more', 201, 10, 200],
  // as JSON, each takes three more characters, and the list one
  ['200 names of 198 characters', 200, 198, 199],
])(
  'of the names of an event, 40,000 characters and 200 names are kept: %s',
  (_, count, length, kept) => {
    const resources = Array.from({ length: count }, (_name, i) => `${i}`.padStart(length, 'x'))
    const tidied = tidyEvent(event({ resources }))
    expect(tidied.resources).toHaveLength(kept)
    expect(tidied.vmCount).toBe(kept === count ? undefined : count)
  },
)

test('a VM that names itself adds one name, whatever else its document lists', () => {
  const names = (n: number) =>
    Array.from({ length: 199 }, (_, i) => `liar${n}-${i}`.padEnd(190, 'x'))
  let known = openRecord({ sights: [sight('web_0')] })
  for (let n = 0; n < 10; n++) {
    const liar = { ...sight(`evil_${n}`), polledAt: at + n + 1 }
    const shown = { ...facts({ resources: [liar.vm, ...names(n)] }), status: 'Scheduled' as const }
    known = withValues(known, liar, shown, { now: at + n + 1, listeningSince: 0 })
  }
  // no more than onlookers have places, until an affected VM names them
  expect(known.facts.resources).toEqual([
    'web_0',
    ...Array.from({ length: 4 }, (_, n) => `evil_${n}`),
  ])
})

test('a VM that names itself in an event of too many VMs leaves it one', () => {
  const large = openRecord({ facts: facts({ vmCount: 300 }) })
  const liar = { ...sight('evil'), polledAt: at + 1 }
  const shown = { ...facts({ resources: ['evil'] }), status: 'Scheduled' as const }
  expect(withValues(large, liar, shown, { now: at + 1, listeningSince: 0 }).facts.vmCount).toBe(300)
})

test('a note has at most 300 characters, and the number of VMs if there are many', () => {
  const noted = addHistory(record(), { at, what: 'approved', note: 'x'.repeat(5_000) })
  expect(noted.history.at(-1)?.note).toHaveLength(300)
  const shown = { ...facts({ resources: bigNames() }), status: 'Scheduled' as const }
  const listening = { now: at + 1, listeningSince: 0 }
  const { history } = withValues(openRecord(), sight('web_0'), shown, listening)
  expect(history.at(-1)).toMatchObject({ what: 'changed', note: 'resources: 200 VMs' })
})
