// The fleet in the model: what VMs of a tenant share, which of them go, and documents that were recorded.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ID, newFleet, SECOND, T0 } from './new-fleet.ts'

describe('tenants', () => {
  test('share a document within, and nothing between', () => {
    const { create, seen } = newFleet()
    create({ Resources: ['web_10'] })
    expect(seen('web_1')).toEqual(seen('web_10'))
    expect(seen('db_0')).toEqual({ DocumentIncarnation: 1, Events: [] })
  })

  test.each([
    ['an unknown VM', ['web_0', 'web_7'], 'web_7'],
    ['VMs of two tenants', ['web_0', 'db_0'], 'one tenant'],
  ])('an event for %s is refused', (_, Resources, mention) => {
    const { create, seen } = newFleet()
    expect(create({ Resources })).toEqual({
      refused: 400,
      error: expect.stringContaining(mention),
    })
    expect(seen().DocumentIncarnation).toBe(1)
  })

  test('an id that is in use is refused in any case, and free again afterwards', () => {
    const { fleet, create } = newFleet()
    create()
    expect(create({ EventId: ID.toUpperCase() })).toMatchObject({ refused: 409 })
    fleet.cancelEvent(ID, T0)
    expect(create({ EventId: ID.toUpperCase() })).toEqual({ EventId: ID.toUpperCase() })
  })

  test('the incarnation grows exactly when the document changes', () => {
    const request = fc.record(
      {
        Resources: fc.subarray(['web_0', 'web_1'], { minLength: 1 }),
        noticeSeconds: fc.nat(20),
        impactSeconds: fc.nat(20),
      },
      { requiredKeys: [] },
    )
    const id = fc.constantFrom('A', 'B', 'C')
    const action = fc.oneof(
      fc.tuple(fc.constant('create' as const), id, request),
      fc.tuple(fc.constant('patch' as const), id, fc.record({ Description: fc.constant('x') })),
      fc.tuple(fc.constant('cancel' as const), id, fc.constant({})),
      fc.tuple(fc.constant('approve' as const), id, fc.constant({})),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(action, fc.nat(8))), (actions) => {
        const { fleet, steps, seen } = newFleet()
        let now = T0
        for (const [[verb, eventId, body], waitSeconds] of actions) {
          const before = seen()
          steps.length = 0
          now += waitSeconds * SECOND
          if (verb === 'create') fleet.createEvent(eventId, body, now)
          else if (verb === 'patch') fleet.patchEvent(eventId, body, now)
          else if (verb === 'cancel') fleet.cancelEvent(eventId, now)
          else fleet.startEvents('web_1', [eventId], now)
          const after = seen()
          const grownBy = Number(after.DocumentIncarnation) - Number(before.DocumentIncarnation)
          expect(grownBy).toBe(steps.filter(({ step }) => step !== 'approved').length)
          if (grownBy === 0) expect(after.Events).toEqual(before.Events)
        }
      }),
    )
  })
})

describe('VMs that go', () => {
  test.each(['Preempt', 'Terminate'])('%s takes its VMs once the impact is over', (EventType) => {
    const { fleet, create, seen } = newFleet()
    create({ EventType, Resources: ['web_1'], noticeSeconds: 30, impactSeconds: 5 })
    fleet.advance(T0 + 30 * SECOND)
    expect(fleet.answers('web_1')).toBe(true)
    fleet.advance(T0 + 35 * SECOND)
    expect(fleet.answers('web_1')).toBe(false)
    expect(fleet.answers('web_10')).toBe(true)
    expect(seen('web_0').Events).toEqual([])
  })

  test.each([
    ['Reboot', true, false],
    ['Redeploy', true, false],
    ['Reboot', false, true],
  ])('%s with takesVmDown %s: answers while Started: %s', (EventType, takesVmDown, answers) => {
    const { fleet, create } = newFleet()
    create({ EventType, takesVmDown, noticeSeconds: 60, impactSeconds: 10 })
    expect(fleet.answers('web_0')).toBe(true)
    fleet.advance(T0 + 60 * SECOND)
    expect(fleet.answers('web_0')).toBe(answers)
    expect(fleet.answers('web_1')).toBe(true)
    fleet.advance(T0 + 70 * SECOND)
    expect(fleet.answers('web_0')).toBe(true)
  })

  test('a Freeze does not take a VM down', () => {
    const { create } = newFleet()
    expect(create({ EventType: 'Freeze', takesVmDown: true })).toMatchObject({ refused: 400 })
  })
})

describe('recorded documents', () => {
  const recorded = { DocumentIncarnation: 77, Events: [{ EventId: 'ABC', Extra: true }] }

  test('their events can be approved, and only theirs', () => {
    const { fleet, create, status } = newFleet()
    create()
    fleet.serveRecorded(['web_0'], recorded)
    expect(fleet.startEvents('web_0', ['abc'], T0)).toBe(200)
    expect(fleet.startEvents('web_0', [ID], T0)).toBe(400)
    expect(fleet.startRequests.map((entry) => entry.status)).toEqual([200, 400])
    expect(status('web_1')).toBe('Scheduled')
  })
})
