// Onlookers say that Azure accepted the approval of an event whose VM has no beacon, and Azure never heard of it.
import { afterEach, expect, test } from 'vitest'
import { arm, list, publication, startWithAzure } from '../support/azure.ts'
import { linkOf, press } from '../support/people.ts'
import { minute, second, startRelay, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon, started } from '../support/world.ts'

const resources = ['db_9']
const starts = [{ eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }]
const some = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => new FakeBeacon(world, `${name}_${i}`))

afterEach(() => world.store.close())

test.each([
  ['another onlooker and Azure’s list', 1, true],
  ['three other onlookers', 3, false],
  ['Azure’s list alone', 0, true],
])(
  'an onlooker says that Azure accepted, and that the event started; %s: Azure is told within six minutes',
  async (_, honest, isListed) => {
    await startWithAzure()
    const notBeforeAt = world.clock.now + 40 * minute
    const later = event({ notBeforeAt, resources })
    if (isListed) list(publication({ notBeforeAt, durationSeconds: -1, vms: resources }))
    const [good, liar] = [some('honest', honest), new FakeBeacon(world, 'liar')]
    for (const one of [liar, ...good]) await one.sees([later])
    await world.drain()
    await world.pass(6 * minute)
    for (const one of [liar, ...good]) await one.sees([later])
    await press(world, linkOf(world), 'approve')
    await liar.sees([later])
    await liar.sees([started({ resources })], { starts })
    let directives = 0
    for (let at = 0; at < 6 * minute; at += 10 * second) {
      await world.pass(10 * second)
      if (at % minute === 0) await liar.sees([started({ resources })])
      for (const one of good) directives += (await one.sees([later])).directives.length
    }
    expect(directives + arm.acknowledged.length).toBeGreaterThan(0)
  },
)

test.each([0, 3, 7, 10])(
  'two onlookers say in turns that Azure accepted: another one, whose reports come %i s later, is told within minutes',
  async (after) => {
    await startRelay()
    const later = event({ notBeforeAt: world.clock.now + 25 * minute, resources })
    const [[good], liars] = [some('honest', 1), some('liar', 2)]
    for (const one of [good!, ...liars]) await one.sees([later])
    await world.drain()
    for (const one of liars) await one.sees([later])
    await press(world, linkOf(world), 'approve')
    let nextAt = world.clock.now + after * second
    let directives = 0
    for (let at = 0; at < 6 * minute; at += second) {
      for (const one of liars) {
        if ((await one.sees([later])).directives.length > 0) await one.sees([later], { starts })
      }
      if (world.clock.now >= nextAt) {
        const answer = await good!.sees([later])
        directives += answer.directives.length
        nextAt = world.clock.now + answer.paceMs
      }
      await world.pass(second)
    }
    expect(directives).toBeGreaterThan(0)
  },
)
