// Who waits for the disk, and for whom: patient writes let the thread go on, others do not wait for
// them.
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Database } from '../../functions/store/sqlite/database.ts'
import { SharedWrites } from '../../functions/store/sqlite/shared-writes.ts'

const patient = { isPatient: true }

/** A disk whose waits end when the test ends them. */
function startBench() {
  const db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE t (text TEXT NOT NULL)')
  const waits: PromiseWithResolvers<void>[] = []
  const sync = () => {
    const wait = Promise.withResolvers<void>()
    waits.push(wait)
    return wait.promise
  }
  const database: Database = {
    isAlone: true,
    prepare() {
      throw new Error('not used')
    },
    transaction(work) {
      db.exec('BEGIN')
      try {
        const result = work()
        db.exec('COMMIT')
        return result
      } catch (error) {
        db.exec('ROLLBACK')
        throw error
      }
    },
    sync,
    explain: (error) => error,
    close() {},
  }
  const writes = new SharedWrites(database, setImmediate)
  const done: string[] = []
  const write = (text: string | null, options?: typeof patient) =>
    writes
      .write(() => db.prepare('INSERT INTO t VALUES (?)').run(text), options)
      .then(
        () => done.push(`${text} is durable`),
        () => done.push(`${text} failed`),
      )
  const rows = () =>
    db
      .prepare('SELECT text FROM t')
      .all()
      .map(({ text }) => text)
  return { write, waits, done, rows }
}

test('a patient write is there at once, and answered once the disk has it', async () => {
  const { write, waits, done, rows } = startBench()
  const written = write('a', patient)
  await nextTurn()
  expect({ rows: rows(), done: [...done] }).toEqual({ rows: ['a'], done: [] })
  waits[0]!.resolve()
  await written
  expect(done).toEqual(['a is durable'])
})

test('patient writes of the meantime share the next wait', async () => {
  const { write, waits, done, rows } = startBench()
  const all = [write('a', patient)]
  await nextTurn()
  all.push(write('b', patient), write('c', patient))
  await nextTurn()
  expect(rows()).toEqual(['a'])
  waits[0]!.resolve()
  await all[0]
  await nextTurn()
  expect(rows()).toEqual(['a', 'b', 'c'])
  waits[1]!.resolve()
  await Promise.all(all)
  expect(waits).toHaveLength(2)
  expect(done).toEqual(['a is durable', 'b is durable', 'c is durable'])
})

test('other writes do not wait for patient ones, and take those that wait along', async () => {
  const { write, waits, done } = startBench()
  void write('a', patient)
  await nextTurn()
  void write('b', patient)
  await write('c')
  expect(done).toEqual(['b is durable', 'c is durable'])
  expect(waits).toHaveLength(1)
})

test('if the disk fails, the patient write fails, and later ones go on', async () => {
  const { write, waits, done } = startBench()
  const first = write('a', patient)
  await nextTurn()
  waits[0]!.reject(new Error('EIO'))
  await first
  const second = write('b', patient)
  await nextTurn()
  waits[1]!.resolve()
  await second
  expect(done).toEqual(['a failed', 'b is durable'])
})

test('a write that fails undoes no other of its transaction', async () => {
  const { write, done, rows } = startBench()
  await Promise.all([write('a'), write(null), write('b')])
  expect(rows()).toEqual(['a', 'b'])
  expect(done.toSorted()).toEqual(['a is durable', 'b is durable', 'null failed'])
})
