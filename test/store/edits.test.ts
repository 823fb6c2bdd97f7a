// Changes of one row that come while others of it wait are one write.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Edits } from '../../functions/store/edits.ts'
import type { Rows } from '../../functions/store/rows.ts'
import { openStore, type TestStore } from '../support/stores.ts'

const place = { partition: 'p', row: 'r' }
const add = (row: { body: string } | undefined) => {
  const body = `${row?.body ?? ''}1`
  return { result: body.length, next: { body, keys: [] } }
}

let store: TestStore
let writes: number
/** Ends the wait of the edits that gather. */
let endWait: () => void
let edits: Edits

beforeEach(() => {
  store = openStore()
  writes = 0
  const { rows } = store
  const counted: Rows = {
    ...rows,
    read: (...what) => rows.read(...what),
    change: (...what) => {
      writes += 1
      return rows.change(...what)
    },
  }
  const gather = () =>
    new Promise<void>((resolve) => {
      endWait = resolve
    })
  edits = new Edits(counted, async () => {}, undefined, gather)
})
afterEach(() => store.close())

test('edits that are in no hurry wait for others, and are written together', async () => {
  const first = edits.edit({ ...place }, add, { hurry: false })
  await Promise.resolve()
  const second = edits.edit({ ...place }, add, { hurry: false })
  expect(writes).toBe(0)
  endWait()
  expect(await Promise.all([first, second])).toEqual([1, 2])
  expect(writes).toBe(1)
})

test('one that is in a hurry ends the wait', async () => {
  const first = edits.edit({ ...place }, add, { hurry: false })
  await Promise.resolve()
  expect(await edits.edit({ ...place }, add)).toBe(2)
  expect(await first).toBe(1)
  expect(writes).toBe(1)
})

test('an edit that changes nothing looks at the row as it is now, not as it was read', async () => {
  const stale = { ...place }
  await edits.edit(stale, add)
  await edits.edit({ ...place }, add)
  expect(await edits.edit(stale, (row) => ({ result: row?.body }))).toBe('11')
})
