// The model under a virtual clock: every test sets the time itself.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { EventsDocument } from './documents.ts'
import type { Step } from './event.ts'
import { Faults } from './faults.ts'
import { Fleet } from './fleet.ts'
import type { EventRequest } from './requests.ts'

const T0 = Date.parse('2026-03-02T10:00:00Z')
const SECOND = 1000
const MINUTE = 60 * SECOND
const ID = '7d1f0c52-52a5-4a3c-9a35-0c1d8c1a2b3e'

function newFleet() {
  const steps: Step[] = []
  const fleet = new Fleet([['web_0', 'web_1', 'web_10'], ['db_0']], {
    firstGetMs: 50,
    onStep: (step) => steps.push(step),
  })
  const create = (request: EventRequest = {}, id = ID) => fleet.createEvent(id, request, T0)
  const seen = (vm = 'web_0') => fleet.document(vm) as EventsDocument
  const status = (vm = 'web_0') => seen(vm).Events[0]?.EventStatus ?? 'gone'
  return { fleet, steps, create, seen, status }
}

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

  test('again is harmless, and logged', () => {
    const { fleet, create, seen } = newFleet()
    create()
    fleet.startEvents('web_0', [ID], T0 + SECOND)
    const before = seen()
    expect(fleet.startEvents('web_1', [ID], T0 + 2 * SECOND)).toBe(200)
    expect(seen()).toEqual(before)
    expect(fleet.startRequests).toEqual([
      { vm: 'web_0', eventId: ID, status: 200, at: T0 + SECOND },
      { vm: 'web_1', eventId: ID, status: 200, at: T0 + 2 * SECOND },
    ])
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

  test('the incarnation starts over on reset', () => {
    const { fleet, create, seen } = newFleet()
    create()
    fleet.resetIncarnation()
    expect(seen()).toMatchObject({ DocumentIncarnation: 1, Events: [{ EventId: ID }] })
  })

  test('the first GET of each waits until its service is on', () => {
    const { fleet } = newFleet()
    expect(fleet.switchOn('web_0', T0)).toBe(50)
    expect(fleet.switchOn('web_1', T0 + 20)).toBe(30)
    expect(fleet.switchOn('web_0', T0 + 60)).toBe(0)
    expect(fleet.switchOn('db_0', T0 + 60)).toBe(50)
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

  test('can be sent away and brought back', () => {
    const { fleet } = newFleet()
    fleet.setAway('db_0', true)
    expect(fleet.answers('db_0')).toBe(false)
    fleet.setAway('db_0', false)
    expect(fleet.answers('db_0')).toBe(true)
  })
})

describe('recorded documents', () => {
  const recorded = { DocumentIncarnation: 77, Events: [{ EventId: 'ABC', Extra: true }] }

  test('are served as they are, to those VMs only, until taken back', () => {
    const { fleet, create, seen, status } = newFleet()
    create()
    fleet.serveRecorded(['web_0'], recorded)
    expect(fleet.document('web_0', '2017-03-01')).toBe(recorded)
    expect(status('web_1')).toBe('Scheduled')
    fleet.serveRecorded(['web_0'], null)
    expect(seen('web_0')).toEqual(seen('web_1'))
  })

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

describe('faults', () => {
  test('with times count per VM and come first, in order; then the newest lasting one', () => {
    const faults = new Faults()
    faults.add({ status: 500 })
    faults.add({ status: 503, times: 2 })
    faults.add({ vm: 'b', status: 429, times: 1 })
    faults.add({ status: 410 })
    const take = (vm: string) => faults.take(vm)?.status
    expect([take('a'), take('a'), take('a'), take('a')]).toEqual([503, 503, 410, 410])
    expect([take('b'), take('b'), take('b'), take('b')]).toEqual([503, 503, 429, 410])
  })

  test('can be cleared for one VM, or all', () => {
    const faults = new Faults()
    faults.add({ status: 500 })
    faults.add({ vm: 'a', status: 503 })
    expect(faults.take('a')?.status).toBe(503)
    faults.clear('a')
    expect(faults.take('a')?.status).toBe(500)
    faults.clear()
    expect(faults.take('a')).toBeNull()
  })
})
