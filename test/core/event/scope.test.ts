// Law 10: what an approval covers, value by value, and when it may expire.
import { describe, expect, test } from 'vitest'
import type { Decided, Scope } from '../../../functions/core/event/event.ts'
import {
  expire,
  isWithin,
  lastAccepted,
  mayExpire,
  toScope,
} from '../../../functions/core/event/scope.ts'
import { at, facts, openRecord, record, scope } from '../../support/records.ts'
import { event } from '../../support/world.ts'

const minute = 60_000
const approved: Decided = { decision: 'approved', how: 'link', who: 'chat', at, scope }

describe('scopeOf', () => {
  const one = { facts: facts({ resources: ['Web_1', 'web_0'], durationSeconds: 9 }) }

  test('of a person: type, source and names, in lower case and sorted', () => {
    expect(toScope(one)).toEqual({
      ...{ eventType: 'Reboot', source: 'Platform', resources: ['web_0', 'web_1'] },
    })
    const { source: _, ...bare } = one.facts
    expect(toScope({ facts: bare })).not.toHaveProperty('source')
  })

  test('of a rule: also the duration, and what it read of VMs', () => {
    const read = [{ name: 'web_0', scaleSet: 'web' }]
    expect(toScope(one, read)).toMatchObject({ durationSeconds: 9, vms: read })
    expect(toScope(one, [])).not.toHaveProperty('vms')
    const { durationSeconds: _, ...bare } = one.facts
    expect(toScope({ facts: bare }, read)).not.toHaveProperty('durationSeconds')
  })
})

describe('isWithin', () => {
  const wide: Scope = { ...scope, resources: ['web_0', 'web_1'], durationSeconds: 9 }

  test.each<[string, Scope | undefined, Partial<ReturnType<typeof event>>, boolean]>([
    ['without a scope', undefined, {}, false],
    ['the same', scope, {}, true],
    ['another type', scope, { eventType: 'Redeploy' }, false],
    ['the type in another case', scope, { eventType: 'REBOOT' }, true],
    ['another source', scope, { source: 'User' }, false],
    ['the source in another case', scope, { source: 'platform' }, true],
    ['an unknown source of the event', scope, { source: undefined as never }, true],
    ['fewer VMs', wide, { durationSeconds: 9 }, true],
    ['one more VM', scope, { resources: ['web_0', 'web_1'] }, false],
    ['other VMs', scope, { resources: ['web_1'] }, false],
    ['a name in another case', scope, { resources: ['WEB_0'] }, true],
    ['another duration, if the scope has one', wide, { durationSeconds: 10 }, false],
    ['an unknown duration', wide, { durationSeconds: undefined as never }, true],
    ['any duration, if the scope has none', scope, { durationSeconds: 10 }, true],
  ])('%s', (_, known, changes, within) => {
    expect(isWithin(known, event(changes))).toBe(within)
  })

  test('a scope without a source covers any', () => {
    const { source: _, ...any } = scope
    expect(isWithin(any, event({ source: 'User' }))).toBe(true)
  })
})

describe('mayExpire', () => {
  const accepted = (msAgo: number) => ({ azure: { accepted: { vm: 'web_0', at: at - msAgo } } })

  test.each<[string, Parameters<typeof record>[0], boolean]>([
    ['approved', { decided: approved }, true],
    ['not now', { decided: { ...approved, decision: 'declined' } }, false],
    ['undecided', {}, false],
    ['started', { decided: approved, phase: 'started', started: { at } }, false],
    ['Azure accepted a minute ago', { decided: approved, ...accepted(minute) }, true],
    ['a millisecond less', { decided: approved, ...accepted(minute - 1) }, false],
    [
      'ended',
      { decided: approved, phase: 'completed', ended: { at, outcome: 'completed' } },
      false,
    ],
  ])('%s', (_, changes, may) => {
    expect(mayExpire(record(changes), at)).toBe(may)
  })

  test('what Azure accepted, and who has the lease, stay on record', () => {
    const directive = { beacon: 'a', vm: 'web_0', until: at, failed: false }
    const azure = { accepted: { vm: 'web_0', at }, directive, stuckAt: at }
    const before = openRecord({ decided: approved, azure })
    const after = expire(before as never, at + 1)
    expect(after.decided).toBeUndefined()
    expect(after.azure).toEqual({ directive, acceptedBefore: azure.accepted })
    expect(after.overruled).toMatchObject([{ decision: 'approved', expiredAt: at + 1 }])
    expect(lastAccepted(after)).toEqual(azure.accepted)
    expect(lastAccepted(before)).toEqual(azure.accepted)
  })
})
