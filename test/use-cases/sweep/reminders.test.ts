// If nobody decides, people are reminded and others are paged at the times that the routes name.
import { beforeEach, describe, expect, test } from 'vitest'
import { forge, press } from '../../support/people.ts'
import { beacon, minute, moments, report, startRelay, world } from '../../support/relay.ts'
import { event, startAt } from '../../support/world.ts'

const routes = [
  { match: {}, channels: ['hook', 'chat'], remindBeforeSeconds: [600, 60] },
  { match: {}, moments: ['reminder'], channels: ['pager'], remindBeforeSeconds: 300 },
]

beforeEach(() => startRelay({ routes }))

/** Minutes since the start and channel of each reminder sent. */
async function remindersUntil(minutes: number, events = [event()]): Promise<string[]> {
  const reminded: string[] = []
  for (let passed = 0; passed < minutes; passed++) {
    const from = world.sent.length
    await world.pass(minute)
    await beacon.sees(events)
    await world.drain()
    for (const { url, json } of world.sent.slice(from)) {
      const text = json.type ?? json.text ?? json.payload?.summary ?? json.event_action
      const is = text.includes('reminder') || text.includes('Still undecided')
      if (is) reminded.push(`${passed + 1} ${new URL(url).hostname.split('.')[0]}`)
    }
  }
  return reminded
}

describe('an event that nobody decides', () => {
  test('is reminded of once at each distance, and escalated if a route says so', async () => {
    await beacon.sees([event()])
    const expected = ['5 slack', '5 hook', '10 pager', '14 slack', '14 hook']
    expect((await remindersUntil(14)).sort()).toEqual(expected.sort())
  })

  test('an incident that an escalation opened is closed with the event', async () => {
    await beacon.sees([event()])
    await remindersUntil(11)
    await beacon.sees([])
    await world.pass(10_001)
    const actions = world.sent.filter(({ url }) => url.includes('pager'))
    expect(actions.map(({ json }) => json.event_action)).toEqual(['trigger', 'resolve'])
  })

  test('a NotBefore that moves is a new deadline', async () => {
    await beacon.sees([event()])
    expect(await remindersUntil(5)).toHaveLength(2)
    const moved = event({ notBeforeAt: startAt + 25 * minute })
    await beacon.sees([moved])
    expect((await remindersUntil(10, [moved])).sort()).toEqual(['10 hook', '10 slack'])
  })
})

test('asking the VMs to prepare keeps the reminders', async () => {
  await beacon.runs([event()], 'planned')
  await world.drain()
  expect((await press(world, await forge(world), 'prepare')).status).toBe(200)
  await world.pass(5 * minute)
  expect(moments()).toEqual(['scheduled', 'reminder'])
})

describe('no reminder', () => {
  test.each(['approve', 'not_now'])('after "%s"', async (decision) => {
    await report(event())
    await press(world, await forge(world), decision)
    expect(await remindersUntil(14)).toEqual([])
  })

  test('for an event that a policy only notifies of', async () => {
    await startRelay({ routes, policy: [{ match: {}, decide: 'notify' }] })
    await beacon.sees([event()])
    expect(await remindersUntil(14)).toEqual([])
  })

  test('for people who were asked just now; but an escalation is not late', async () => {
    const short = event({ notBeforeAt: startAt + 4 * minute })
    await beacon.sees([short])
    for (let looks = 0; looks < 3; looks++) await world.pass(1)
    expect((await remindersUntil(3, [short])).sort()).toEqual(['3 hook', '3 slack'])
    const pages = world.sent.filter(({ url }) => url.includes('pager'))
    expect(pages.map(({ json }) => json.event_action)).toEqual(['trigger'])
  })
})
