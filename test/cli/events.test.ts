// `foghorn events`, `approve`, `leave` and `mute`, beside a relay.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Command } from '../../functions/cli/command.ts'
import { approve, chosenBy, describeDoubts, events, leave } from '../../functions/cli/events.ts'
import type { PublicEvent } from '../../functions/core/event/public-view.ts'
import { beacon, eventNow, minute, second, world } from '../support/relay.ts'
import { servedForEach } from '../support/served.ts'
import { event, eventId, FakeBeacon } from '../support/world.ts'

const play = servedForEach()

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: world.clock.now })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('events', () => {
  test('none, then the open ones with the most urgent first', async () => {
    expect((await play('events', events)).out).toBe('No event is open.\n')
    const soon = event({
      eventId: 'soon',
      resources: ['web_1'],
      notBeforeAt: world.clock.now + minute,
    })
    await beacon.sees([event(), soon])
    const { code, out } = await play('events', events)
    expect(code).toBe(0)
    const [head, ...rows] = out.trimEnd().split('\n')
    expect(head).toMatch(/^TIME +FLEET +EVENT +STATE +ID$/)
    expect(rows.map((row) => row.split(/ {2,}/).slice(1))).toEqual([
      ['prod', 'Reboot of web_1', 'to decide', 'soon'],
      ['prod', 'Reboot of web_0', 'to decide', eventId],
    ])
  })

  test('from its NotBefore on, Azure may start an event at any moment, so nobody is asked', async () => {
    await beacon.sees([event()])
    vi.setSystemTime(world.clock.now + 16 * minute)
    expect((await play('events', events)).out).toContain(
      'due   prod   Reboot of web_0  waiting for Azure',
    )
  })

  test('as JSON, of a fleet, and those that are over', async () => {
    await beacon.sees([event()])
    const { out } = await play('events', events, ['--json', '--fleet', 'prod'])
    expect(JSON.parse(out)).toMatchObject({ eventId, phase: 'scheduled' })
    expect((await play('events', events, ['--fleet', 'nowhere'])).code).toBe(1)
    await beacon.sees([])
    await world.pass(minute)
    await beacon.sees([])
    expect((await play('events', events, ['--past'])).out).toContain('cancelled')
  })
})

test('events that are over hide no open one', async () => {
  await beacon.sees([event()])
  const other = new FakeBeacon(world, 'other')
  for (let turn = 0; turn < 5; turn++) {
    world.clock.now += second
    const some = Array.from({ length: 45 }, (_, i) =>
      event({ eventId: `over-${turn}-${i}`, resources: ['other'] }),
    )
    await other.sees(some)
    await other.sees([])
    await world.pass(15 * second)
    await other.sees([])
    await beacon.sees([event()])
  }
  vi.setSystemTime(world.clock.now)
  expect((await play('events', events)).out).toContain(eventId)
  expect((await play('approve', approve, [eventId, '--yes'])).code).toBe(0)
})

test('of more open events than the list has, a whole id and a VM mean theirs', async () => {
  for (let n = 0; n < 5; n++) {
    const vm = `many_${n}`
    const own = Array.from({ length: 45 }, (_, i) =>
      event({ eventId: `many-${n}-${i}`, resources: [vm], notBeforeAt: world.clock.now + minute }),
    )
    await new FakeBeacon(world, vm).sees(own)
  }
  await beacon.sees([event({ notBeforeAt: world.clock.now + 20 * minute })])
  const { out, err } = await play('events', events)
  expect([out.includes(eventId), err]).toEqual([false, expect.stringContaining('these 200')])
  const leaves = async (...words: string[]) => play('leave', leave, [...words, '--yes'])
  expect((await leaves('nothing', '--fleet', 'prod')).err).toContain('no open event is called')
  expect((await leaves('web_0')).code).toBe(0)
  expect((await play('approve', approve, [eventId, '--yes', '--fleet', 'prod'])).code).toBe(0)
})

test('a silent VM is said in the list, and before an approval', async () => {
  await beacon.sees([event()])
  await world.pass(5 * minute)
  expect((await play('events', events)).out).toContain('to decide, silent')
  const shown: PublicEvent = await eventNow()
  expect(describeDoubts(shown)).toMatch(/^No VM that sees it has reported since 20\S+Z: /)
  await play('approve', approve, [eventId, '--yes'])
  await world.pass(minute)
  expect((await play('events', events)).out).toContain('stuck, silent')
})

describe('a decision', () => {
  beforeEach(() => beacon.sees([event()]))

  test.each<[string, Command, string, string]>([
    ['approve', approve, eventId.slice(0, 8), 'approved'],
    ['leave', leave, 'WEB_0', 'declined'],
  ])('%s: by the beginning of an id, or by a VM', async (name, command, which, decision) => {
    const { code } = await play(name, command, [which, '--yes', '--reason', 'the backup runs'])
    expect(code).toBe(0)
    const { approvals } = await eventNow()
    expect(approvals).toMatchObject([{ decision, how: 'admin', reason: 'the backup runs' }])
  })

  test('without a terminal and without --yes nothing is decided', async () => {
    const { code, err } = await play('approve', approve, [eventId])
    expect([code, err]).toEqual([2, expect.stringContaining('write --yes')])
    expect((await eventNow()).approvals).toEqual([])
  })

  describe('at a terminal', () => {
    test('it is asked for, and counts', async () => {
      const asked: string[] = []
      const answers = (answer: string) => async (question: string) => {
        asked.push(question)
        return answer
      }
      expect((await play('approve', approve, [eventId], answers(''))).code).toBe(1)
      expect((await eventNow()).approvals).toEqual([])
      expect((await play('approve', approve, [eventId], answers('y'))).code).toBe(0)
      expect(asked[1]).toBe('Start the Reboot of web_0 now? You cannot undo this. [y/N] ')
      expect((await eventNow()).approvals).toMatchObject([{ decision: 'approved' }])
    })

    test('it counts only for what the question says', async () => {
      const meanwhile = async () => {
        await beacon.sees([event({ eventType: 'Redeploy', resources: ['web_0', 'db_0'] })])
        await world.drain()
        return 'y'
      }
      const { code, err } = await play('approve', approve, [eventId], meanwhile)
      expect([code, err]).toEqual([1, expect.stringContaining('the event has changed')])
      expect((await eventNow()).approvals).toEqual([])
    })
  })

  test('what is not decided is said, as the relay says it', async () => {
    await play('approve', approve, [eventId, '--yes'])
    const { code, err } = await play('leave', leave, [eventId, '--yes'])
    expect([code, err]).toEqual([1, expect.stringContaining('nothing was decided')])
  })
})

test('a word must mean one open event', () => {
  const one = (id: string, vm: string) =>
    ({ fleet: 'prod', eventId: id, resources: [vm] }) as PublicEvent
  const open = [one('aaaaaa11', 'web_0'), one('aaaaaa22', 'web_1')]
  expect(chosenBy('AAAAAA2', open).eventId).toBe('aaaaaa22')
  expect(() => chosenBy('aaaaaa', open)).toThrow('"aaaaaa" may be prod aaaaaa11, prod aaaaaa22')
  // a whole id means its event, though another one begins with it
  expect(chosenBy('aaaaaa11', [...open, one('aaaaaa112', 'web_2')]).eventId).toBe('aaaaaa11')
  // one that comes tomorrow may begin like this
  expect(() => chosenBy('aaaaa', open)).toThrow('no open event is called "aaaaa"')
  expect(() => chosenBy('db_0', open)).toThrow('no open event is called "db_0"')
})
