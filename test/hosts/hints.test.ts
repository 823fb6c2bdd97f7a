// What relays on one database tell each other: held answers end, streams go on, and a relay that hears nothing holds none.
import { expect, test } from 'vitest'
import { createCommitSignal } from '../../functions/host/commit-signal.ts'
import { createHolds } from '../../functions/host/holds.ts'
import { SharedHints } from '../../functions/host/node/hints.ts'

/** Two relays that hear what each of them tells, as a database passes it on: also to the one that told it. */
function startTwo() {
  const told: string[] = []
  const all: SharedHints[] = []
  const tell = async (text: string) => {
    told.push(text)
    for (const one of all) one.hear(text)
  }
  const relays = ['one', 'other'].map((id) => {
    const hints = new SharedHints(id, tell)
    all.push(hints)
    const own = { holds: createHolds(), commitSignal: createCommitSignal() }
    hints.setHearing(true)
    return { hints, own, ...hints.share(own) }
  })
  return { told, one: relays[0]!, other: relays[1]! }
}

const held = (relay: ReturnType<typeof startTwo>['one'], eventId: string) =>
  relay.holds.take('prod', `beacon-of-${eventId}`, [eventId])!.wait(60_000)

test('an answer that one relay holds ends as another one commits what concerns it', async () => {
  const { one, other, told } = startTwo()
  const waits = held(other, 'a')
  one.holds.wake({ fleet: 'prod', eventId: 'a' })
  expect(await waits).toBe('over')
  // the other one has nothing to tell of it
  expect(told).toHaveLength(1)
})

test('readers of moments in the other relay go on', async () => {
  const { one, other } = startTwo()
  const next = other.commitSignal.next(other.commitSignal.raised, 60_000)
  one.commitSignal.raise()
  await next
  expect(other.commitSignal.raised).toBe(1)
})

test('where there are too many events to name, all answers end', async () => {
  const { one, other, told } = startTwo()
  const waits = held(other, 'not-among-them')
  for (let i = 0; i < 200; i++)
    one.holds.wake({ fleet: 'prod', eventId: `event-${i}`.padEnd(60, 'x') })
  expect(await waits).toBe('over')
  expect(told[0]!.length).toBeLessThan(200)
})

test('a relay that hears nothing holds no answer, and ends those that it holds', async () => {
  const { one } = startTwo()
  const waits = held(one, 'a')
  one.hints.setHearing(false)
  expect(await waits).toBe('over')
  expect(one.holds.hasRoom('prod', 'b')).toBe(false)
  expect(one.holds.take('prod', 'b', ['a'])).toBeUndefined()
})

test('a text of another program is nothing', () => {
  const { one } = startTwo()
  for (const text of ['', 'hello', '{"from":1}']) one.hints.hear(text)
  expect(one.commitSignal.raised).toBe(0)
})

test('what is gathered as a relay stops is told', async () => {
  const { one, other } = startTwo()
  const waits = held(other, 'a')
  one.holds.wake({ fleet: 'prod', eventId: 'a' })
  await one.hints.close()
  expect(await waits).toBe('over')
})
