// The log of moments on Azure Tables. A commit that conflicts or dies leaves an entry without a row,
// which must hide no later moment.
import { expect, test } from 'vitest'
import type { Rows } from '../../functions/store/azure/rows.ts'
import { Table } from '../sim/table.ts'
import { around, storeOn } from '../support/azure-store.ts'
import { at, commitOf, record, telling } from '../support/records.ts'

const maxMoments = 1_000

/** The commit of an event with one moment, which has the event's id. */
function commitWithMoment(eventId: string) {
  const moment = { id: eventId, telling: telling({ event: record({ eventId }) }) }
  return commitOf({ record: record({ eventId }), moments: [moment] })
}

/** A process that dies between the entries and the rows of each commit. */
function dying(rows: Rows): Rows {
  return around(rows, async (change, partition) => {
    if (partition.startsWith('event|')) throw new Error('the process is dead')
    return change()
  })
}

test('many entries without rows hide no later moment', async () => {
  const rows = new Table().plain()
  const dead = storeOn(dying(rows))
  const store = storeOn(rows)
  const ids = ['a', 'b', 'c', 'd'].flatMap((name) =>
    Array.from({ length: 30 }, (_, i) => `${name}${i}`),
  )
  for (const id of ids) {
    await expect(dead.commit(commitWithMoment(`lost-${id}`))).rejects.toThrow('dead')
    expect(await store.commit(commitWithMoment(id))).toBe('committed')
  }
  const read = async () => (await store.readMoments(0, maxMoments, at)).map(({ id }) => id)
  expect((await read()).toSorted()).toEqual(ids.toSorted())
  // all entries that are left are without rows
  expect(await store.commit(commitWithMoment('last'))).toBe('committed')
  expect((await read()).at(-1)).toBe('last')
})
