// The promises of a table (functions/store/azure/rows.ts), of the one in Azure Storage and of the one in memory: so
// what the store makes of its rows can be tested in memory, where a call costs nothing.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Change, Rows } from '../../functions/store/azure/rows.ts'
import { Table } from '../sim/table.ts'
import { newRows } from '../support/azure-store.ts'
import { type Azurite, startAzurite } from '../support/azurite.ts'

let azurite: Azurite
beforeAll(async () => {
  azurite = await startAzurite()
})
afterAll(() => azurite.stop())

const tables: [string, () => Rows][] = [
  ['in Azurite', () => newRows(azurite)],
  ['in memory', () => new Table().plain()],
]

const everything = { from: '', to: '~' }
const put = (row: string, body = row): Change => ({ kind: 'put', row, body })

describe.each(tables)('a table %s', (_, make) => {
  let rows: Rows
  beforeEach(() => {
    rows = make()
  })

  async function contents(partition = 'here') {
    const found = await rows.list(partition, everything)
    return Object.fromEntries(found.map(({ row, body }) => [row, body]))
  }

  async function write(row: string, body = row): Promise<string> {
    const [etag = ''] = await rows.change('here', [put(row, body)])
    return etag
  }

  test('has no row at first', async () => {
    expect(await rows.read('here', 'a')).toBeUndefined()
    expect(await rows.list('here', everything)).toEqual([])
  })

  test('returns a row as it was written, with the etag that the write returned', async () => {
    const etag = await write('a', '{"x":"ü 🚢"}')
    const row = { row: 'a', body: '{"x":"ü 🚢"}', etag }
    expect(await rows.read('here', 'a')).toEqual(row)
    expect(await rows.list('here', everything)).toEqual([row])
    expect(await rows.read('there', 'a')).toBeUndefined()
    expect(await contents('there')).toEqual({})
  })

  test('gives each version of a row an etag of its own', async () => {
    const etags = [await write('a'), await write('a', 'b'), await write('a', 'b')]
    expect(new Set(etags).size).toBe(3)
  })

  test('lists the rows of a range in order, without its end, and at most `limit`', async () => {
    await rows.change(
      'here',
      ['c', 'a|2', 'b', 'a|10', 'a'].map((row) => put(row)),
    )
    const names = async (from: string, to: string, limit?: number) => {
      const range = { from, to, ...(limit !== undefined && { limit }) }
      return (await rows.list('here', range)).map(({ row }) => row)
    }
    expect(await names('', '~')).toEqual(['a', 'a|10', 'a|2', 'b', 'c'])
    expect(await names('a|', 'b')).toEqual(['a|10', 'a|2'])
    expect(await names('a|2', 'c', 1)).toEqual(['a|2'])
  })

  test('of more than 1 000 rows is listed completely, or up to a limit', async () => {
    const names = Array.from({ length: 1_050 }, (_, i) => `r${String(i).padStart(5, '0')}`)
    for (let from = 0; from < names.length; from += 100) {
      await rows.change(
        'here',
        names.slice(from, from + 100).map((name) => put(name)),
      )
    }
    expect((await rows.list('here', everything)).map(({ row }) => row)).toEqual(names)
    expect(await rows.list('here', { ...everything, limit: 1_020 })).toHaveLength(1_020)
    const some = await rows.list('here', { from: 'r00010', to: 'r00013', limit: 9 })
    expect(some.map(({ row }) => row)).toEqual(['r00010', 'r00011', 'r00012'])
  })

  /** With a row `a`, and the etags of its first version and of the one that it has. */
  const conflicts: [string, (was: string, is: string) => Change][] = [
    ['an insert of a row that exists', () => ({ kind: 'insert', row: 'a', body: 'new' })],
    [
      'a replacement of an earlier version',
      (was) => ({ kind: 'replace', row: 'a', body: 'new', etag: was }),
    ],
    [
      'a replacement of a row that does not exist',
      (_, is) => ({ kind: 'replace', row: 'none', body: 'new', etag: is }),
    ],
    ['a removal of an earlier version', (was) => ({ kind: 'remove', row: 'a', etag: was })],
    ['a removal of a row that does not exist', () => ({ kind: 'remove', row: 'none' })],
  ]
  test.each(conflicts)('refuses %s', async (_, changeOf) => {
    const [was, is] = [await write('a'), await write('a', 'second')]
    expect(await rows.change('here', [changeOf(was, is)])).toBe('conflict')
    expect(await contents()).toEqual({ a: 'second' })
  })

  test('makes the changes whose condition is met', async () => {
    const etag = await write('a')
    const replace: Change = { kind: 'replace', row: 'a', body: 'second', etag }
    const [second = ''] = await rows.change('here', [replace])
    expect(await rows.read('here', 'a')).toEqual({ row: 'a', body: 'second', etag: second })
    const insert: Change = { kind: 'insert', row: 'b', body: 'b' }
    expect(await rows.change('here', [insert])).toEqual([expect.any(String)])
    expect(await rows.change('here', [{ kind: 'remove', row: 'a', etag: second }])).toEqual([''])
    expect(await rows.change('here', [{ kind: 'remove', row: 'b' }])).toEqual([''])
    expect(await contents()).toEqual({})
  })

  test('makes all changes or none', async () => {
    const etag = await write('a')
    await write('b')
    const changes: Change[] = [
      put('c'),
      { kind: 'remove', row: 'b' },
      { kind: 'replace', row: 'a', body: 'second', etag },
    ]
    const refused: Change = { kind: 'insert', row: 'b2', body: '' }
    await write('b2')
    expect(await rows.change('here', [...changes, refused])).toBe('conflict')
    expect(await contents()).toEqual({ a: 'a', b: 'b', b2: 'b2' })
    const etags = await rows.change('here', changes)
    expect(await contents()).toEqual({ a: 'second', b2: 'b2', c: 'c' })
    const [c, a] = [await rows.read('here', 'c'), await rows.read('here', 'a')]
    expect(etags).toEqual([c?.etag, '', a?.etag])
  })

  test('refuses a row that is too large, and more changes than a transaction takes', async () => {
    const large = rows.change('here', [put('small'), put('large', 'x'.repeat(480_001))])
    await expect(large).rejects.toMatchObject({ code: 'row_too_large' })
    const many = Array.from({ length: 101 }, (_, i) => put(`r${i}`))
    await expect(rows.change('here', many)).rejects.toThrow('101 changes')
    expect(await contents()).toEqual({})
    expect(await rows.change('here', many.slice(1))).toHaveLength(100)
  })

  test('lets one of many writers win', async () => {
    const etag = await write('a')
    const bodies = Array.from({ length: 6 }, (_, i) => `writer ${i}`)
    const works = bodies.map((body) => {
      return rows.change('here', [{ kind: 'replace', row: 'a', body, etag }])
    })
    const outcomes = await Promise.all(works)
    const winners = bodies.filter((_, i) => outcomes[i] !== 'conflict')
    expect(winners).toHaveLength(1)
    expect(await contents()).toEqual({ a: winners[0] })
  })
})
