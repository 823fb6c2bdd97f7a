import { expect, test } from 'vitest'
import { oneAtATime } from '../../functions/host/one-at-a-time.ts'

test('callers that come during a run share the next one, also after a failure', async () => {
  let runs = 0
  const ends: (() => void)[] = []
  const reload = oneAtATime(async () => {
    const run = ++runs
    await new Promise<void>((resolve) => ends.push(resolve))
    if (run === 1) throw new Error('refused')
    return run
  })
  const first = reload()
  const refused = expect(first).rejects.toThrow('refused')
  await expect.poll(() => runs).toBe(1)
  const others = [reload(), reload(), reload()]
  expect(runs).toBe(1)
  ends[0]!()
  await refused
  await expect.poll(() => runs).toBe(2)
  ends[1]!()
  expect(await Promise.all(others)).toEqual([2, 2, 2])
})
