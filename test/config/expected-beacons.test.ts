// `expectedBeacons` of a fleet: a number, or names of VMs.
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../functions/config/config.ts'
import { baseConfig, prodKey } from '../support/world.ts'

const read = (expectedBeacons: unknown) => {
  const fleets = { prod: { key: prodKey, expectedBeacons } }
  return readConfig(JSON.stringify({ ...baseConfig, fleets }), {}).fleets.prod!.expectedBeacons
}

describe('expectedBeacons', () => {
  test.each([[1], [10_000], [['web_0', 'db_0']], [undefined]])('%j is as written', (value) => {
    expect(read(value)).toEqual(value)
  })

  test.each([
    ['none', 0],
    ['a part', 1.5],
    ['too many', 10_001],
    ['a text', '40'],
    ['an empty list', []],
    ['an empty name', ['web_0', '']],
    ['numbers in a list', [1]],
    ['a name that is too long', ['x'.repeat(65)]],
  ])('%s: says what to write', (_, value) => {
    expect(() => read(value)).toThrow(/fleets\.prod\.expectedBeacons.*: write how many beacons/)
  })
})
