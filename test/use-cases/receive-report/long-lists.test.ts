// Lists of VMs in sightings: long ones are stored in part, and still compare as a whole.
import { describe, expect, test } from 'vitest'
import { isWithin } from '../../../functions/core/event/agreed.ts'
import { contradictions } from '../../../functions/core/event/dispute.ts'
import { isHit } from '../../../functions/core/event/event.ts'
import { transition } from '../../../functions/core/event/new-values.ts'
import { namesKey, withStoredNames } from '../../../functions/core/event/vm-names.ts'
import { azureNames, bigNames } from '../../support/big.ts'
import { facts, record } from '../../support/records.ts'
import { createWorld, event, eventId, FakeBeacon } from '../../support/world.ts'

const few = ['web_0', 'web_1']
const many = azureNames(0, 900)
const own = many[800]!
const shown = (resources: string[]) => event({ resources })
const lengthOf = (value: object) => JSON.stringify(value).length
const stored = (resources: string[], vm = own) => withStoredNames(shown(resources), vm)

describe('a list in a sighting', () => {
  test('that is short stays as it is', () => {
    expect(stored(few)).toEqual(shown(few))
    expect(stored([])).toEqual(shown([]))
  })

  test('that is long is stored in part, with the VM of the beacon, and once', () => {
    const part = stored(many)
    expect(JSON.stringify(part).length).toBeLessThan(3_000)
    expect(isHit(part, own.toUpperCase())).toBe(true)
    expect(isHit(stored(many, 'another'), 'another')).toBe(false)
    expect(withStoredNames(part, own)).toEqual(part)
  })

  test.each([
    ['few', few],
    ['many', many],
  ])('%s: case, order and repetition do not matter', (_, names) => {
    const other = [...names].reverse().map((name) => name.toUpperCase())
    expect(namesKey(shown([...other, ...other]))).toBe(namesKey(shown(names)))
    expect(namesKey(shown(names.slice(1)))).not.toBe(namesKey(shown(names)))
  })
})

test('a report stores the part, and the next one of the same list stores nothing new', async () => {
  const world = await createWorld()
  const beacon = new FakeBeacon(world, 'web_0')
  await beacon.sees([shown(many)])
  const rows = async () =>
    (await world.store.readObservers({ fleet: 'prod', eventId })).map(lengthOf)
  const first = await rows()
  expect(first[0]).toBeLessThan(4_000)
  await beacon.sees([shown(many)])
  expect(await rows()).toEqual(first)
  expect((await world.getEvent(eventId)).body.resources).toEqual(many)
  world.store.close()
})

test('names that Azure would not give fill no row: the first ones stay', async () => {
  const world = await createWorld()
  const names = ['web_0', ...bigNames(0, 980)]
  await new FakeBeacon(world, 'web_0').sees([shown(names)])
  const { resources } = (await world.getEvent(eventId)).body
  expect(lengthOf(resources)).toBeLessThanOrEqual(80_000)
  expect(resources).toEqual(names.slice(0, resources.length))
  await new FakeBeacon(world, 'web_1').sees([shown(bigNames(5_000, 980))])
  expect(lengthOf((await world.getEvent(eventId)).body.resources)).toBeLessThanOrEqual(80_000)
  world.store.close()
})

describe('a list that is stored in part', () => {
  const fewer = many.slice(0, 899)

  test('contradicts another list, and not its own', () => {
    expect(contradictions(facts({ resources: many }), stored(many))).toEqual([])
    expect(contradictions(facts({ resources: fewer }), stored(many))).toEqual(['resources'])
  })

  test('is covered by an approval of the same VMs, and by no other', () => {
    const approved = (resources: string[]) => ({ eventType: 'Reboot', resources })
    expect(isWithin(approved(many), stored(many))).toBe(true)
    expect(isWithin(approved(fewer), stored(many))).toBe(false)
    expect(isWithin(approved(many), shown(fewer))).toBe(true)
  })

  test('is no change if the next document shows the same, and one if it does not', () => {
    const known = record({ facts: facts({ resources: few }) })
    const seen = { at: known.firstSeenAt + 1, live: true, event: shown(many) }
    expect(transition(known, { ...seen, previous: stored(many) })).toEqual({})
    expect(transition(known, { ...seen, previous: stored(fewer) })).toEqual({ resources: many })
  })
})
