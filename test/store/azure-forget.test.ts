// An event that ended long ago is removed completely, and an event that is reopened meanwhile loses
// nothing.
import { describe, expect, test } from 'vitest'
import { Table } from '../sim/table.ts'
import { around, entriesIn, rowsOf, storeOn, unfound } from '../support/azure-store.ts'
import { claim } from '../support/claims.ts'
import { at, beaconOf, commitOf, delivery, key, record, sighting } from '../support/records.ts'

const newRows = () => new Table().plain()

const day = 24 * 3_600_000
const isEvent = (partition: string) => partition.startsWith('event|')

describe('forgetting', () => {
  test('an event that is reopened meanwhile loses none of its new deliveries', async () => {
    const own = newRows()
    const healthy = storeOn(own)
    const over = record({ ended: { at: at - 1, outcome: 'completed' } })
    const old = delivery('old', { state: 'delivered' })
    await healthy.commit(commitOf({ record: over, deliveries: [old] }))
    await healthy.writeBeacon(beaconOf('web_0', { heardAt: at }), [sighting('web_0')])
    const again = record({ epoch: 2, sequence: 2, dueAt: at })
    let reopened = false
    // sightings are removed first
    const slow = around(own, async (change, partition) => {
      if (!reopened && partition.startsWith('beacons|')) {
        reopened = true
        const deliveries = [delivery('new', { seq: 128 })]
        await healthy.commit(commitOf({ record: again, basedOn: 1, deliveries }))
      }
      return change()
    })
    expect(await storeOn(slow).forget(at, 9)).toBe(0)
    expect(reopened).toBe(true)
    expect(await healthy.readEvent(key)).toEqual(again)
    expect((await claim(healthy, { limit: 9 })).map(({ id }) => id)).toEqual(['new'])
    expect(await unfound(own, [key])).toEqual([])
  })

  test('an event that is reopened between two steps keeps its new deliveries and its record', async () => {
    const own = newRows()
    const healthy = storeOn(own)
    const over = record({ ended: { at: at - 1, outcome: 'completed' } })
    for (const [i, part] of ['x', 'y', 'z'].entries()) {
      const deliveries = Array.from({ length: 60 }, (_, n) =>
        delivery(`${part}${n}`, { state: 'delivered' }),
      )
      const whole = { ...over, sequence: i + 1 }
      await healthy.commit(commitOf({ record: whole, basedOn: i, deliveries }))
    }
    const again = record({ epoch: 2, sequence: 4, dueAt: at })
    let steps = 0
    const slow = around(own, async (change, partition) => {
      if (isEvent(partition) && ++steps === 2) {
        const deliveries = [delivery('new', { seq: 128 })]
        await healthy.commit(commitOf({ record: again, basedOn: 3, deliveries }))
      }
      return change()
    })
    expect(await storeOn(slow).forget(at, 9)).toBe(0)
    expect(steps).toBe(2)
    expect(await healthy.readEvent(key)).toEqual(again)
    expect((await claim(healthy, { limit: 9 })).map(({ id }) => id)).toEqual(['new'])
  })

  test('an event with more deliveries than a transaction takes is removed completely', async () => {
    const own = newRows()
    const store = storeOn(own)
    for (const [i, part] of ['x', 'y', 'z', 'end'].entries()) {
      const deliveries = Array.from({ length: 60 }, (_, n) => delivery(`${part}${n}`))
      const ended = { at: at - 1, outcome: 'completed' as const }
      const whole = record({ sequence: i + 1, ...(part === 'end' && { ended }) })
      await store.commit(commitOf({ record: whole, basedOn: i, deliveries }))
    }
    await store.attention.note(key, at)
    expect(await store.forget(at, 9)).toBe(1)
    expect(await rowsOf(own, key)).toEqual([])
    expect(await entriesIn(own)).toEqual([])
  })

  test('more deliveries than a transaction takes are forgotten by two commits, with their views and entries', async () => {
    const own = newRows()
    const store = storeOn(own)
    const old = Array.from({ length: 60 }, (_, n) => delivery(`${n}`, { state: 'refused' }))
    await store.commit(commitOf({ record: record(), deliveries: old }))
    const forget = old.map(({ id }) => id)
    for (const sequence of [2, 3]) {
      const whole = record({ sequence })
      await store.commit(commitOf({ record: whole, basedOn: sequence - 1, forget }))
    }
    expect(await rowsOf(own, key)).toHaveLength(1)
    const quiet = newRows()
    await storeOn(quiet).commit(commitOf({ record: record() }))
    expect(await entriesIn(own)).toHaveLength((await entriesIn(quiet)).length)
  })

  test('a beacon that was heard again can be found, and is removed after a long silence', async () => {
    const own = newRows()
    const store = storeOn(own)
    const beacon = beaconOf('web_0')
    await store.writeBeacon(beacon, [])
    await store.writeBeacon({ ...beacon, counter: 2, heardAt: at + day }, [])
    expect(await store.forget(at + 1, 9)).toBe(0)
    expect(await unfound(own, [])).toEqual([])
    expect(await entriesIn(own)).toHaveLength(1)
    expect(await store.forget(at + day, 9)).toBe(0)
    expect(await store.forget(at + day + 1, 9)).toBe(1)
    expect(await entriesIn(own)).toEqual([])
  })
})
