// A VM reports an event of another VM before that one does, and lets it end within the same minute: by a change that is
// over already, by a document of an hour ago, or by a NotBefore that has passed. The VM of the event shows all the time
// that it waits.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ScheduledEvent } from '../../shared/document.ts'
import { list, publication, startWithAzure } from '../support/azure.ts'
import { beacon, hour, minute, outcome, second, world } from '../support/relay.ts'
import { event, FakeBeacon, started } from '../support/world.ts'

beforeEach(() => startWithAzure())
afterEach(() => world.store.close())

type Lie = (liar: FakeBeacon, real: ScheduledEvent) => Promise<unknown>

/** The event was there and is gone again, 20 s ago. */
const gone =
  (resources: string[]): Lie =>
  (liar, real) => {
    const change = { kind: 'gone', ageMs: 20 * second, lastSeenAgeMs: 21 * second } as const
    const changes = [{ ...change, firstPoll: false, event: { ...real, resources } }]
    return liar.sees([], { changes })
  }

/** An onlooker's document of an hour ago has it, so it is lost at once. The next one lacks it. */
const lost: Lie = async (liar) => {
  await liar.sees([started({ resources: ['web_0'] })], { ageMs: hour })
  await liar.sees([])
}

/** It was due, and Azure took its VM. */
const terminated: Lie = async (liar, real) => {
  const resources = ['fake_0', 'web_0']
  await liar.sees([{ ...real, resources, notBeforeAt: world.clock.now - minute }])
  await world.pass(5 * second)
  await liar.sees([started({ resources, eventType: 'Terminate' })])
  for (let at = 0; at < minute; at += 10 * second) {
    await world.pass(10 * second)
    await liar.sees([])
  }
}

const lies: [string, Lie][] = [
  ['a change names both', gone(['fake_0', 'web_0'])],
  ['a change names the liar', gone(['fake_0'])],
  ['an old document', lost],
  ['a Terminate that was due', terminated],
]

test.each(lies.flatMap(([name, lie]) => [false, true].map((listed) => ({ name, lie, listed }))))(
  '$name: its VM has it back within three minutes (Azure lists it: $listed)',
  async ({ lie, listed }) => {
    const notBeforeAt = world.clock.now + 3 * hour
    const real = event({ notBeforeAt })
    if (listed) list(publication({ notBeforeAt, durationSeconds: -1 }))
    await lie(new FakeBeacon(world, 'fake_0'), real)
    let hidden = 0
    let nextAt = 0
    for (let at = 0; at < 20 * minute; at += 5 * second) {
      if (world.clock.now >= nextAt) nextAt = world.clock.now + (await beacon.sees([real])).paceMs
      await world.pass(5 * second)
      if ((await outcome()).phase !== 'scheduled') hidden += 5 * second
    }
    expect(hidden).toBeLessThanOrEqual(3 * minute)
    await beacon.sees([started()])
    await world.pass(second)
    expect((await outcome()).phase).toBe('started')
  },
)
