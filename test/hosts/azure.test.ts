// The relay on Azure Functions as a process: the real library, a real Azurite, and channels that
// answer late or not at all. Only the host around the library is a replacement
// (test/support/functions-main.ts). Its triggers mostly rest, so tests see what a request does
// alone.
import { TableServiceClient } from '@azure/data-tables'
import { QueueServiceClient } from '@azure/storage-queue'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deliveryLeaseMs } from '../../functions/core/delivery/attempt.ts'
import { alignedHeartbeats } from '../../functions/core/event/heartbeat.ts'
import type { ScheduledEvent } from '../../shared/document.ts'
import { answerSchema, maxReportBytes } from '../../shared/report.ts'
import type { Received } from '../simulator/sinks.ts'
import type { Row } from '../support/deliveries.ts'
import { type Kind, postDecision } from '../support/expect.ts'
import type { Entry } from '../support/process.ts'
import { newEvent, reporter } from '../support/reports.ts'
import { linkIn, type Stage, startStage } from '../support/stage.ts'

const standing = { FUNCTIONS_TRIGGERS: '' }
/** No chats among these: they accept one message a second, and a test may be faster. */
const quiet = 'Redeploy'

let stage: Stage
let post: ReturnType<typeof reporter>
let other: ReturnType<typeof reporter>
/** What the storage contained before the relay's first request. */
let before: { tables: string[]; queues: string[] }

beforeAll(async () => {
  stage = await startStage({
    vms: [['web_0']],
    host: 'azure',
    config: () => ({
      routes: [
        { match: { eventType: 'Reboot' }, channels: ['chat', 'team', 'pager', 'system'] },
        { match: { eventType: quiet }, channels: ['pager', 'system'] },
      ],
    }),
  })
  post = reporter(stage, 'web_0')
  other = reporter(stage, 'web_1')
  before = await inStorage()
  await stage.startRelay({ environment: standing })
})

afterAll(() => stage.stop())

async function inStorage() {
  const { connection } = stage.azurite!
  const options = { allowInsecureConnection: true }
  const tables: string[] = []
  const queues: string[] = []
  const tableService = TableServiceClient.fromConnectionString(connection, options)
  const queueService = QueueServiceClient.fromConnectionString(connection)
  for await (const { name } of tableService.listTables()) tables.push(name!)
  for await (const { name } of queueService.listQueues()) queues.push(name)
  return { tables, queues }
}

/** Runs a queue or timer function. Returns whether it failed. */
async function run(name: 'wake' | 'sweep', input?: string): Promise<'done' | 'failed'> {
  const url = `${stage.relayUrl}/admin/functions/${name}`
  const { status } = await fetch(url, { method: 'POST', body: JSON.stringify({ input }) })
  return status === 202 ? 'done' : 'failed'
}

const reached = ({ eventId }: ScheduledEvent, kind: Kind) =>
  stage.sinks.received.filter((one) => one.kind === kind && one.body.includes(eventId))

const reaches = ({ eventId }: ScheduledEvent, kind: Kind): Promise<Received> =>
  stage.sinks.waitFor((one) => one.kind === kind && one.body.includes(eventId), 15_000)

/** The result of an attempt at the webhook channel. */
const settled = ({ eventId }: ScheduledEvent, outcome: string) => {
  const isIts = (entry: Entry) => entry.eventId === eventId && entry.channel === 'system'
  return stage.relay!.waitFor(outcome, isIts)
}

const webhookOf = async ({ eventId }: ScheduledEvent): Promise<Row> => {
  const { deliveries } = await stage.readEvent(eventId)
  return deliveries.find(({ channel }: Row) => channel === 'system')
}

describe('the app', () => {
  test('registers a route for everything, the queue of wake-ups and a timer', async () => {
    const { functions } = await stage.relay!.waitFor('functions_host_started')
    const triggers = (functions as { name: string; bindings: Record<string, object> }[]).map(
      ({ name, bindings }) => [name, Object.values(bindings)],
    )
    const [relay, wake, sweep, ...others] = triggers
    expect(others).toEqual([])
    const trigger = { type: 'httpTrigger', route: '{*path}', authLevel: 'anonymous' }
    expect(relay).toMatchObject(['relay', [trigger, { type: 'http', direction: 'out' }]])
    const queue = { queueName: 'foghorn-wake', connection: 'AzureWebJobsStorage' }
    expect(wake).toMatchObject(['wake', [{ type: 'queueTrigger', ...queue }]])
    expect(sweep).toMatchObject(['sweep', [{ type: 'timerTrigger', schedule: '0 * * * * *' }]])
  })

  test('is healthy, and has created its table', async () => {
    expect(before).toEqual({ tables: [], queues: [] })
    const response = await fetch(`${stage.relayUrl}/healthz`)
    expect([response.status, await response.json()]).toMatchObject([200, { status: 'ok' }])
    expect((await inStorage()).tables).toEqual(['foghorn'])
  })
})

describe('a report', () => {
  // on a busy machine, a report is answered before a slow attempt has ended
  test('is answered when every channel was tried, in one invocation', { retry: 3 }, async () => {
    const before = stage.relay!.entries.length
    const reboot = newEvent()
    const sent = () => stage.sinks.received.filter(({ body }) => body.includes(reboot.eventId))
    expect((await post([reboot])).status).toBe(200)
    const kinds = sent().map(({ kind, accepted }) => [kind, accepted])
    expect(kinds.sort()).toEqual(
      ['pagerduty', 'slack', 'teams', 'webhook'].map((kind) => [kind, true]),
    )
    const entries = stage.relay!.entries.slice(before)
    const delivered = entries.filter(
      ({ event, eventId }) => event === 'delivered' && eventId === reboot.eventId,
    )
    expect(delivered).toHaveLength(4)
    expect(new Set(delivered.map(({ invocationId }) => invocationId)).size).toBe(1)
  })

  test('waits for a channel that hangs only a few seconds, and no channel waits for it', async () => {
    const [slow, next] = [newEvent(quiet), newEvent(quiet)]
    stage.sinks.failNext({ kind: 'webhook', delayMs: 6_000, about: slow.eventId })
    const first = post([slow])
    await Promise.all([reaches(slow, 'webhook'), reaches(slow, 'pagerduty')])
    const second = other([slow, next])
    await Promise.all([reaches(next, 'webhook'), reaches(next, 'pagerduty')])
    expect([(await first).status, (await second).status]).toEqual([200, 200])
    // all of this came before the channel's answer
    const isOver = ({ event, eventId, channel }: Entry) =>
      event === 'delivered' && eventId === slow.eventId && channel === 'system'
    expect(stage.relay!.entries.filter(isOver)).toEqual([])
    expect(await webhookOf(slow)).toMatchObject({ state: 'pending', attempts: 1 })
    // other workers do not touch it meanwhile
    const look = run('sweep')
    await settled(slow, 'delivered')
    expect(await look).toBe('done')
    expect(await webhookOf(slow)).toMatchObject({ state: 'delivered' })
    expect(reached(slow, 'webhook')).toHaveLength(1)
    expect(reached(next, 'webhook')).toHaveLength(1)
  })

  test('without events is answered with the time until its slot in the next window', async () => {
    const { paceMs, window } = alignedHeartbeats(stage.relayUrl, 2)
    const response = await reporter(stage, 'web_9')([])
    const answer = answerSchema.parse(await response.json())
    const ms = (answer.time + answer.paceMs - window!.startMs) % paceMs
    expect([answer.paceMs <= paceMs * 1.01, ms <= window!.lengthMs + 1]).toEqual([true, true])
  })

  test.each([false, true])(
    'may have 256 KB, and not a byte more; streamed: %s',
    async (streamed) => {
      const before = stage.relay!.entries.length
      const whole = await post([], { bytes: maxReportBytes, streamed })
      expect([whole.status, await whole.json()]).toMatchObject([200, { outcome: 'accepted' }])
      const larger = await post([], { bytes: maxReportBytes + 1, streamed })
      expect([larger.status, await larger.json()]).toMatchObject([413, { code: 'body_too_large' }])
      expect(stage.relay!.entries.slice(before).filter(({ level }) => level === 'error')).toEqual(
        [],
      )
    },
  )
})

describe('a wake-up', () => {
  test('from the relay is handled without a line in the log', async () => {
    expect(await run('wake', '{"wake":1}')).toBe('done')
    expect(stage.relay!.entries.filter(({ event }) => event === 'wake_message_unknown')).toEqual([])
  })

  test.each(['plain words', '{"wake":2}', '{}', '[1]', 'null'])(
    'from elsewhere (%s) is logged, and does no harm',
    async (message) => {
      const known = stage.relay!.entries.length
      expect(await run('wake', message)).toBe('done')
      const said = stage.relay!.entries.slice(known).map(({ event, level }) => [event, level])
      expect(said).toContainEqual(['wake_message_unknown', 'warn'])
    },
  )

  test('that is lost is replaced by the timer', async () => {
    const late = newEvent(quiet)
    stage.sinks.failNext({ kind: 'webhook', status: 500, about: late.eventId })
    expect((await post([late])).status).toBe(200)
    await settled(late, 'delivery_retried')
    // the relay created the queue for it
    expect((await inStorage()).queues).toEqual(['foghorn-wake'])
    const sweepAndLook = async () => {
      await run('sweep')
      return webhookOf(late)
    }
    await expect.poll(sweepAndLook, { timeout: 15_000 }).toMatchObject({ state: 'delivered' })
    expect(reached(late, 'webhook').map(({ answered }) => answered)).toEqual([500, 204])
  })
})

describe('the end', () => {
  test('waits for running attempts, and the next start sends nothing again', async () => {
    const relay = stage.relay!
    const last = newEvent(quiet)
    stage.sinks.failNext({ kind: 'webhook', delayMs: 1_500, about: last.eventId })
    const answer = post([last]).catch(() => 'cut off')
    await reaches(last, 'webhook')
    relay.kill('SIGTERM')
    expect(await relay.exited).toEqual({ code: 0, signal: null })
    await relay.ended
    await answer
    await settled(last, 'delivered')
    await stage.startRelay({ environment: standing })
    expect(await run('sweep')).toBe('done')
    expect(await webhookOf(last)).toMatchObject({ state: 'delivered' })
    expect(reached(last, 'webhook')).toHaveLength(1)
  })
})

describe('the end in the middle of an attempt', () => {
  test('waits for no answer, and the message waits for no lease', async () => {
    const relay = stage.relay!
    // messages about the ends of earlier events may come first
    stage.sinks.failNext({ kind: 'webhook', delayMs: 60_000, times: 10 })
    const cut = newEvent(quiet)
    const answer = post([cut]).catch(() => 'cut off')
    await reaches(cut, 'webhook')
    const from = performance.now()
    relay.kill('SIGTERM')
    expect(await relay.exited).toEqual({ code: 0, signal: null })
    // the answer takes longer
    expect(performance.now() - from).toBeLessThan(deliveryLeaseMs)
    await answer
    // it is recorded, so nobody waits for the lease to end
    const retried = relay.entries.filter(({ event: name }) => name === 'delivery_retried')
    expect(retried).toMatchObject([{ eventId: cut.eventId, channel: 'system', state: 'pending' }])
    stage.sinks.heal()
    await stage.startRelay({ environment: standing })
    const sweepAndLook = async () => {
      await run('sweep')
      return webhookOf(cut)
    }
    const timeout = 2 * deliveryLeaseMs
    await expect.poll(sweepAndLook, { timeout }).toMatchObject({ state: 'delivered', attempts: 2 })
  })
})

describe('an owner', () => {
  const ask = (path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${stage.secrets.adminKey}` }
    return fetch(`${stage.relayUrl}${path}`, { headers, ...init })
  }

  test('finds metrics that the timer has counted', async () => {
    expect(await run('sweep')).toBe('done')
    const text = await (await ask('/metrics')).text()
    expect(text).toContain('foghorn_deliveries{channel="system",state="delivered"}')
    const [, age] = /^foghorn_counts_age_seconds (\S+)$/m.exec(text)!
    expect(Number(age)).toBeLessThan(60)
  })

  test('learns what to do instead of a backup', async () => {
    const response = await ask('/v1/backup', { method: 'POST' })
    expect([response.status, await response.json()]).toMatchObject([
      501,
      { code: 'backup_unsupported', detail: expect.stringContaining('npm run export') },
    ])
  })
})

/** The last test, because it looks at all lines before. */
describe('no line', () => {
  test('contains a secret, and each names its invocation', async () => {
    const reboot = newEvent()
    expect((await other([reboot])).status).toBe(200)
    const link = linkIn(await reaches(reboot, 'slack'))
    const { pathname } = new URL(link)
    expect((await fetch(link)).status).toBe(200)
    expect((await fetch(link, { method: 'HEAD' })).status).toBe(200)
    // as some mail filters write it
    await fetch(`${stage.relayUrl}${pathname.replace('/approve', '/%61pprove')}?utm=1`)
    await fetch(`${stage.relayUrl}/${pathname}`)
    expect((await postDecision(link)).status).toBe(200)
    const feedToken = await newFeedToken()
    expect((await fetch(`${stage.relayUrl}/calendar.ics?token=${feedToken}`)).status).toBe(200)
    await fetch(`${stage.relayUrl}/calendar.ics?token=${feedToken}x`)
    await fetch(`${stage.relayUrl}/${feedToken}`)
    await stage.relay!.stop()
    await stage.relay!.ended
    const output = stage.programs.map((program) => program.output).join('')
    expect(output).toContain('[not logged]')
    const token = pathname.split('/').at(-1)!
    for (const [name, value] of Object.entries({ ...stage.secrets, token, feedToken })) {
      expect(output.includes(value), name).toBe(false)
    }
    const entries = stage.programs.flatMap((program) => program.entries)
    const own = entries.filter(({ event }) => !/^(functions_host|placeholder)_/.test(event))
    expect(own.length).toBeGreaterThan(50)
    const lost = own.filter(({ invocationId }) => !/^[0-9a-f-]{36}$/.test(String(invocationId)))
    expect(lost).toEqual([])
  })
})

async function newFeedToken(): Promise<string> {
  const response = await fetch(`${stage.relayUrl}/v1/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stage.secrets.adminKey}` },
    body: JSON.stringify({ name: 'feed', scopes: ['calendar'] }),
  })
  return ((await response.json()) as { token: string }).token
}
