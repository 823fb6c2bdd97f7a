// An edit of a small row: it decides again if another worker was faster, and gives up after a named number.
import { expect, test } from 'vitest'
import { byId, createRows } from '../../functions/store/small-rows.ts'
import { createWorld } from '../support/world.ts'

const rows = createRows<{ words: string[] }, string>('edited', byId)

test('two that edit one row at once both succeed, and what each added is there', async () => {
  const { store } = await createWorld()
  const add = (word: string) =>
    rows.edit(store, 'one', (before) => ({ words: [...(before?.words ?? []), word] }))
  await Promise.all(['a', 'b', 'c'].map(add))
  expect((await rows.read(store, 'one'))?.words.toSorted()).toEqual(['a', 'b', 'c'])
})

test('it writes nothing if nothing changes, or if there is nothing to write', async () => {
  const { store } = await createWorld()
  const none = await rows.edit(store, 'one', () => undefined)
  expect([none, await rows.read(store, 'one')]).toEqual([
    { before: undefined, after: undefined },
    undefined,
  ])
  await rows.edit(store, 'one', () => ({ words: ['a'] }))
  const kept = await rows.edit(store, 'one', (before) => before)
  expect(kept.after).toBe(kept.before)
  expect(await rows.read(store, 'one')).toMatchObject({ version: 1 })
})

test('if others are faster each time, it gives up', async () => {
  const { store } = await createWorld()
  let tries = 0
  const outpaced = rows.edit(store, 'one', async (before) => {
    tries += 1
    await rows.write(store, { words: [String(tries)] }, before?.version ?? 0, 'one')
    return { words: ['mine'] }
  })
  await expect(outpaced).rejects.toMatchObject({ code: 'storage_busy' })
  expect([tries, (await rows.read(store, 'one'))?.words]).toEqual([20, ['20']])
})
