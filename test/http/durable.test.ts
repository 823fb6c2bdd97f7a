// No answer leaves before the disk has what it says. If the disk fails, beacons, programs and people
// each get an answer that they can read.
import { beforeEach, expect, test } from 'vitest'
import { createParts } from '../../functions/app.ts'
import { createWorld, event, FakeBeacon, type World } from '../support/world.ts'

let world: World
let parts: ReturnType<typeof createParts>
let disk: PromiseWithResolvers<void>
/** Resolves once an answer waits for the disk. */
let waits: PromiseWithResolvers<void>

beforeEach(async () => {
  world = await createWorld()
  disk = Promise.withResolvers()
  waits = Promise.withResolvers()
  world.relay.durable = () => {
    waits.resolve()
    return disk.promise
  }
  parts = createParts(world.relay)
})

/** As a host does that takes reports from its own server. */
async function answerDirectly(_path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers)
  const header = (name: string) => headers.get(name) ?? undefined
  const { body, ...rest } = await parts.answerReport({ header, text: String(init.body) })
  return new Response(body, rest)
}

const report = (request: (path: string, init: RequestInit) => Response | Promise<Response>) => {
  const beacon = new FakeBeacon({ app: { request }, clock: world.clock }, 'web_0')
  return beacon.post(beacon.body([event()]))
}

const problem = 'application/problem+json'
const page = 'text/html; charset=utf-8'

test.each<[string, () => Response | Promise<Response>, number, string]>([
  ['a report', () => report((path, init) => parts.app.request(path, init)), 200, problem],
  ['a report past the routes', () => report(answerDirectly), 200, problem],
  ['a program', () => parts.app.request('/schemas/event.json'), 200, problem],
  ['a person', () => parts.app.request('/console'), 200, page],
])('%s is answered once the disk has it', async (_, ask, status, onFailure) => {
  let isAnswered = false
  const answered = Promise.resolve(ask()).then((answer) => {
    isAnswered = true
    return answer
  })
  await waits.promise
  await new Promise(setImmediate)
  expect(isAnswered).toBe(false)
  disk.resolve()
  expect((await answered).status).toBe(status)

  world.relay.durable = () => Promise.reject(new Error('the disk is gone'))
  const failed = await ask()
  expect([failed.status, failed.headers.get('content-type')]).toEqual([500, onFailure])
  expect(failed.headers.get('x-robots-tag')).toContain('noindex')
  expect(world.lines.filter((line) => line.includes('"request_failed"'))).toHaveLength(1)
})
