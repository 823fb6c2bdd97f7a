// What Azure says of an event outside the VMs, and what the relay does there: each number and comparison.
import { describe, expect, test } from 'vitest'
import { confirmedBy, withArmResult } from '../../../functions/core/event/arm.ts'
import type { AzureResource } from '../../../functions/core/event/outside.ts'
import {
  endedByAzure,
  inventoryDueAt,
  type Published,
  readPublished,
  withInventory,
  withResource,
} from '../../../functions/core/event/published.ts'
import { scopeOf } from '../../../functions/core/event/scope.ts'
import { at, openRecord, record } from '../../support/records.ts'
import { event, eventId } from '../../support/world.ts'

const second = 1_000
const day = 86_400 * second
const resource: AzureResource = {
  ...{ subscriptionId: 'sub', resourceGroup: 'rg' },
  ...{ type: 'virtualMachines', name: 'web_0' },
}
const other = { ...resource, resourceGroup: 'dev' }
const published = (more: Partial<Published> = {}): Published => {
  return { by: 'Azure Event Grid', resource, event: event(), at, ...more }
}
const newsOf = (more: Partial<Published> = {}, now = at) =>
  readPublished('prod', published(more), now)
const outside = (known: object = {}) => ({ azure: { outside: { resource, ...known } } })
const listening = { now: at, listeningSince: 0 }

test.each([
  [0, 0],
  [1, 0],
  [-7 * day, -7 * day],
  [-7 * day - 1, -7 * day],
])('a word of %d ms from now counts as of %d', (ms, counts) => {
  expect(newsOf({ at: at + ms }).reporter.polledAt).toBe(at + counts)
})

describe('what the event belongs to', () => {
  const known = { vms: [], askedAt: 5 }
  test.each([
    ['another resource, so the inventory is read anew', {}, other, false, { resource: other }],
    [
      'the same, in other letters',
      {},
      { ...resource, name: 'WEB_0' },
      false,
      { resource, ...known },
    ],
    ['the same, by the list', {}, resource, true, { resource, ...known, listed: true }],
    ['another one by the list', { listed: true }, other, true, { resource: other, listed: true }],
    [
      'another one, but the list said',
      { listed: true },
      other,
      false,
      { resource, ...known, listed: true },
    ],
  ])('%s', (_, more, said, isListed, expected) => {
    const by = isListed ? 'Azure Resource Graph' : 'Azure Event Grid'
    const { news } = newsOf({ by, resource: said })
    const before = openRecord(outside({ ...known, ...more }))
    expect(withResource(before, news).azure.outside).toEqual(expected)
  })
})

describe("Azure's list confirms an approval", () => {
  const decided = {
    decision: 'approved',
    how: 'link',
    who: 'x',
    at,
    scope: scopeOf(record()),
  } as const
  const confirmed = (own: object, ...listed: Partial<Published>[]) =>
    confirmedBy({ eventId, decided, azure: {}, ...own }, listed.map(published))

  test.each([
    ['the event', {}, [{}], resource],
    ['it, with what was known', outside(), [{}], resource],
    ['it in other letters', outside({ resource: { ...resource, name: 'WEB_0' } }), [{}], resource],
  ])('it lists %s', (_, own, listed, expected) => {
    expect(confirmed(own, ...listed)).toEqual(expected)
  })

  const vm = { name: 'web_0', resourceGroup: 'dev', scaleSet: '', tags: {} }
  const byRule = { ...decided, scope: { ...decided.scope, vms: [vm] } }
  const read = { ...outside({ resource: other }), decided: byRule }
  test('another resource, if a person approved', () => {
    expect(confirmed(outside({ resource: other }), {})).toEqual(resource)
  })

  test.each<[string, object, Partial<Published>[], string]>([
    ['nothing', {}, [], 'does not list'],
    ['another event', {}, [{ event: event({ eventId: 'x' }) }], 'does not list'],
    ['its end', {}, [{ ending: 'completed' }], 'does not list'],
    ['more VMs', {}, [{ event: event({ resources: ['web_0', 'web_1'] }) }], 'more than was'],
    ['more in another row', {}, [{}, { event: event({ resources: ['web_9'] }) }], 'more than was'],
    ['another resource than the rule read', read, [{}], 'another resource'],
  ])('not if it lists %s', (_, own, listed, why) => {
    expect(confirmed(own, ...listed)).toEqual({ refusal: expect.stringContaining(why) })
  })
})

describe('what came of a try', () => {
  const accepted = { outcome: 'accepted', resource: 'web' } as const
  const told = { vm: 'web_0', at: at - second }
  test.each([
    ['it was tried', { arm: { at } }, true],
    ['it was not', {}, false],
    ['a beacon had told Azure', { arm: { at }, accepted: told }, true],
    [
      'the relay had',
      { arm: { at }, accepted: { ...told, through: 'resource_manager' as const } },
      false,
    ],
  ])('%s: %j', (_, azure, counts) => {
    const after = withArmResult(openRecord({ azure }), accepted, at)
    expect(after?.azure.accepted?.through).toBe(counts ? 'resource_manager' : undefined)
    expect(after === undefined).toBe(!counts)
  })

  test('not once it is over', () => {
    const ended = record({ azure: { arm: { at } }, ended: { at, outcome: 'completed' } })
    expect(withArmResult(ended, accepted, at)).toBeUndefined()
  })
})

test.each([
  [at - 1, undefined],
  [at, 'cancelled'],
])('an end of %d, of an event that is back since then', (saidAt, outcome) => {
  const { reporter, news } = newsOf({ ending: 'cancelled', at: saidAt })
  const back = openRecord({ backAt: at })
  expect(endedByAzure(back, reporter, news, listening)?.record.ended?.outcome).toBe(outcome)
})

test('the inventory is read a second after the first word, and again after 5 minutes', () => {
  const due = (known: object) => inventoryDueAt(openRecord(outside(known)) as never)
  expect(due({})).toBe(at + second)
  expect(due({ askedAt: at })).toBe(at + 300 * second)
  expect(due({ vms: [{ vm: 'WEB_0' }] })).toBe(Number.POSITIVE_INFINITY)
})

test('of the inventory, 100,000 characters are kept', () => {
  const vm = (n: number) => {
    return { vm: `web_${n}`, resourceGroup: 'rg', scaleSet: '', tags: { t: 'x'.repeat(9_900) } }
  }
  const vms = Array.from({ length: 12 }, (_, n) => vm(n))
  const kept = withInventory(openRecord(outside()) as never, vms, at).azure.outside!.vms!
  expect(kept).toHaveLength(10)
})
