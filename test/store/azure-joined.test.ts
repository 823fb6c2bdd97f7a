// Changes that are joined into one transaction end as if each had been made for itself.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JoinedRows } from '../../functions/store/azure/joined.ts'
import type { Change, Rows } from '../../functions/store/azure/rows.ts'
import { FoghornError } from '../../shared/errors.ts'
import { Table } from '../sim/table.ts'
import { around } from '../support/azure-store.ts'

const everything = { from: '', to: '~' }
const never = () => new Promise<void>(() => {})
const put = (row: string, body = 'b'): Change => ({ kind: 'put', row, body })

/** Rows in memory, and the changes of each call. */
function counted(rows: Rows = new Table().plain()) {
  const calls: Change[][] = []
  const counting = around(rows, (change, _partition, changes) => {
    calls.push(changes)
    return change()
  })
  return { calls, rows: new JoinedRows(counting, never), plain: rows }
}

test('changes of one moment take one call, and those that follow meanwhile another', async () => {
  const { rows, calls } = counted()
  const first = [rows.change('p', [put('a')]), rows.change('p', [put('b'), put('c')])]
  await Promise.resolve()
  await Promise.resolve()
  const later = [rows.change('p', [put('d')]), rows.change('p', [put('e')])]
  expect((await Promise.all([...first, ...later])).map((one) => one.length)).toEqual([1, 2, 1, 1])
  expect(calls.map((one) => one.length)).toEqual([3, 2])
})

test('each caller gets the etags of its own rows', async () => {
  const { rows } = counted()
  const [one, other] = await Promise.all([
    rows.change('p', [put('a')]),
    rows.change('p', [put('b')]),
  ])
  expect(one).toEqual([(await rows.read('p', 'a'))!.etag])
  expect(other).toEqual([(await rows.read('p', 'b'))!.etag])
})

test('a row that two callers change, and what is too large together, takes a call of its own', async () => {
  const { rows, calls } = counted()
  const large = 'x'.repeat(400_000)
  const names = ['a', 'b', 'c', 'd']
  await Promise.all([rows.change('p', [put('a', '1')]), rows.change('p', [put('a', '2')])])
  await Promise.all(names.map((name) => rows.change('q', [put(name, large)])))
  const many = Array.from({ length: 60 }, (_, i) => put(`r${i}`))
  const others = many.map((one) => ({ ...one, row: `s${one.row}` }))
  await Promise.all([rows.change('r', many), rows.change('r', others)])
  expect(calls.map((one) => one.length)).toEqual([1, 1, 2, 2, 60, 60])
  expect((await rows.read('p', 'a'))?.body).toBe('2')
})

test('a removal with a condition is alone', async () => {
  const { rows, calls } = counted()
  const [etag] = (await rows.change('p', [put('a')])) as string[]
  const removal: Change = { kind: 'remove', row: 'a', etag: etag! }
  await Promise.all([rows.change('p', [removal]), rows.change('p', [put('b')])])
  expect(calls.map((one) => one.length)).toEqual([1, 1, 1])
})

test('one change that is too large fails for itself', async () => {
  const { rows } = counted()
  const works = [rows.change('p', [put('a', 'x'.repeat(500_000))]), rows.change('p', [put('b')])]
  const [large, small] = await Promise.allSettled(works)
  expect(large).toMatchObject({ status: 'rejected', reason: { code: 'row_too_large' } })
  expect(small?.status).toBe('fulfilled')
})

test('if the storage fails, each caller hears of it after one call', async () => {
  let calls = 0
  const failing = around(new Table().plain(), async () => {
    calls += 1
    throw new FoghornError('storage_unavailable', 'the storage is away')
  })
  const rows = new JoinedRows(failing, never)
  const works = [rows.change('p', [put('a')]), rows.change('p', [put('b')])]
  for (const { status } of await Promise.allSettled(works)) expect(status).toBe('rejected')
  expect(calls).toBe(1)
})

test('a call that hangs does not hold up later ones for long', async () => {
  const table = new Table().plain()
  const hanging = around(table, (change, _partition, [first]) =>
    first!.row === 'a' ? new Promise(() => {}) : change(),
  )
  const rows = new JoinedRows(hanging, async () => {})
  void rows.change('p', [put('a')])
  await Promise.resolve()
  await Promise.resolve()
  expect(await rows.change('p', [put('b')])).toHaveLength(1)
})

test('reads of one moment share a call', async () => {
  let reads = 0
  const table = new Table().plain()
  const counting: Rows = {
    ...table,
    read: (...args) => {
      reads += 1
      return table.read(...args)
    },
  }
  const rows = new JoinedRows(counting, never)
  await rows.change('p', [put('a')])
  const found = await Promise.all([rows.read('p', 'a'), rows.read('p', 'a'), rows.read('p', 'b')])
  expect(found.map((row) => row?.body)).toEqual(['b', 'b', undefined])
  expect(reads).toBe(2)
})

const name = fc.constantFrom('a', 'b', 'c', 'd')
const change = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), row: name, body: fc.string() }),
  fc.record({ kind: fc.constant('put' as const), row: name, body: fc.string() }),
  fc.record({ kind: fc.constant('remove' as const), row: name }),
  fc.record({ kind: fc.constant('replace' as const), row: name, body: fc.string() }),
)
const unit = fc.uniqueArray(change, { minLength: 1, maxLength: 3, selector: ({ row }) => row })

test('in their order, each as if alone', () =>
  fc.assert(
    fc.asyncProperty(fc.array(unit, { maxLength: 8 }), async (units) => {
      const table = new Table().plain()
      const alone = new Table().plain()
      for (const rows of [table, alone]) await rows.change('p', [put('a'), put('b')])
      const withEtags = async (rows: Rows) => {
        const found = await rows.list('p', everything)
        const etagOf = (row: string) => found.find((one) => one.row === row)?.etag ?? 'none'
        return units.map((own) =>
          own.map(
            (one): Change => (one.kind === 'replace' ? { ...one, etag: etagOf(one.row) } : one),
          ),
        )
      }
      const joined = new JoinedRows(table, never)
      const outcomes = await Promise.all(
        (await withEtags(table)).map((own) => joined.change('p', own)),
      )
      const expected = []
      for (const own of await withEtags(alone)) expected.push(await alone.change('p', own))
      const bodies = async (rows: Rows) =>
        (await rows.list('p', everything)).map(({ row, body }) => [row, body])
      expect(await bodies(table)).toEqual(await bodies(alone))
      expect(outcomes.map((one) => one === 'conflict')).toEqual(
        expected.map((one) => one === 'conflict'),
      )
    }),
  ))
