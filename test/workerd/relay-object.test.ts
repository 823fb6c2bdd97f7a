// What can happen to the relay's object: an eviction in the middle of a send, alarms and writes that
// fail, and a start without a setting. The tests share their globals with the object, so their
// `fetch` is the one that it sends with.
import {
  abortAllDurableObjects,
  env,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from 'cloudflare:test'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Answer } from '../../shared/report.ts'
import { adminKey, event, eventId, FakeBeacon } from '../support/fake-beacon.ts'
import { lines } from './lines.ts'

interface Request {
  url: string
  id: string | null
}

let relay: ReturnType<typeof env.RELAY.get>
let sent: Request[]
let answer: (request: Request) => Response | Promise<Response>

/** As a beacon needs it. */
const relayOf = (stub: typeof relay) => ({
  app: {
    request: (path: string, init: RequestInit) =>
      stub.fetch(`https://foghorn.example${path}`, init),
  },
  clock: {
    get now() {
      return Date.now()
    },
  },
})

const soon = () => event({ notBeforeAt: Date.now() + 15 * 60_000 })
const hook = 'https://hook.example/in'
const toHook = () => sent.filter(({ url }) => url === hook)

beforeEach(() => {
  relay = env.RELAY.get(env.RELAY.newUniqueId())
  sent = []
  answer = ({ url }) => usual(url)
  lines.length = 0
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const request = { url, id: new Headers(init.headers).get('webhook-id') }
    sent.push(request)
    return answer(request)
  })
})
afterEach(() => vi.unstubAllGlobals())

async function deliveries() {
  const { app } = relayOf(relay)
  const headers = { authorization: `Bearer ${adminKey}` }
  const response = await app.request(`/v1/events/prod/${eventId}`, { headers })
  const { deliveries: rows } = (await response.json()) as {
    deliveries: { channel: string; state: string }[]
  }
  return rows.map(({ channel, state }) => `${channel} ${state}`).sort()
}

const allDelivered = ['chat', 'hook', 'pager', 'team'].map((name) => `${name} delivered`)

const sees = (events = [soon()]) => new FakeBeacon(relayOf(relay), 'web_0').sees(events)

function usual(url: string): Response {
  if (url.includes('teams')) return new Response(null, { status: 202 })
  if (!url.includes('pager')) return new Response('ok')
  return Response.json({ status: 'success', dedup_key: 'k' }, { status: 202 })
}

const waitLimit = { timeout: 10_000 }
const allAreDelivered = () =>
  vi.waitFor(async () => expect(await deliveries()).toEqual(allDelivered), waitLimit)

test('a report is stored, and its messages are sent', async () => {
  await sees()
  await allAreDelivered()
})

test('a held answer is given once a person decides', { timeout: 12_000 }, async () => {
  const { app } = relayOf(relay)
  const beacon = new FakeBeacon(relayOf(relay), 'web_0')
  expect((await beacon.sees([soon()])).waitMs).toBe(15_000)
  const held = beacon.post({ ...beacon.body([soon()]), waitMs: 15_000 })
  await app.request(`/v1/events/prod/${eventId}/decision`, {
    method: 'POST',
    body: JSON.stringify({ decision: 'approve' }),
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
  })
  const answers = [await (await held).json(), await beacon.sees([soon()])] as Answer[]
  expect(answers.flatMap(({ directives }) => directives.map((one) => one.eventId))).toContain(
    eventId,
  )
})

test('at most 5 requests to channels at once, so that one connection is left', async () => {
  answer = () => new Promise(() => {})
  const beacon = new FakeBeacon(relayOf(relay), 'web_0')
  await beacon.sees([
    soon(),
    event({ ...soon(), eventId: 'b' }),
    event({ ...soon(), eventId: 'c' }),
  ])
  await vi.waitFor(() => expect(sent.length).toBe(5), waitLimit)
})

test('an object that ends in the middle of a send sends again, with the same id', async () => {
  answer = () => new Promise(() => {})
  await sees()
  await vi.waitFor(() => expect(toHook()).toHaveLength(1), waitLimit)
  await abortAllDurableObjects()
  answer = ({ url }) => usual(url)
  relay = env.RELAY.get(relay.id)
  // nobody sends a request: the alarm starts the object
  expect(await runDurableObjectAlarm(relay)).toBe(true)
  await allAreDelivered()
  expect(toHook()).toHaveLength(2)
  expect(new Set(toHook().map(({ id }) => id)).size).toBe(1)
})

/** The storage fails from now on. Returns what mends it. */
function breakStorage(): Promise<() => Promise<void>> {
  return runInDurableObject(relay, (_object, { storage }) => {
    const { sql } = storage
    const exec = sql.exec
    sql.exec = () => {
      throw new Error('internal error; reference = abc')
    }
    return () =>
      runInDurableObject(relay, () => {
        sql.exec = exec
      })
  })
}

test('if the storage fails, a report is not accepted, and the next one is stored', async () => {
  const beacon = new FakeBeacon(relayOf(relay), 'web_0')
  await beacon.sees([])
  const mend = await breakStorage()
  expect((await beacon.post(beacon.body([soon()]))).status).toBe(500)
  await mend()
  expect(sent).toEqual([])
  await beacon.sees([soon()])
  await allAreDelivered()
})

test('alarms that fail do not throw, and the cron trigger goes on', async () => {
  answer = () => new Response(null, { status: 503 })
  await sees()
  await vi.waitFor(() => expect(toHook()).toHaveLength(1), waitLimit)
  const mend = await breakStorage()
  for (let times = 0; times < 7; times++) {
    await runInDurableObject(relay, (object) => (object as { alarm(): Promise<void> }).alarm())
  }
  await mend()
  expect(lines.filter((line) => line.includes('loop_failed'))).not.toEqual([])
  await runInDurableObject(relay, (_object, { storage }) => storage.deleteAlarm())
  answer = ({ url }) => usual(url)
  await relay.sweep()
  await allAreDelivered()
})

test('an eviction is no outage: the relay has listened since its first start', async () => {
  const since = () =>
    runInDurableObject(relay, (_object, { storage }) => {
      const [row] = storage.sql
        .exec("SELECT body FROM rows WHERE partition = 'listening'")
        .toArray()
      return (JSON.parse(String(row?.body)) as { since: number }).since
    })
  await relay.sweep()
  const before = await since()
  await evictDurableObject(relay)
  await relay.sweep()
  expect(await since()).toBe(before)
})

test('a file of another format is not changed, and the relay says so', async () => {
  await relay.sweep()
  const change = (version: number) =>
    runInDurableObject(relay, (_object, { storage }) => {
      storage.sql.exec('UPDATE format SET version = ?', version)
    })
  await change(99)
  await evictDurableObject(relay)
  const response = await relay.fetch('https://foghorn.example/healthz')
  expect(response.status).toBe(503)
  expect(lines.at(-1)).toMatch(/relay_misconfigured.*format 99.*deploy the version/)
})
