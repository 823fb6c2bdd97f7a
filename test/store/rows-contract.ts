// The promises of rows (functions/store/rows.ts), as one suite for all adapters.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Change, Key, Row, Rows } from '../../functions/store/rows.ts'

interface Opened {
  rows: Rows
  close(): void
}

const all = ['', '~'] as const
const key = (at: string, summary?: string): Key => {
  return { index: 'due', key: at, ...(summary !== undefined && { summary }) }
}

export function rowsContract(name: string, open: () => Promise<Opened>): void {
  describe(`${name} keeps the promises of rows`, () => {
    let opened: Opened
    let rows: Rows
    beforeEach(async () => {
      opened = await open()
      rows = opened.rows
    })
    afterEach(() => opened.close())

    const insert = async (row: string, keys: Key[] = [], body = '"first"'): Promise<Row> => {
      const written = await rows.change('p', [{ kind: 'insert', row, body, keys }])
      return (written as Row[])[0]!
    }
    const replace = (was: Row, body: string, keys: readonly Key[] = []): Change => {
      return { kind: 'replace', was, body, keys }
    }
    const found = async (from = '', to = '~', limit = 9) => {
      return (await rows.find('due', from, to, limit)).map((one) => `${one.key} ${one.row}`)
    }

    test('a row that was never written is undefined', async () => {
      expect(await rows.read('p', 'a')).toBe(undefined)
      expect(await rows.list('p', ...all)).toEqual([])
      expect(await rows.find('due', ...all, 9)).toEqual([])
    })

    test('a row is read as it was written, with its keys, alone and in a list', async () => {
      const body = JSON.stringify('ä\n"\u0000😀'.repeat(12_000))
      const written = await insert('a', [key('1', 'what'), key('2')], body)
      const read = await rows.read('p', 'a')
      expect(read).toEqual(written)
      expect(read).toMatchObject({ partition: 'p', row: 'a', body })
      expect(read!.keys).toMatchObject([key('1', 'what'), key('2')])
      expect(await rows.list('p', ...all)).toEqual([read])
    })

    test('a list is in the order of names, from the first to before the second, up to the limit', async () => {
      for (const row of ['c', 'a', 'd', 'b']) await insert(row)
      const names = async (from: string, to: string, limit?: number) =>
        (await rows.list('p', from, to, limit)).map(({ row }) => row)
      expect(await names('a', 'd')).toEqual(['a', 'b', 'c'])
      expect(await names('b', '~')).toEqual(['b', 'c', 'd'])
      expect(await names('', '~', 2)).toEqual(['a', 'b'])
      expect(await rows.list('other', ...all)).toEqual([])
    })

    test.each<[string, (was: Row) => Change]>([
      ['an insert of a row that exists', () => ({ kind: 'insert', row: 'a', body: '1' })],
      ['a replacement of an older version', (was) => replace(was, 'x')],
      ['a removal of an older version', (was) => ({ kind: 'remove', was })],
    ])('%s is a conflict, and nothing of its transaction is written', async (_, make) => {
      const was = await insert('a', [key('1')])
      await rows.change('p', [replace(was, '"second"', [key('2')])])
      const alone = await rows.change('p', [make(was)])
      expect(alone).toBe('conflict')
      const change = make(was)
      if (change.kind === 'remove') return
      const further: Change = { kind: 'insert', row: 'b', body: '2', keys: [key('3')] }
      expect(await rows.change('p', [further, change])).toBe('conflict')
      expect(await rows.read('p', 'b')).toBe(undefined)
      expect((await rows.read('p', 'a'))!.body).toBe('"second"')
      expect(await found()).toEqual(['2 a'])
    })

    test('a row that was removed and written again is another version', async () => {
      const was = await insert('a')
      await rows.change('p', [{ kind: 'remove', was }])
      await insert('a')
      expect(await rows.change('p', [replace(was, 'x')])).toBe('conflict')
    })

    test('of many writers of one version exactly one succeeds', async () => {
      const was = await insert('a')
      const writes = Array.from({ length: 9 }, (_, i) => rows.change('p', [replace(was, `${i}`)]))
      const outcomes = await Promise.all(writes)
      expect(outcomes.filter((one) => one !== 'conflict')).toHaveLength(1)
    })

    test('100 changes are one transaction, and 101 are refused', async () => {
      const changes = (count: number): Change[] =>
        Array.from({ length: count }, (_, i) => ({ kind: 'insert', row: `r${i}`, body: '0' }))
      await expect(rows.change('p', changes(101))).rejects.toMatchObject({ code: 'row_too_large' })
      expect(await rows.list('p', ...all)).toEqual([])
      expect(await rows.change('p', changes(100))).toHaveLength(100)
    })

    test('a row that is too large is refused by name, and nothing is written', async () => {
      const large: Change = { kind: 'insert', row: 'large', body: 'x'.repeat(480_001) }
      const small: Change = { kind: 'insert', row: 'small', body: '0' }
      const refused = rows.change('p', [small, large])
      await expect(refused).rejects.toMatchObject({ code: 'row_too_large' })
      await expect(refused).rejects.toThrow('large')
      expect(await rows.read('p', 'small')).toBe(undefined)
    })

    test('a put writes in any case', async () => {
      for (const body of ['1', '2']) await rows.change('p', [{ kind: 'put', row: 'a', body }])
      expect((await rows.read('p', 'a'))!.body).toBe('2')
    })

    test('a row is found under its keys of now, with their summaries, in the order of keys', async () => {
      const a = await insert('a', [key('2', '"two"'), key('4')])
      await insert('b', [key('3')])
      expect(await found()).toEqual(['2 a', '3 b', '4 a'])
      expect((await rows.find('due', '2', '3', 9))[0]).toMatchObject({
        ...{ index: 'due', key: '2', summary: '"two"', partition: 'p', row: 'a' },
      })
      await rows.change('p', [replace(a, 'x', [key('2', '"new"'), key('1')])])
      expect(await found()).toEqual(['1 a', '2 a', '3 b'])
      expect((await rows.find('due', '2', '3', 9))[0]!.summary).toBe('"new"')
      expect(await rows.find('other', ...all, 9)).toEqual([])
    })

    test('entries are found from the first key to before the second, up to the limit', async () => {
      for (const at of ['1', '2', '3', '4']) await insert(`r${at}`, [key(at)])
      expect(await found('2', '4')).toEqual(['2 r2', '3 r3'])
      expect(await found('2', '~', 1)).toEqual(['2 r2'])
      expect(await found('1|~')).toEqual(['2 r2', '3 r3', '4 r4'])
    })

    test('a removed row is not found', async () => {
      const was = await insert('a', [key('1')])
      await rows.change('p', [{ kind: 'remove', was }])
      expect([await rows.read('p', 'a'), await found()]).toEqual([undefined, []])
    })

    test('what a conflict would have written is not found', async () => {
      const was = await insert('a', [key('1')])
      await rows.change('p', [replace(was, 'x', [key('1')])])
      await rows.change('p', [replace(was, 'y', [key('0')])])
      expect(await found()).toEqual(['1 a'])
    })

    test('200 keys of one row', async () => {
      const keys = Array.from({ length: 200 }, (_, i) => key(String(i).padStart(3, '0')))
      const was = await insert('a', keys)
      expect(await rows.find('due', ...all, 999)).toHaveLength(200)
      await rows.change('p', [replace(was, 'x', keys.slice(0, 1))])
      expect(await found()).toEqual(['000 a'])
    })
  })
}
