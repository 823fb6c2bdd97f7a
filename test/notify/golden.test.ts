// Every request, to the letter: all that each kind sends of each scene, in its order. A difference is a change that people
// see, so it is looked at (`npm run preview`) before it is written down:
//   FOGHORN_GOLDEN=write npm test -- test/notify/golden.test.ts && npm run format
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { moments } from '../../functions/core/event.ts'
import { notifiers } from '../../functions/notify/kinds.ts'
import { type Json, type Kind, kinds } from './kinds.ts'
import { capture } from './outgoing.ts'
import { scenes } from './scenes.ts'

const fileOf = (kind: Kind) => join(import.meta.dirname, 'golden', `${kind}.json`)
const writes = process.env.FOGHORN_GOLDEN === 'write'

/** The whole requests but for what the library of a vendor says of itself and its version. */
async function goldenOf(kind: Kind, name: string): Promise<Json> {
  const { requests } = await capture(kind, scenes[name])
  return requests.map(({ method, url, headers: all, json: body }) => {
    const { 'user-agent': _agent, ...headers } = all
    return { method, url, headers, body }
  })
}

/** A kind that is never told several at once has no list. */
const namesFor = (kind: Kind) =>
  Object.keys(scenes).filter((name) => {
    return scenes[name]!.also.length < notifiers[kind].rate.together
  })

describe.each(kinds)('%s', (kind) => {
  if (writes) {
    test('is written down', async () => {
      const names = namesFor(kind)
      const all = await Promise.all(names.map((name) => goldenOf(kind, name)))
      const golden = Object.fromEntries(names.map((name, i) => [name, all[i]]))
      writeFileSync(fileOf(kind), `${JSON.stringify(golden, null, 2)}\n`)
    })
    return
  }
  const golden: Record<string, Json> = JSON.parse(readFileSync(fileOf(kind), 'utf8'))

  test('has each moment and each scene written down, and no other', () => {
    expect(Object.keys(golden)).toEqual(namesFor(kind))
    expect(Object.keys(golden)).toEqual(expect.arrayContaining([...moments]))
  })

  test('sends something of each', () => {
    const silent = Object.keys(golden).filter((name) => golden[name].length === 0)
    expect(silent).toEqual([])
  })

  test.each(namesFor(kind))('sends "%s" as written down', async (name) => {
    const sent = await goldenOf(kind, name)
    expect(sent).toEqual(golden[name])
    // the order of keys is that of the bytes that are sent
    expect(JSON.stringify(sent)).toBe(JSON.stringify(golden[name]))
  })
})
