// Wake-ups of the Azure host without its timer, in a real Azurite queue that is read as host.json
// says.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ScheduledEvent } from '../../shared/document.ts'
import type { Row } from '../support/deliveries.ts'
import type { Kind } from '../support/expect.ts'
import { newEvent, reporter } from '../support/reports.ts'
import { type Stage, startStage } from '../support/stage.ts'

const patience = { timeout: 15_000 }

let stage: Stage
let post: ReturnType<typeof reporter>

beforeAll(async () => {
  stage = await startStage({
    vms: [['web_0']],
    host: 'azure',
    // chats would accept only one message a second
    config: () => ({ routes: [{ match: {}, channels: ['pager', 'system'] }] }),
  })
  post = reporter(stage, 'web_0')
  await stage.startRelay({ environment: { FUNCTIONS_TRIGGERS: 'queue' } })
})

afterAll(() => stage.stop())

const answersTo = ({ eventId }: ScheduledEvent, kind: Kind) =>
  stage.sinks.received
    .filter((one) => one.kind === kind && one.body.includes(eventId))
    .map(({ answered }) => answered)

const delivered = ({ eventId }: ScheduledEvent) =>
  stage.relay!.waitFor('delivered', (entry) => {
    return entry.eventId === eventId && entry.channel === 'system'
  })

test('a retry comes with a wake-up, without the timer', async () => {
  const again = newEvent()
  stage.sinks.failNext({ kind: 'webhook', status: 503, about: again.eventId })
  expect((await post([again])).status).toBe(200)
  // on a busy machine, the request itself may last until the retry
  await delivered(again)
  expect(answersTo(again, 'webhook')).toEqual([503, 204])
})

test('a wake-up that waits for a channel delays no other', async () => {
  const [slow, next] = [newEvent(), newEvent()]
  stage.sinks.failNext({ kind: 'webhook', status: 503, about: slow.eventId })
  stage.sinks.failNext({ kind: 'webhook', delayMs: 9_000, about: slow.eventId })
  expect((await post([slow])).status).toBe(200)
  await expect.poll(() => answersTo(slow, 'webhook').length, patience).toBe(2)
  stage.sinks.failNext({ kind: 'pagerduty', status: 503, about: next.eventId })
  expect((await post([slow, next])).status).toBe(200)
  await expect.poll(() => answersTo(next, 'pagerduty'), patience).toEqual([503, 202])
  const { deliveries } = await stage.readEvent(slow.eventId)
  const waiting = deliveries.find(({ channel }: Row) => channel === 'system')
  expect(waiting).toMatchObject({ state: 'pending', attempts: 2 })
  await delivered(slow)
})
