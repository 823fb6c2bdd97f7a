// A VM of another resource group, which has the name of the affected one, speaks first. What is approved for it tells
// no VM of the event's own group to start.
import { afterEach, expect, test } from 'vitest'
import { arm, list, publication, startWithAzure } from '../support/azure.ts'
import { linkOf, press } from '../support/people.ts'
import { hour, minute, second, startRelay, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon } from '../support/world.ts'

afterEach(() => world.store.close())

const policy = [{ name: 'devs', match: { resourceGroup: 'dev' }, decide: 'approve' }]

test.each([
  ['a person', false],
  ['a person', true],
  ['a rule', false],
  ['a rule', true],
])(
  '%s approves dev/web_0: no VM of rg is told to start (Azure lists rg/web_0 later: %s)',
  async (who, isListed) => {
    const config = who === 'a rule' ? { policy } : {}
    if (isListed) await startWithAzure({}, config)
    else await startRelay(config)
    // the list is read a moment before the event
    await world.pass(minute)
    const later = event({ notBeforeAt: world.clock.now + hour })
    if (isListed) list(publication({ notBeforeAt: later.notBeforeAt!, durationSeconds: -1 }))
    const vm = { vmId: 'other', resourceGroup: 'dev' }
    const namesake = new FakeBeacon(world, 'web_0', { vm })
    const own = ['web_0', 'web_7'].map((name) => new FakeBeacon(world, name))
    for (const one of [namesake, ...own]) await one.sees([later])
    await world.drain()
    if (who === 'a person') await press(world, linkOf(world), 'approve')
    await world.pass(10 * second)
    expect((await world.store.readEvent({ fleet: 'prod', eventId }))!.decided?.decision).toBe(
      'approved',
    )
    const directed: string[] = []
    for (let at = 0; at < 6 * minute; at += 2 * second) {
      for (const one of own) {
        const { directives } = await one.sees([later])
        if (directives.length === 0) continue
        directed.push(one.name)
        // as its own VM refuses what a rule approved for another group
        await one.sees([later], { starts: [{ eventId, ageMs: 0, outcome: 'not_as_approved' }] })
      }
      await world.pass(2 * second)
    }
    expect(directed).toEqual([])
    if (isListed) expect(arm.acknowledged).toEqual([])
  },
)
