// `owners`: the channels that receive alerts, of the whole configuration and of each fleet.
import { describe, expect, test } from 'vitest'
import { adviseOn } from '../../functions/check/advice.ts'
import { readConfig } from '../../functions/config/config.ts'
import { listOwners } from '../../functions/core/rules/owners.ts'
import { baseConfig } from '../support/world.ts'

const { prod, test: second } = baseConfig.fleets as Record<string, object>
const read = (changes: object) => readConfig(JSON.stringify({ ...baseConfig, ...changes }), {})

function mistakesIn(changes: object): string {
  try {
    read(changes)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

describe('owners', () => {
  test("a fleet's own replace those of the top level", () => {
    const fleets = { prod: { ...prod, owners: ['chat', 'chat'] }, test: second }
    const config = read({ owners: ['hook', 'team'], fleets })
    expect(listOwners(config, 'prod')).toEqual(['chat'])
    expect(listOwners(config, 'test')).toEqual(['hook', 'team'])
    expect(listOwners(config, 'toString')).toEqual(['hook', 'team'])
  })

  test('may be left out everywhere', () => {
    expect(listOwners(read({}), 'prod')).toEqual([])
  })

  test.each<[string, object, string]>([
    [
      'a channel that does not exist',
      { owners: ['hook', 'hok'] },
      'owners[1]: there is no channel "hok"',
    ],
    ['none', { owners: [] }, 'owners: write 1 to 20'],
    ['a text', { owners: 'hook' }, 'owners: write 1 to 20'],
    ['a number in the list', { owners: [1] }, 'owners[0]: write 1 to 20'],
    [
      'of a fleet, a channel that does not exist',
      { fleets: { prod: { ...prod, owners: ['hok'] } } },
      'fleets.prod.owners[0]: there is no channel "hok"; allowed are "chat", "team", "pager", "hook"; did you mean "hook"?',
    ],
  ])('%s: says where, and what to write', (_, changes, said) => {
    expect(mistakesIn(changes)).toContain(said)
  })

  test('a channel for alerts alone is no channel without a use', () => {
    const routes = [{ match: {}, channels: ['chat', 'team', 'pager'] }]
    const about = (changes: object) =>
      adviseOn(read({ routes, ...changes })).filter((one) =>
        one.startsWith('channels.hook: no route'),
      )
    expect(about({})).toHaveLength(1)
    expect(about({ owners: ['hook'] })).toEqual([])
    const fleets = { prod: { ...prod, owners: ['hook'] } }
    expect(about({ fleets })).toEqual([])
  })
})
