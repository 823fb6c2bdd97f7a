// The log of moments on Azure Tables. A commit that conflicts or dies leaves an entry without a row,
// which must hide no later moment.
import { describe, expect, test } from 'vitest'
import type { Rows } from '../../functions/store/azure/rows.ts'
import { partitions } from '../../functions/store/azure/time-index.ts'
import { Table } from '../sim/table.ts'
import { around, losingAnswers, storeOn } from '../support/azure-store.ts'
import { at, commitOf, facts, record, telling } from '../support/records.ts'

const maxMoments = 1_000

/** The commit of an event with one moment, which has the event's id. */
function commitWithMoment(eventId: string, id = eventId) {
  const moment = { id, telling: telling({ event: record({ eventId }) }) }
  return commitOf({ record: record({ eventId, dueAt: at }), moments: [moment] })
}

async function unlogged(rows: Rows): Promise<number> {
  return (await rows.list(partitions.unlogged, { from: '', to: '~' })).length
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

test('the moments of an event are in the order of its commits, however many others wait', async () => {
  const rows = new Table().plain()
  const store = storeOn(rows)
  // the second one was decided earlier, for a report whose first commit conflicted
  const commits = [at + 2, at].map((decidedAt, i) => {
    const own = record({ eventId: 'one', sequence: i + 1 })
    const moment = { id: `one-${i + 1}`, telling: telling({ at: decidedAt, event: own }) }
    return commitOf({ record: own, basedOn: i, moments: [moment] })
  })
  for (const commit of commits) expect(await store.commit(commit)).toBe('committed')
  for (let i = 0; i < 120; i++) {
    const other = commitWithMoment(`other-${i}`)
    for (const { telling } of other.moments) telling.at = at + 1
    expect(await store.commit(other)).toBe('committed')
  }
  const ids = (await store.readMoments(0, maxMoments, at)).map(({ id }) => id)
  expect(ids).toHaveLength(122)
  expect(ids.indexOf('one-1')).toBeLessThan(ids.indexOf('one-2'))
})

test('if a commit died, and its moment is committed later, the earlier moment still comes first', async () => {
  const rows = new Table().plain()
  const [first, second] = [1, 2].map((sequence) => {
    const own = record({ eventId: 'one', sequence })
    const moment = { id: `one-${sequence}`, telling: telling({ event: own }) }
    return commitOf({ record: own, basedOn: sequence - 1, moments: [moment] })
  })
  const early = commitOf({ record: first!.record, moments: second!.moments })
  await expect(storeOn(dying(rows)).commit(early)).rejects.toThrow('dead')
  let isFirst = true
  const reader = storeOn({
    ...rows,
    async read(partition, row) {
      // the reader has listed the entry of the dead commit
      if (partition.startsWith('event|') && isFirst) {
        isFirst = false
        for (const one of [first!, second!]) await storeOn(rows).commit(one)
      }
      return rows.read(partition, row)
    },
  })
  await reader.readMoments(0, maxMoments, at)
  expect(isFirst).toBe(false)
  const logged = await reader.readMoments(0, maxMoments, at)
  expect(logged.map(({ id }) => id)).toEqual(['one-1', 'one-2'])
})

test('a moment whose row is replaced while it is read is appended once', async () => {
  const rows = new Table().plain()
  // a later commit notifies a further channel of the same moment
  const [first, second] = [1, 2].map((sequence) => {
    const own = record({ eventId: 'one', sequence })
    const moment = { id: 'same', telling: telling({ at: at + sequence, event: own }) }
    return commitOf({ record: own, basedOn: sequence - 1, moments: [moment] })
  })
  expect(await storeOn(rows).commit(first!)).toBe('committed')
  const reading = Promise.withResolvers<void>()
  const listed = Promise.withResolvers<void>()
  const slow = around(rows, async (change, partition) => {
    if (!partition.startsWith('event|')) return change()
    listed.resolve()
    await reading.promise
    return change()
  })
  const committed = storeOn(slow).commit(second!)
  await listed.promise
  let reads = 0
  const reader = storeOn({
    ...rows,
    async read(partition, row) {
      if (partition.startsWith('event|') && ++reads === 2) {
        reading.resolve()
        await committed
      }
      return rows.read(partition, row)
    },
  })
  const logged = await reader.readMoments(0, maxMoments, at)
  expect(await committed).toBe('committed')
  expect(logged.map(({ id }) => id)).toEqual(['same'])
})

test('moments of large events never exceed one transaction', async () => {
  const lengths: number[] = []
  const rows = around(new Table().plain(), async (change, partition, changes) => {
    const bodies = changes.map((one) => ('body' in one ? one.body.length : 0))
    if (partition === 'log') lengths.push(bodies.reduce((sum, length) => sum + length, 0))
    return change()
  })
  const store = storeOn(rows)
  const resources = Array.from({ length: 1_000 }, (_, i) => `vm-${i}-`.padEnd(230, 'x'))
  const ids = Array.from({ length: 20 }, (_, i) => `large-${i}`)
  for (const id of ids) {
    const event = record({ eventId: id, facts: facts({ resources }) })
    const moments = [{ id, telling: telling({ event }) }]
    await store.commit(commitOf({ record: event, moments }))
  }
  const logged = await store.readMoments(0, maxMoments, at)
  expect(logged.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
  // the storage takes 4 MiB, and a character may take three bytes
  expect(Math.max(...lengths)).toBeLessThan(1_100_000)
})

describe('a commit that conflicts with another one', () => {
  /** The other commit comes between the entries and the rows of this one. */
  const overtaken = (rows: Rows, by: string) => {
    let isFirst = true
    return around(rows, async (change, partition) => {
      if (!partition.startsWith('event|') || !isFirst) return change()
      isFirst = false
      expect(await storeOn(rows).commit(commitWithMoment('one', by))).toBe('committed')
      return change()
    })
  }

  test('leaves no entry of its moment', async () => {
    const rows = new Table().plain()
    const late = storeOn(overtaken(rows, 'theirs'))
    expect(await late.commit(commitWithMoment('one', 'ours'))).toBe('conflict')
    expect(await unlogged(rows)).toBe(1)
    const logged = await storeOn(rows).readMoments(0, maxMoments, at)
    expect(logged.map(({ id }) => id)).toEqual(['theirs'])
    expect(await unlogged(rows)).toBe(0)
  })

  test('removes no entry of the same moment', async () => {
    const rows = new Table().plain()
    const late = storeOn(overtaken(rows, 'same'))
    expect(await late.commit(commitWithMoment('one', 'same'))).toBe('conflict')
    const logged = await storeOn(rows).readMoments(0, maxMoments, at)
    expect(logged.map(({ id }) => id)).toEqual(['same'])
    expect(await unlogged(rows)).toBe(0)
  })

  test('keeps the entry if it was written, and only its answer was lost', async () => {
    const rows = new Table().plain()
    const store = storeOn(losingAnswers(rows, (partition) => partition.startsWith('event|')))
    expect(await store.commit(commitWithMoment('one'))).toBe('committed')
    const logged = await storeOn(rows).readMoments(0, maxMoments, at)
    expect(logged.map(({ id }) => id)).toEqual(['one'])
  })
})
