// Changes of one name are made one after the other, and a fault holds up none for ever.
import { expect, test } from 'vitest'
import { Changes } from '../../functions/use-cases/changes.ts'

test('after a fault, those that waited go on, and the next change is made', async () => {
  const changes = new Changes()
  let fail = () => {}
  const failing = changes.make('one', {}, async (queue) => {
    queue.shift()
    await new Promise<void>((resolve) => {
      fail = resolve
    })
    throw new Error('broken')
  })
  const waiting = changes.make('one', {}, async () => {})
  fail()
  await expect(failing).rejects.toThrow('broken')
  await waiting
  let made = false
  await changes.make('one', {}, async (queue) => {
    queue.shift()
    made = true
  })
  expect(made).toBe(true)
})
