// One event in the model: what it is by default, how it goes on by itself, and what approving and changing do.

import { describe, expect, test } from 'vitest'
import { ID, MINUTE, newFleet, SECOND, T0 } from './new-fleet.ts'

describe('defaults of an event', () => {
  test('an empty request is a Reboot of the first VM with 15 minutes of notice', () => {
    const { create, seen } = newFleet()
    expect(create()).toEqual({ EventId: ID })
    expect(seen()).toEqual({
      DocumentIncarnation: 2,
      Events: [
        {
          EventId: ID,
          EventStatus: 'Scheduled',
          EventType: 'Reboot',
          ResourceType: 'VirtualMachine',
          Resources: ['web_0'],
          NotBefore: 'Mon, 02 Mar 2026 10:15:00 GMT',
          Description: expect.stringContaining('restart'),
          EventSource: 'Platform',
          DurationInSeconds: -1,
        },
      ],
    })
  })

  test.each([
    ['Freeze', 900],
    ['Reboot', 900],
    ['Redeploy', 600],
    ['Preempt', 30],
    ['Terminate', 300],
    ['SomethingNew', 900],
  ])('%s has %d s of notice', (EventType, noticeSeconds) => {
    const { fleet, create } = newFleet()
    create({ EventType })
    expect(fleet.nextTransitionAt()).toBe(T0 + noticeSeconds * SECOND)
  })
})

describe('the life of an event', () => {
  test('starts when NotBefore has passed, and is gone after its impact', () => {
    const { fleet, steps, create, seen, status } = newFleet()
    create({ noticeSeconds: 60, impactSeconds: 20 })
    fleet.advance(T0 + 60 * SECOND - 1)
    expect(status()).toBe('Scheduled')
    fleet.advance(T0 + 60 * SECOND)
    expect(seen()).toMatchObject({
      DocumentIncarnation: 3,
      Events: [{ EventId: ID, EventStatus: 'Started', NotBefore: '' }],
    })
    fleet.advance(T0 + 80 * SECOND - 1)
    expect(status()).toBe('Started')
    fleet.advance(T0 + 80 * SECOND)
    expect(seen()).toEqual({ DocumentIncarnation: 4, Events: [] })
    expect(steps.map(({ step, at }) => [step, at - T0])).toEqual([
      ['scheduled', 0],
      ['started', 60 * SECOND],
      ['ended', 80 * SECOND],
    ])
    expect(fleet.nextTransitionAt()).toBeNull()
  })

  test('counts its impact from when it started, however late the clock is advanced', () => {
    const { fleet, steps, create } = newFleet()
    create({ noticeSeconds: 60, impactSeconds: 20 })
    fleet.advance(T0 + 10 * MINUTE)
    expect(steps.at(-1)).toMatchObject({ step: 'ended', at: T0 + 80 * SECOND })
  })

  test('without notice is first seen as Started', () => {
    const { fleet, steps, create, status } = newFleet()
    create({ noticeSeconds: 0, impactSeconds: 5 })
    expect(status()).toBe('Started')
    expect(steps.map((step) => step.step)).toEqual(['started'])
    expect(fleet.nextTransitionAt()).toBe(T0 + 5 * SECOND)
  })

  test('cancelled, it vanishes from Scheduled', () => {
    const { fleet, create, seen } = newFleet()
    create()
    expect(fleet.cancelEvent(ID.toUpperCase(), T0 + MINUTE)).toEqual({ EventId: ID })
    expect(seen()).toEqual({ DocumentIncarnation: 3, Events: [] })
    expect(fleet.cancelEvent(ID, T0 + MINUTE)).toMatchObject({ refused: 404 })
  })

  test('can no longer be cancelled once started', () => {
    const { fleet, create, status } = newFleet()
    create({ noticeSeconds: 60 })
    expect(fleet.cancelEvent(ID, T0 + 61 * SECOND)).toMatchObject({ refused: 409 })
    expect(status()).toBe('Started')
  })

  test('several at once each take their own way', () => {
    const { fleet, create, seen } = newFleet()
    create({ noticeSeconds: 60 }, 'A')
    create({ noticeSeconds: 90, Resources: ['web_10'] }, 'B')
    fleet.advance(T0 + 65 * SECOND)
    expect(seen().Events.map((event) => event.EventStatus)).toEqual(['Started', 'Scheduled'])
    fleet.advance(T0 + 75 * SECOND)
    expect(seen().Events.map((event) => event.EventId)).toEqual(['B'])
  })
})

describe('approving', () => {
  test('starts the event at once, from any VM of the tenant, in any case', () => {
    const { fleet, steps, create, status } = newFleet()
    create()
    expect(fleet.startEvents('web_10', [ID.toUpperCase()], T0 + SECOND)).toBe(200)
    expect(status()).toBe('Started')
    expect(steps.map((step) => step.step)).toEqual(['scheduled', 'approved', 'started'])
  })

  test.each([
    ['startDelayMs', 30_000, T0 + SECOND + 30_000],
    ['NotBefore where that is sooner', 300_000, T0 + 2 * MINUTE],
  ])('waits for %s', (_, startDelayMs, startsAt) => {
    const { fleet, create, status } = newFleet()
    create({ noticeSeconds: 120, startDelayMs })
    fleet.startEvents('web_0', [ID], T0 + SECOND)
    expect(status()).toBe('Scheduled')
    expect(fleet.nextTransitionAt()).toBe(startsAt)
  })

  test.each([
    ['an unknown id', 'web_0', ['nonsense']],
    ['an event of another tenant', 'db_0', [ID]],
    ['a known id beside an unknown one', 'web_0', [ID, 'nonsense']],
  ])('%s is refused and starts nothing', (_, vm, ids) => {
    const { fleet, create, status } = newFleet()
    create()
    expect(fleet.startEvents(vm, ids, T0)).toBe(400)
    expect(status()).toBe('Scheduled')
    expect(fleet.startRequests.map((entry) => entry.status)).toEqual(ids.map(() => 400))
  })

  test('is refused once the event is gone', () => {
    const { fleet, create } = newFleet()
    create({ noticeSeconds: 0, impactSeconds: 1 })
    expect(fleet.startEvents('web_0', [ID], T0 + SECOND)).toBe(400)
  })
})

describe('changing an event', () => {
  test('shows the new values under the same id', () => {
    const { fleet, create, seen } = newFleet()
    create()
    const NotBefore = 'Mon, 02 Mar 2026 11:00:00 GMT'
    const patch = { NotBefore, Resources: ['web_1'], Description: 'later', DurationInSeconds: 9 }
    fleet.patchEvent(ID, patch, T0)
    expect(seen()).toMatchObject({ DocumentIncarnation: 3, Events: [{ EventId: ID, ...patch }] })
    expect(fleet.nextTransitionAt()).toBe(T0 + 60 * MINUTE)
  })

  test('to the values it has changes nothing', () => {
    const { fleet, create, seen } = newFleet()
    create({ DurationInSeconds: 5 })
    fleet.patchEvent(ID, { DurationInSeconds: 5 }, T0)
    expect(seen().DocumentIncarnation).toBe(2)
  })

  test.each([
    ['unknown', 'nonsense', {}, 0, 404],
    ['NotBefore once started', ID, { NotBefore: '2026-03-02T12:00:00Z' }, 20 * MINUTE, 409],
    ['unknown Resources', ID, { Resources: ['web_2'] }, 0, 400],
    ['Resources of another tenant', ID, { Resources: ['db_0'] }, 0, 400],
  ])('is refused: %s', (_, id, patch, later, refused) => {
    const { fleet, create } = newFleet()
    create({ impactSeconds: 3600 })
    expect(fleet.patchEvent(id, patch, T0 + later)).toMatchObject({ refused })
  })
})
