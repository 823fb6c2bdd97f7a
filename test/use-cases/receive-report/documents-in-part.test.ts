// Documents that do not fit into a report: 100 events of 190 VMs each, of which one hits this VM. The
// limits of a report are 500 events of 1,000 VMs.
import { beforeEach, expect, test } from 'vitest'
import { buildReport } from '../../../beacon/report.ts'
import type { Answer } from '../../../shared/report.ts'
import { forge, press } from '../../support/people.ts'
import { beacon, eventNow, minute, moments, startRelay, world } from '../../support/relay.ts'
import { event, eventId } from '../../support/world.ts'

const names = Array.from({ length: 190 }, (_, i) => `production-web_${i}`)
const events = Array.from({ length: 100 }, (_, i) =>
  i === 99
    ? event({ resources: ['web_0', ...names] })
    : event({ eventId: `event-${i}`, resources: names }),
)

beforeEach(async () => {
  await startRelay({ routes: [{ match: { resource: 'web_0' }, channels: ['hook'] }] })
  await beacon.sees([])
  let waiting = events.map((one, sequence) => ({
    ...{ sequence, item: { kind: 'appeared' as const, firstPoll: false, event: one } },
    ...{ ageMs: () => 100, lastSeenAgeMs: () => undefined },
  }))
  while (waiting.length > 0) {
    const { included } = await reports(waiting)
    waiting = waiting.filter(({ sequence }) => !included.includes(sequence))
  }
  await world.drain()
})

/** One report, as the beacon builds it. */
async function reports(pending: Parameters<typeof buildReport>[0]['pending'] = [], shown = events) {
  const { vm, beacon: own } = beacon.body([])
  const polled = { seenAt: 0, apiVersion: '2020-07-01' as const, events: shown, hidden: [] }
  const document = { ...polled, unreadable: { count: 0, samples: [] } }
  const built = buildReport({ ...{ vm, beacon: own, document, pending, now: 0 } })
  if (typeof built === 'number') throw new Error(`item ${built} does not fit`)
  const response = await beacon.post(built.body)
  expect(response.status).toBe(200)
  return { ...built, answer: (await response.json()) as Answer }
}

test('an approved event is started', async () => {
  await press(world, await forge(world), 'approve')
  const { leftOut, answer } = await reports()
  expect(leftOut).toBeGreaterThan(0)
  expect(answer.directives).toMatchObject([{ eventId }])
})

test('an event is not lost while the VM that sees it reports', async () => {
  // lost after 10
  for (let i = 0; i < 12; i++) {
    await world.pass(minute)
    await reports()
  }
  await world.drain()
  expect(moments()).not.toContain('lost')
})

test('all events end once a document that fits shows none of them', async () => {
  beacon.bootId = 'after-a-restart'
  await reports([], [])
  await world.pass(10_001)
  for (const { eventId: id } of events)
    expect(await eventNow(id)).toMatchObject({ outcome: 'cancelled' })
})
