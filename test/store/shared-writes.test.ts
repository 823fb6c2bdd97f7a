// Writes that share a transaction, and the wait for the disk beside it.
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { SharedWrites } from '../../functions/store/sqlite/shared-writes.ts'
import { Wal } from '../../functions/store/sqlite/wal.ts'

test('a write that fails undoes no other of its transaction, and says so once', async () => {
  const db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE t (text TEXT NOT NULL)')
  const transaction = <Result>(work: () => Result): Result => {
    db.exec('BEGIN')
    try {
      const result = work()
      db.exec('COMMIT')
      return result
    } catch (error) {
      db.exec('ROLLBACK')
      throw error
    }
  }
  const noted: (string | null)[] = []
  const between = (work: () => void) => work()
  const database = { transaction, between, explain: (error: unknown) => error } as never
  const writes = new SharedWrites(database, setImmediate, () => noted.splice(0))
  const write = (text: string | null) =>
    writes.write(() => {
      noted.push(text)
      db.prepare('INSERT INTO t VALUES (?)').run(text)
    })
  const ended = await Promise.allSettled([write('a'), write(null), write('b')])
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  const rows = db.prepare('SELECT text FROM t').all()
  expect(rows.map(({ text }) => text)).toEqual(['a', 'b'])
  expect(noted).toEqual(['b'])
})

/** A disk whose waits end when the test ends them. */
function startDisk() {
  const waits: PromiseWithResolvers<void>[] = []
  const wal = new Wal(() => {
    const wait = Promise.withResolvers<void>()
    waits.push(wait)
    return wait.promise
  })
  const done: string[] = []
  const wait = (name: string) =>
    wal.durable()?.then(
      () => done.push(`${name} is durable`),
      () => done.push(`${name} failed`),
    )
  return { wal, waits, done, wait }
}

test('a commit is durable once the disk has it, and what waits for nothing goes on', async () => {
  const { wal, waits, done, wait } = startDisk()
  expect(wal.durable()).toBe(undefined)
  wal.note()
  const waiting = wait('a')
  await nextTurn()
  expect(done).toEqual([])
  waits[0]!.resolve()
  await waiting
  expect(done).toEqual(['a is durable'])
  expect(wal.durable()).toBe(undefined)
})

test('commits during a wait share the next one, as the disk may have begun before them', async () => {
  const { wal, waits, done, wait } = startDisk()
  wal.note()
  const first = wait('a')
  await nextTurn()
  wal.note()
  const second = wait('b')
  wal.note()
  const third = wait('c')
  waits[0]!.resolve()
  await first
  await nextTurn()
  expect(done).toEqual(['a is durable'])
  waits[1]!.resolve()
  await Promise.all([second, third])
  expect({ done, waits: waits.length }).toEqual({
    done: ['a is durable', 'b is durable', 'c is durable'],
    waits: 2,
  })
})

test('if the disk fails once, nothing counts as durable any more', async () => {
  const { wal, waits, done, wait } = startDisk()
  wal.note()
  const first = wait('a')
  await nextTurn()
  wal.note()
  const second = wait('b')
  waits[0]!.reject(new Error('EIO'))
  await Promise.all([first, second])
  wal.note()
  await wait('c')
  expect({ done, waits: waits.length }).toEqual({
    done: ['a failed', 'b failed', 'c failed'],
    waits: 1,
  })
})
