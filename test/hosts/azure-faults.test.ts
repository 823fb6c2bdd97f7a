// A relay as a process on an Azure Storage that is busy, forbids, hangs, loses answers or is down.
// A report with a 2xx answer is notified once. Another report gets 5xx, and is notified once it is
// repeated.
import { setTimeout as sleep } from 'node:timers/promises'
import { QueueClient } from '@azure/storage-queue'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { ScheduledEvent } from '../../shared/document.ts'
import type { Row } from '../support/deliveries.ts'
import { newEvent, reporter } from '../support/reports.ts'
import { type Stage, startStage } from '../support/stage.ts'
import { type Fault, type StorageFaults, startStorageFaults } from '../support/storage-faults.ts'
import { someOf } from '../support/whole.ts'

let stage: Stage
let faults: StorageFaults
let post: ReturnType<typeof reporter>

beforeAll(async () => {
  stage = await startStage({
    vms: [['web_0']],
    host: 'azure',
    lastingAzurite: true,
    // chats would accept only one message a second
    config: () => ({ routes: [{ match: {}, channels: ['pager', 'system'] }] }),
  })
  faults = await startStorageFaults(stage.azurite!.connection)
  post = reporter(stage, 'web_0')
  await startRelay()
})

afterEach(() => faults.clear())

afterAll(async () => {
  await stage.stop()
  await faults.stop()
})

/** A wake-up that failed comes again at once, and the timer never runs by itself. */
function startRelay(connection = faults.connection) {
  const own = { FUNCTIONS_TRIGGERS: 'queue', FUNCTIONS_HIDDEN_SECONDS: '0' }
  return stage.startRelay({ environment: { AzureWebJobsStorage: connection, ...own } })
}

async function sweep(): Promise<number> {
  const url = `${stage.relayUrl}/admin/functions/sweep`
  return (await fetch(url, { method: 'POST', body: '{}' })).status
}

async function statesOf(eventId: string): Promise<[channel: string, state: string][]> {
  const { deliveries } = await stage.readEvent(eventId)
  return deliveries?.map(({ channel, state }: Row) => [channel, state])
}

/** Expects that both channels got each message once, and that nothing is pending. */
async function toldOnce({ eventId }: ScheduledEvent): Promise<void> {
  const states = async () => {
    await sweep()
    return statesOf(eventId)
  }
  await expect.poll(states, { timeout: 30_000 }).toEqual([
    ['pager', 'delivered'],
    ['system', 'delivered'],
  ])
  // one that is in flight while the storage goes away comes twice, with one id
  const told = stage.sinks.received
    .filter(({ body, accepted }) => accepted && body.includes(eventId))
    .map(({ kind, headers }) => `${kind} ${headers['webhook-id'] ?? ''}`)
  const kinds = [...new Set(told)].map((one) => one.split(' ')[0])
  expect(kinds.sort()).toEqual(['pagerduty', 'webhook'])
}

/** As a beacon does: just after a fault, the relay may ask for one more time. */
async function reportAgain(events: ScheduledEvent[]): Promise<void> {
  for (let tries = 0; tries < 10; tries++) {
    const { status, headers } = await post(events)
    if (status === 200) return
    expect(status).toBe(503)
    await sleep(Number(headers.get('retry-after')) * 1_000)
  }
  expect.fail('the report is refused for ever')
}

const lostChange: Fault = { answer: 'lost', only: 'changes' }

const shortFaults: [string, Fault][] = [
  ['429', { answer: 429, retryAfterSeconds: 1, times: 1 }],
  ['503', { answer: 503, times: 2 }],
  ['503 with Retry-After', { answer: 503, retryAfterSeconds: 1, times: 1 }],
  ['500', { answer: 500, code: 'OperationTimedOut', times: 2 }],
  ['500 for changes', { answer: 500, code: 'InternalError', only: 'changes', times: 3 }],
  ['no table', { answer: 404, code: 'TableNotFound', times: 1 }],
  [
    'a change refused in place of another',
    {
      ...{ answer: 412, code: 'UpdateConditionNotSatisfied', inTransaction: true },
      ...{ only: 'changes', about: '"PartitionKey":"event|', times: 3 },
    },
  ],
  ['a lost answer to a read', { answer: 'lost', only: 'reads', times: 2 }],
  [
    'a lost answer to an entry of an index',
    { ...lostChange, about: '"PartitionKey":"index"', times: 1 },
  ],
  [
    'a lost answer to the commit of an event',
    { ...lostChange, about: '"PartitionKey":"event|', times: 1 },
  ],
  ['a lost answer to the row of a channel', { ...lostChange, about: '"channels', times: 1 }],
  ['a lost answer to the row of a beacon', { ...lostChange, about: '"beacon|', times: 1 }],
]

test.each(someOf(shortFaults))(
  '%s for a moment: the report is answered and notified once',
  async (_, fault) => {
    const event = newEvent()
    faults.add(fault)
    expect((await post([event])).status).toBe(200)
    await toldOnce(event)
    expect(faults.state.failed).toBe(fault.times)
  },
)

/** In a row, which is JSON within JSON. */
const inRow = (text: string) => JSON.stringify(text).slice(1, -1)

test('lost answers to all writes of an attempt: no channel gets a message twice', async () => {
  const event = newEvent()
  stage.sinks.failNext({ kind: 'webhook', status: 500, about: event.eventId })
  for (const about of ['"lease":"', '"note":"HTTP 500"', '"state":"delivered"']) {
    const times = about.includes('500') ? 1 : 2
    faults.add({ ...lostChange, about: inRow(about), times })
  }
  expect((await post([event])).status).toBe(200)
  await toldOnce(event)
  expect(faults.state.failed).toBe(5)
  const lines = stage.relay!.entries.filter(({ eventId }) => eventId === event.eventId)
  expect(lines.filter((line) => line.event === 'delivery_lease_lost')).toEqual([])
})

/** With the admin key, since only owners see the troubles. */
const askHealth = () => {
  const headers = { authorization: `Bearer ${stage.secrets.adminKey}` }
  return fetch(`${stage.relayUrl}/healthz`, { headers })
}

describe('a lasting fault', () => {
  const faultsThatLast: [string, Fault][] = [
    ['503', { answer: 503 }],
    ['no answer at all', { answer: 'hang' }],
    ['429 without Retry-After', { answer: 429, code: 'TooManyRequests' }],
    ['500 within transactions', { answer: 500, inTransaction: true, only: 'changes' }],
    ['409 TableBeingDeleted', { answer: 409, code: 'TableBeingDeleted' }],
    ['403 for changes', { answer: 403, code: 'AuthorizationFailure', only: 'changes' }],
  ]

  test.each(someOf(faultsThatLast))(
    '%s: the report is refused, and notified once it comes again',
    async (_, fault) => {
      const event = newEvent()
      faults.add(fault)
      const refused = await post([event])
      const code = 'storage_unavailable'
      expect([refused.status, await refused.json()]).toMatchObject([503, { code }])
      expect(refused.headers.get('retry-after')).toBe('2')
      faults.clear()
      await reportAgain([event])
      await toldOnce(event)
    },
  )

  test('403 names the missing role; wake-ups that fail because of it are shown until cleared', async () => {
    const relay = stage.relay!
    faults.add({ answer: 403, code: 'AuthorizationPermissionMismatch' })
    const { connection } = stage.azurite!
    const queue = new QueueClient(connection, 'foghorn-wake')
    // wake-ups of the tests before would fail, too
    await queue.clearMessages()
    const known = relay.entries.length
    expect((await post([newEvent()])).status).toBe(503)
    const said = relay.entries.slice(known).find(({ event }) => event === 'request_failed')
    expect(said!.error).toContain('"Storage Table Data Contributor"')
    expect(said!.error).toContain('AuthorizationPermissionMismatch')
    await queue.sendMessage('{"wake":1}')
    const poison = new QueueClient(connection, 'foghorn-wake-poison')
    await expect.poll(() => poison.exists(), { timeout: 15_000 }).toBe(true)
    const messages = async () => (await poison.getProperties()).approximateMessagesCount
    await expect.poll(messages, { timeout: 15_000 }).toBeGreaterThanOrEqual(1)
    faults.clear()
    expect(await sweep()).toBe(202)
    const { trouble } = await relay.waitFor('host_troubled')
    expect(trouble).toMatch(/^[1-9]\d* wake-ups failed repeatedly; .*"foghorn-wake-poison"/)
    const health = await askHealth()
    expect([health.status, await health.json()]).toMatchObject([
      200,
      { status: 'troubled', troubles: [trouble] },
    ])
    await poison.clearMessages()
    expect(await (await askHealth()).json()).toMatchObject({ status: 'ok' })
  })

  test('a relay that starts meanwhile answers 503, also to probes, and works when the fault is over', async () => {
    faults.add({ answer: 503 })
    await stage.relay!.stop()
    await startRelay()
    const event = newEvent()
    expect((await post([event])).status).toBe(503)
    expect((await askHealth()).status).toBe(503)
    faults.clear()
    await reportAgain([event])
    await toldOnce(event)
  })
})

test('a queue that does not answer: all is sent and shown, but no detail to strangers', async () => {
  await stage.relay!.stop()
  // nothing listens there
  const broken = faults.connection.replace(
    /QueueEndpoint=[^;]*/,
    'QueueEndpoint=http://127.0.0.1:1/x',
  )
  const relay = await startRelay(broken)
  const event = newEvent()
  await reportAgain([event])
  await toldOnce(event)
  const health = await askHealth()
  expect([health.status, await health.json()]).toMatchObject([
    200,
    { status: 'troubled', troubles: [expect.stringMatching(/^the wake-up queue failed.*log/)] },
  ])
  expect((await relay.waitFor('queue_failed')).error).toContain('Azure Storage answered nothing')
  await sweep()
  await relay.waitFor('host_troubled')
  await relay.stop()
  await startRelay()
})

/** The last test, because it stops the Azurite of all others. */
test('Azurite is down for a while: a report that was answered 200 is notified once', async () => {
  const [early, meanwhile, late] = [newEvent(), newEvent(), newEvent()]
  stage.sinks.failNext({ kind: 'webhook', status: 503, about: early.eventId })
  expect((await post([early])).status).toBe(200)
  // a message in flight would be sent twice, to a pager without an id
  const known = () => statesOf(early.eventId)
  await expect.poll(known, { timeout: 30_000 }).toContainEqual(['pager', 'delivered'])
  await stage.azurite!.halt()
  expect((await post([early, meanwhile])).status).toBe(503)
  await stage.azurite!.resume()
  await toldOnce(early)
  expect((await stage.readEvent(meanwhile.eventId)).code).toBe('event_unknown')
  await reportAgain([early, meanwhile, late])
  await toldOnce(meanwhile)
  await toldOnce(late)
})
