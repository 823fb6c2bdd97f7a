// One VM of a fleet reports lies about another VM's event. Honest reports are still stored, and the
// event can still be decided. On Azure a row has room for about 480 000 characters.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '../../functions/app.ts'
import { eventLength, maxEventLength } from '../../functions/core/event/event-size.ts'
import { newRows, storeOn } from '../support/azure-store.ts'
import { type Azurite, startAzurite } from '../support/azurite.ts'
import { bigNames } from '../support/big.ts'
import { adminKey, createWorld, event, eventId, FakeBeacon, started } from '../support/world.ts'

let azurite: Azurite
beforeAll(async () => {
  azurite = await startAzurite()
})
afterAll(() => azurite.stop())

test('an event that a liar filled up is reported, decided and directed as before', async () => {
  const world = await createWorld()
  const relay = { ...world.relay, store: storeOn(newRows(azurite)) }
  const reachable = { app: createApp(relay), clock: world.clock }
  const liar = new FakeBeacon(reachable, 'liar')
  for (let i = 0; i < 12; i++) {
    // each list is 250 KB of names that no list before contains
    await liar.sees([event({ resources: bigNames(i * 1_000, 980), description: `${i}` })])
    world.clock.now += 1_000
  }
  const names = ['honest', ...bigNames(50_000, 980)]
  const honest = new FakeBeacon(reachable, 'honest')
  const another = event({ eventId: 'another' })
  expect((await liar.sees([event({ resources: names })])).refused).toEqual([])
  expect((await honest.sees([event({ resources: names })])).refused).toEqual([])
  expect((await honest.sees([event({ resources: names.slice(0, 900) }), another])).refused).toEqual(
    [],
  )
  expect(await relay.store.readEvent({ fleet: 'prod', eventId: 'another' })).toBeDefined()
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ decision: 'approve' })
  const path = `/v1/events/prod/${eventId}/decision`
  const decided = await reachable.app.request(path, { method: 'POST', headers, body })
  expect(decided.status).toBe(200)
  const { directives } = await liar.sees([event({ resources: names.slice(0, 900) })])
  expect(directives.map((directive) => directive.eventId)).toEqual([eventId])
  const record = await relay.store.readEvent({ fleet: 'prod', eventId })
  expect(record?.history[0]?.what).toBe('seen')
  expect(record?.history.map(({ what }) => what)).toContain('approved')
  expect(eventLength(record!)).toBeLessThanOrEqual(maxEventLength)
  world.store.close()
})

test('an event that liars filled with escaped names, ever less at a time, is decided and started', async () => {
  const world = await createWorld()
  const relay = { ...world.relay, store: storeOn(newRows(azurite)) }
  const reachable = { app: createApp(relay), clock: world.clock }
  const honest = new FakeBeacon(reachable, 'web_0')
  await honest.sees([event()])
  // one character, and six as JSON
  const escaped = '\u0001'
  for (let chars = 240_000, i = 0; chars >= 12; chars = Math.floor(chars / 2), i++) {
    const count = Math.ceil(chars / 1_540)
    const length = Math.max(6, Math.floor(chars / count / 6))
    for (const twice of ['a', 'b']) {
      const names = Array.from({ length: count }, (_, k) =>
        `${twice}${i}y${k}`.padEnd(length, escaped),
      )
      world.clock.now += 1_000
      const liar = new FakeBeacon(reachable, `liar_${twice}${i}`)
      const { refused } = await liar.sees([event({ resources: ['web_0', ...names] })])
      expect(refused).toEqual([])
    }
  }
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ decision: 'approve' })
  const path = `/v1/events/prod/${eventId}/decision`
  const decided = await reachable.app.request(path, { method: 'POST', headers, body })
  expect(decided.status).toBe(200)
  expect((await honest.sees([started()])).refused).toEqual([])
  const record = await relay.store.readEvent({ fleet: 'prod', eventId })
  expect(record?.phase).toBe('started')
  expect(eventLength(record!)).toBeLessThanOrEqual(maxEventLength)
  world.store.close()
})
