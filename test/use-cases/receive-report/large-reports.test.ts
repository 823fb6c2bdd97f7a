// Reports of many events wait for each other, within one fleet.
import { expect, test } from 'vitest'
import { inLine } from '../../../functions/use-cases/large-reports.ts'

const large = 100

/** Work that ends when the test ends it. */
function startWork() {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const relay = {}
  const add = (name: string, fleet = 'prod', events = large) =>
    inLine(relay, fleet, events, () => {
      begun.push(name)
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
    })
  return { begun, ends, add }
}

test('two of a fleet at a time, in their order; small ones and other fleets do not wait', async () => {
  const { begun, ends, add } = startWork()
  const results = ['a', 'b', 'c', 'd'].map((name) => add(name))
  void add('small', 'prod', 20)
  void add('other', 'test')
  expect(begun).toEqual(['a', 'b', 'small', 'other'])
  ends.get('b')!()
  expect(await results[1]).toBe('b')
  await Promise.resolve()
  expect(begun.at(-1)).toBe('c')
  for (const name of ['a', 'c']) ends.get(name)!()
  await results[2]
  ends.get('d')!()
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'd'])
})

test('a report that fails gives its place to the next one', async () => {
  const relay = {}
  const fail = () => inLine(relay, 'prod', large, () => Promise.reject(new Error('no')))
  const failed = await Promise.allSettled([fail(), fail(), fail(), fail()])
  expect(failed.map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
})

test('if too many wait, the next one is busy', async () => {
  const { add } = startWork()
  for (let i = 0; i < 52; i++) void add(`${i}`)
  expect(await add('late')).toBe('busy')
})
