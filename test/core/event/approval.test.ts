// Decisions and directives: every combination of an event, its decision and the new decision.
import { describe, expect, test } from 'vitest'
import { decide, decideByPolicy } from '../../../functions/core/event/approval.ts'
import { judgeLease, withLease, withStartResult } from '../../../functions/core/event/directive.ts'
import type { Decided, EventRecord, Phase } from '../../../functions/core/event/event.ts'
import { directiveLeaseMs, type Start } from '../../../shared/report.ts'
import { at, openRecord, record, scope, sight } from '../../support/records.ts'
import { event } from '../../support/world.ts'

const approved: Decided = { decision: 'approved', how: 'link', who: 'chat', at, scope }
const declined: Decided = { ...approved, decision: 'declined' }
const ended = { at, outcome: 'completed' as const }

const states = (['scheduled', 'started', 'completed', 'cancelled'] as Phase[]).flatMap((phase) =>
  [undefined, declined, approved].flatMap((decided) =>
    [false, true].map((over) => ({ phase, decided, over })),
  ),
)

function made({ phase, decided, over }: (typeof states)[number]): EventRecord {
  return record({ phase, ...(decided && { decided }), ...(over && { ended }) })
}

describe('decide', () => {
  const all = states.flatMap((state) => [approved, declined].map((wish) => ({ ...state, wish })))

  test.each(all)('$phase, over: $over, $decided.decision; $wish.decision', (row) => {
    const { phase, decided, over, wish } = row
    const expected = over
      ? 'ended'
      : decided === approved
        ? 'already_approved'
        : phase !== 'scheduled'
          ? 'started'
          : decided === declined && wish === declined
            ? 'already_declined'
            : 'decided'
    const before = made(row)
    const copy = structuredClone(before)
    const result = decide(before, wish)
    expect(result.outcome).toBe(expected)
    expect(before).toEqual(copy)
    if (result.outcome !== 'decided') return
    expect(result.moments).toEqual([wish.decision])
    expect(result.record.decided).toMatchObject(wish)
    expect(result.record.history.at(-1)).toEqual({ at, what: wish.decision, note: 'link: chat' })
  })

  test.each(states)('by policy: $phase, over: $over, $decided.decision', (row) => {
    const rule = { policy: { decide: 'approve' as const, rule: 'short' } }
    const result = decideByPolicy({ ...made(row), ...rule }, [], at)
    const free = row.phase === 'scheduled' && !row.over && row.decided === undefined
    expect(result.outcome === 'decided').toBe(free)
    if (result.outcome !== 'decided') return
    expect(result.record.decided).toMatchObject({
      ...{ decision: 'approved', how: 'policy', who: 'short', at },
    })
  })
})

describe('leaseOf', () => {
  const fresh = (beacon: string) => {
    return { beacon, bootId: 'boot', vm: 'an-onlooker', resourceGroup: 'rg', polledAt: at }
  }

  test.each([
    [60_000, 'granted'],
    [60_001, 'not_due'],
  ] as const)('a document that is %d ms old: %s', (ageMs, lease) => {
    const approvedEvent = record({ decided: approved })
    const beacon = { ...fresh('a'), polledAt: at - ageMs }
    expect(judgeLease(approvedEvent, event(), beacon, at)).toBe(lease)
  })

  test('an approval that does not say what it covers starts nothing', () => {
    const { scope: _, ...bare } = approved
    expect(judgeLease(record({ decided: bare }), event(), fresh('a'), at)).toBe('not_due')
  })

  test.each(states)('$phase, over: $over, $decided.decision', (row) => {
    const due = row.phase === 'scheduled' && !row.over && row.decided === approved
    expect(judgeLease(made(row), event(), fresh('a'), at)).toBe(due ? 'granted' : 'not_due')
  })

  const held = (changes = {}) => ({
    beacon: 'a',
    vm: 'A',
    until: at + 5_000,
    failed: false,
    ...changes,
  })
  test.each([
    ['nobody has it', undefined, 'a', 'granted'],
    ['I have it', held(), 'a', 'held_already'],
    ['another has it', held(), 'b', 'not_due'],
    ['its last ms', held({ until: at + 1 }), 'b', 'not_due'],
    ['it is over', held({ until: at }), 'b', 'granted'],
    ['mine is over, so others come first', held({ until: at }), 'a', 'not_due'],
    ['mine was over 5 s ago, and no other came', held({ until: at - 5_000 }), 'a', 'granted'],
    ['another failed', held({ failed: true }), 'b', 'granted'],
    ['I failed', held({ failed: true }), 'a', 'not_due'],
    ['I failed, and it ends in a ms', held({ failed: true, until: at + 1 }), 'a', 'not_due'],
    ['I failed, and it is over', held({ failed: true, until: at }), 'a', 'granted'],
    [
      'I had it before, so a third one comes first',
      held({ until: at, earlier: 'b' }),
      'b',
      'not_due',
    ],
    [
      'I had it before, and no third one came',
      held({ until: at - 5_000, earlier: 'b' }),
      'b',
      'granted',
    ],
    ['I had it before, and the other failed', held({ failed: true, earlier: 'b' }), 'b', 'not_due'],
    [
      'I had it before, the other failed, and it is over',
      held({ failed: true, until: at, earlier: 'b' }),
      'b',
      'granted',
    ],
  ] as const)('%s', (_, directive, beacon, lease) => {
    const open = record({ decided: approved, ...(directive && { azure: { directive } }) })
    expect(judgeLease(open, event(), fresh(beacon), at)).toBe(lease)
    const done = { ...open, azure: { ...open.azure, accepted: { vm: 'A', at } } }
    expect(judgeLease(done, event(), fresh(beacon), at)).toBe('not_due')
  })

  test.each([
    ['the own beacon of an affected VM, 5 s later', 'a', 5_000, 'granted'],
    ['not sooner', 'a', 4_999, 'not_due'],
    ['the beacon that says so', 'liar', 59_999, 'not_due'],
  ] as const)('another beacon says that Azure accepted: %s', (_, beacon, ms, lease) => {
    const accepted = { vm: 'web_0', beacon: 'liar', at }
    const done = record({ decided: approved, azure: { accepted } })
    const own = { ...fresh(beacon), vm: 'web_0', polledAt: at + ms }
    expect(judgeLease(done, event({ resources: ['web_0'] }), own, at + ms)).toBe(lease)
    const told = { ...done, azure: { accepted: { ...accepted, beacon } } }
    expect(judgeLease(told, event({ resources: ['web_0'] }), own, at + ms)).toBe('not_due')
    const through = { ...accepted, through: 'resource_manager' as const }
    const byArm = { ...done, azure: { accepted: through } }
    expect(judgeLease(byArm, event({ resources: ['web_0'] }), own, at + ms)).toBe('not_due')
  })

  test('an onlooker has the lease: the own beacon of an affected VM gets it 5 s after the approval', () => {
    const directive = held({ vm: 'an-onlooker' })
    const { facts } = record()
    const open = record({ decided: approved, azure: { directive } })
    const affected = facts.resources[0]!
    const lease = (vm: string, holder = 'an-onlooker', ms = 5_000) =>
      judgeLease(
        {
          ...open,
          sights: [sight(holder, { beacon: directive.beacon })],
          azure: { directive: { ...directive, vm: holder, until: at + 9_000 } },
        },
        event(),
        { ...fresh('b'), vm },
        approved.at + ms,
      )
    expect(lease(affected)).toBe('granted')
    expect(lease(affected, 'an-onlooker', 4_999)).toBe('not_due')
    expect(lease('another-onlooker')).toBe('not_due')
    expect(lease(affected, affected)).toBe('not_due')
    // only what the event is known to hit counts, not what a document of the VM itself adds
    const named = { ...event(), resources: [...facts.resources, 'liar'] }
    const liar = { ...fresh('b'), vm: 'liar' }
    expect(judgeLease(open, named, liar, at)).toBe('not_due')
  })

  test('another boot says with the id of a beacon that Azure accepted: its own boot tells Azure, too', () => {
    const own = { ...fresh('a'), vm: 'web_0', polledAt: at + 5_000 }
    const saidBy = (bootId?: string) => {
      const accepted = { vm: 'web_0', beacon: 'a', at, ...(bootId !== undefined && { bootId }) }
      return record({ decided: approved, azure: { accepted } })
    }
    const shown = event({ resources: ['web_0'] })
    expect(judgeLease(saidBy('other'), shown, own, at + 5_000)).toBe('granted')
    expect(judgeLease(saidBy('boot'), shown, own, at + 5_000)).toBe('not_due')
    // as it was stored before boots were
    expect(judgeLease(saidBy(), shown, own, at + 5_000)).toBe('not_due')
  })

  test('a lease lasts 5 s', () => {
    const leased = withLease(openRecord({ decided: approved }), 'a', 'A', at)
    expect(leased.azure.directive).toEqual(held({ until: at + directiveLeaseMs }))
    expect(directiveLeaseMs).toBe(5_000)
    expect(leased.history.at(-1)).toMatchObject({ what: 'directed', note: 'A' })
  })
})

describe('withStartResult', () => {
  const leased = withLease(openRecord({ decided: approved }), 'a', 'A', at)
  const said = (outcome: Start['outcome'], status?: number): Start => ({
    eventId: leased.eventId,
    ageMs: 0,
    outcome,
    ...(status === undefined ? {} : { status }),
  })

  test('only the holder of the last lease counts', () => {
    const done = withStartResult(
      leased,
      { beacon: 'a', bootId: 'boot', vm: 'A' },
      said('accepted', 200),
      at + 1,
    )
    expect(done?.azure.accepted).toEqual({ vm: 'A', beacon: 'a', bootId: 'boot', at: at + 1 })
    expect(
      withStartResult(
        leased,
        { beacon: 'a', bootId: 'boot', vm: 'A' },
        said('accepted'),
        at + 3_600_000,
      )?.azure.accepted?.vm,
    ).toBe('A')
  })

  test.each(['rejected', 'unreachable', 'not_scheduled'] as const)(
    '%s fails the lease once',
    (outcome) => {
      const failed = withStartResult(
        leased,
        { beacon: 'a', bootId: 'boot', vm: 'A' },
        said(outcome, 500),
        at,
      )
      expect(failed?.azure.directive?.failed).toBe(true)
      expect(failed?.azure.accepted).toBeUndefined()
      expect(failed?.history.at(-1)?.note).toBe(`A: ${outcome} (HTTP 500)`)
      expect(
        withStartResult(failed!, { beacon: 'a', bootId: 'boot', vm: 'A' }, said(outcome, 500), at),
      ).toBeUndefined()
      expect(
        withStartResult(
          failed!,
          { beacon: 'a', bootId: 'boot', vm: 'A' },
          said('accepted', 200),
          at,
        )?.azure.accepted?.vm,
      ).toBe('A')
    },
  )

  test.each(['accepted', 'rejected', 'unreachable', 'not_scheduled'] as const)(
    '%s by anybody else, without a lease, or when it is done, changes nothing',
    (outcome) => {
      expect(
        withStartResult(leased, { beacon: 'b', bootId: 'boot', vm: 'B' }, said(outcome), at),
      ).toBeUndefined()
      expect(
        withStartResult(
          record({ decided: approved }),
          { beacon: 'a', bootId: 'boot', vm: 'A' },
          said(outcome),
          at,
        ),
      ).toBeUndefined()
      const done = { ...leased, azure: { ...leased.azure, accepted: { vm: 'A', at } } }
      expect(
        withStartResult(done, { beacon: 'a', bootId: 'boot', vm: 'A' }, said(outcome), at),
      ).toBeUndefined()
      const moved = withLease(leased, 'b', 'B', at + 5_000)
      const late = withStartResult(
        moved,
        { beacon: 'a', bootId: 'boot', vm: 'A' },
        said(outcome),
        at + 5_001,
      )
      expect(late?.azure.accepted?.vm).toBe(outcome === 'accepted' ? 'A' : undefined)
    },
  )
})
