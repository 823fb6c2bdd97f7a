// What Azure says of an event outside the VMs, and what the relay does there: each number and comparison.
import { describe, expect, test } from 'vitest'
import { armLookAt, confirmedBy, withArmResult } from '../../../functions/core/event/arm.ts'
import { endedByDoubt } from '../../../functions/core/event/doubt.ts'
import type { EventRecord } from '../../../functions/core/event/event.ts'
import { joinedBy } from '../../../functions/core/event/join-report.ts'
import type { EventNews } from '../../../functions/core/event/news.ts'
import type { AzureResource } from '../../../functions/core/event/outside.ts'
import {
  endedByAzure,
  inventoryDueAt,
  type Published,
  readPublished,
  withInventory,
  withResource,
} from '../../../functions/core/event/published.ts'
import { toScope } from '../../../functions/core/event/scope.ts'
import {
  eventGrid,
  findOnlyBeacon,
  isOlder,
  listSpeakers,
  type Reporter,
  resourceGraph,
  type Sight,
} from '../../../functions/core/event/sight.ts'
import { withValues } from '../../../functions/core/event/values.ts'
import { at, facts, openRecord, record, sight } from '../../support/records.ts'
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

test.each([
  ['a later word', -1, -2, false],
  ['the same word again', -1, -1, true],
  ['a word from before', -1, 0, true],
  ['a word after one that a clock ahead had noted', -1, 1, false],
])('%s: said at %d ms, known from %d ms: is it outdated?', (_, saidMs, knownMs, expected) => {
  const { reporter } = newsOf({ at: at + saidMs })
  const known = { ...sight('azure'), ...reporter, counter: at + knownMs }
  expect(isOlder(reporter, known)).toBe(expected)
})

describe('the relay tries again to tell Azure', () => {
  const decided = { decision: 'approved', how: 'link', who: 'chat', at: at - 600 * second } as const
  const fails = (retryAfterMs?: number) => ({
    failure: { reason: 'busy', ...(retryAfterMs !== undefined && { retryAfterMs }) },
  })
  test.each<[string, object, number, number]>([
    ['after a minute', {}, 600, 60],
    ['after the pause that Azure asks for', fails(7 * second), 600, 7],
    ['after a longer pause', fails(120 * second), 600, 120],
    ['at the latest after 10 min', fails(3_600 * second), 6_000, 600],
    ['sooner, if less than two minutes are left', {}, 40, 20],
    ['after the pause, also if little is left', fails(7 * second), 40, 7],
    ['at the soonest after 5 s', {}, 8, 5],
    ['not, if NotBefore comes first', fails(60 * second), 40, Infinity],
  ])('%s', (_, failure, leftSeconds, seconds) => {
    const notBeforeAt = at + leftSeconds * second
    const own = { scope: toScope({ facts: facts({ notBeforeAt }) }), ...decided }
    const known = record({
      ...{ facts: facts({ notBeforeAt }), decided: own },
      ...{ sights: [sight('web_0')], azure: { arm: { at, ...failure } } },
    })
    expect((armLookAt(known, { now: at, listeningSince: 0 }) - at) / second).toBe(seconds)
  })
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
    ['the same, by the list', {}, resource, true, { resource, listed: true }],
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
    const { names, ...found } = withResource(before, news).azure.outside!
    expect(found).toEqual(expected)
    const counts = isListed || !('listed' in more)
    expect(names).toEqual(counts ? news.shown!.resources : undefined)
  })
})

describe("Azure's list confirms an approval", () => {
  const decided = {
    decision: 'approved',
    how: 'link',
    who: 'x',
    at,
    scope: toScope(record()),
  } as const
  const confirmed = (own: object, ...listed: Partial<Published>[]) =>
    confirmedBy(
      { eventId, decided, azure: {}, facts: record().facts, ...own },
      listed.map(published),
    )

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
  const timed = {
    decided: { ...decided, how: 'policy', scope: { ...decided.scope, durationSeconds: 9 } },
  }
  const { durationSeconds: _, ...withoutDuration } = event()
  const sourced = { decided: { ...decided, how: 'policy' } }
  const { source: _s, ...withoutSource } = event()
  test('another resource, if a person approved', () => {
    expect(confirmed(outside({ resource: other }), {})).toEqual(resource)
  })

  test.each<[string, object, Partial<Published>[], string]>([
    ['nothing', {}, [], 'does not list'],
    [
      'another resource group than that of the VM that spoke for it',
      { facts: { ...record().facts, home: { resourceGroup: 'elsewhere' } } },
      [{}],
      'for another resource',
    ],
    ['another event', {}, [{ event: event({ eventId: 'x' }) }], 'does not list'],
    ['its end', {}, [{ ending: 'completed' }], 'does not list'],
    ['no VM, so it may hit any', {}, [{ event: event({ resources: [] }) }], 'more than was'],
    ['more VMs', {}, [{ event: event({ resources: ['web_0', 'web_1'] }) }], 'more than was'],
    ['more in another row', {}, [{}, { event: event({ resources: ['web_9'] }) }], 'more than was'],
    ['another resource than the rule read', read, [{}], 'another resource'],
    ['no duration, which a rule has read', timed, [{ event: withoutDuration }], 'more than was'],
    ['no source, which a rule has read', sourced, [{ event: withoutSource }], 'more than was'],
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

test('the list is asked a second after the first word, and every 10 s until it names the event', () => {
  const due = (known: object) => inventoryDueAt(openRecord(outside(known)) as never)
  expect(due({})).toBe(at + second)
  expect(due({ askedAt: at + 239 * second })).toBe(at + 249 * second)
  expect(due({ askedAt: at + 240 * second })).toBe(at + 540 * second)
  expect(due({ askedAt: at, listed: true })).toBe(at + 300 * second)
  expect(due({ listed: true, vms: [{ vm: 'WEB_0' }] })).toBe(Number.POSITIVE_INFINITY)
  expect(due({ vms: [{ vm: 'WEB_0' }] })).toBe(at + second)
})

test('of the inventory, 100,000 characters are kept', () => {
  const vm = (n: number) => {
    return { vm: `web_${n}`, resourceGroup: 'rg', scaleSet: '', tags: { t: 'x'.repeat(9_900) } }
  }
  const vms = Array.from({ length: 12 }, (_, n) => vm(n))
  const kept = withInventory(openRecord(outside()) as never, vms, at).azure.outside!.vms!
  expect(kept).toHaveLength(10)
})

describe('a start that Event Grid alone tells of', () => {
  const minute = 60 * second
  const begun = (more: object = {}) =>
    openRecord({
      ...{ phase: 'started', started: { at, by: 'azure' } },
      ...{ facts: facts({ notBeforeAt: at + day }), ...more },
    })
  const who = (vm: string, polledAt: number, beacon = `id-${vm}`): Reporter => {
    const { shows: _, firstSeenAt: _f, ...one } = sight(vm)
    return { ...one, beacon, polledAt, heardAt: polledAt }
  }
  const waits = newsOf().news
  const { notBeforeAt: _, ...values } = event({ status: 'Started' })
  const starts = { ...waits, shown: values }
  const now = { now: at + minute, listeningSince: 0 }
  const late = at + minute

  const onlookers = { started: { at, by: 'onlooker' } }
  const told = { azure: { accepted: { vm: 'x', at } } }
  const list = who('list', late, resourceGraph)

  test.each<[string, object, Reporter, EventNews, boolean]>([
    ['its VM shows that it waits, a minute later', {}, who('web_0', late), waits, true],
    ['a millisecond sooner', {}, who('web_0', late - 1), waits, false],
    ['its VM shows the start', {}, who('web_0', late), starts, false],
    ['an onlooker, as nobody else sees', {}, who('web_9', late), waits, true],
    [
      'an onlooker, and its VM sees',
      { sights: [sight('web_0')] },
      who('web_9', late),
      waits,
      false,
    ],
    ["Azure's list", {}, who('list', late, resourceGraph), waits, true],
    ['Event Grid itself', {}, who('grid', late, eventGrid), waits, false],
    ['others told of it, too', { started: { at } }, who('web_0', late), waits, false],
    [
      'Azure was told of an earlier approval',
      { azure: { acceptedBefore: { vm: 'x', at } } },
      who('web_9', late),
      waits,
      false,
    ],
    [
      'an onlooker said so, and the VM shows that it waits',
      onlookers,
      who('web_0', late),
      waits,
      true,
    ],
    [
      'an onlooker said so, and another one shows that',
      onlookers,
      who('web_8', late),
      waits,
      false,
    ],
    ['Azure was told', { azure: { accepted: { vm: 'x', at } } }, who('web_9', late), waits, false],
    ['a beacon says so, and its VM waits', told, who('web_0', late), waits, true],
    ['an onlooker said so, and the list shows that it waits', onlookers, list, waits, true],
    [
      'its time has come',
      { facts: facts({ notBeforeAt: late }) },
      who('web_0', late),
      waits,
      false,
    ],
  ])('%s', (_, more, reporter, news, expected) => {
    const doubted = endedByDoubt(begun(more), reporter, news, now)
    expect(doubted?.record.ended).toEqual(
      expected ? { at, outcome: 'completed', by: 'doubt' } : undefined,
    )
    expect(doubted?.moments).toEqual(expected ? ['completed'] : undefined)
  })

  const joined = (before: EventRecord | undefined, beacon: string) =>
    joinedBy(before, undefined, who('web_0', at, beacon), starts, { ...now, now: at })?.started

  test.each([
    ['a new event', undefined],
    ['a known one', openRecord()],
  ])('%s is noted as such, until another one shows it', (_, before) => {
    expect(joined(before, eventGrid)).toMatchObject({ by: 'azure' })
    expect(joined(before, resourceGraph)).not.toHaveProperty('by')
    expect(joined(begun(), resourceGraph)).toEqual({ at })
    expect(joined(begun(), eventGrid)).toEqual({ at, by: 'azure' })
  })

  const open = { facts: facts({ notBeforeAt: at + day }) }
  const listed = sight('list', { beacon: resourceGraph })
  test.each<[string, object, boolean]>([
    ['nobody else sees it', open, true],
    ['an onlooker shows that it waits', { ...open, sights: [sight('web_9')] }, false],
    [
      'an onlooker shows the start',
      { ...open, sights: [sight('web_9', { shows: { eventType: 'Reboot', status: 'Started' } })] },
      true,
    ],
    ["Azure's list, which may be behind", { ...open, sights: [listed] }, true],
    ['the list, once such a word was wrong', { ...open, sights: [listed], backAt: at }, false],
    ['its time has come', { facts: facts({ notBeforeAt: at }), sights: [sight('web_9')] }, true],
  ])('counts if %s', (_, before, counts) => {
    expect(joined(openRecord(before), eventGrid) !== undefined).toBe(counts)
  })
})

test('Event Grid speaks only if nobody else does, and outweighs no value', () => {
  const grid = sight('grid', { beacon: eventGrid })
  const onlooker = sight('web_9')
  const speakers = (...sights: Sight[]) =>
    listSpeakers({ facts: facts(), sights }, listening).flatMap(({ sights: own }) =>
      own.map(({ vm }) => vm),
    )
  expect(speakers(grid)).toEqual(['grid'])
  expect(speakers(grid, onlooker)).toEqual(['web_9'])
  expect(speakers(grid, sight('list', { beacon: resourceGraph }))).toEqual(['list'])
  const shown = event({ resources: ['web_5'] })
  const after = withValues(openRecord({ sights: [grid] }), onlooker, shown, listening)
  expect(after.facts.resources).toEqual(['web_5'])
  const kept = withValues(openRecord({ sights: [onlooker] }), grid, shown, listening)
  expect(kept.facts.resources).toEqual(['web_0'])
})

test('beside the list, Event Grid counts no more', () => {
  const both = [sight('grid', { beacon: eventGrid }), sight('list', { beacon: resourceGraph })]
  expect(findOnlyBeacon({ sights: both })).toBe(resourceGraph)
  expect(findOnlyBeacon({ sights: both.slice(0, 1) })).toBe(eventGrid)
  expect(findOnlyBeacon({ sights: [...both, sight('web_0')] })).toBeUndefined()
})
