// Where an event's VMs are: Azure puts no VM of another resource group into it.
import { expect, test } from 'vitest'
import { armLookAt } from '../../../functions/core/event/arm.ts'
import { knownVms } from '../../../functions/core/event/drill.ts'
import { judgeReadiness } from '../../../functions/core/event/readiness.ts'
import { isCovered } from '../../../functions/core/event/rule-approves.ts'
import { toScope } from '../../../functions/core/event/scope.ts'
import { isElsewhere, readHome } from '../../../functions/core/event/sight.ts'
import { withListed } from '../../../functions/core/event/whose.ts'
import { at, facts, openRecord, record, sight } from '../../support/records.ts'

const vm = (resourceGroup: string, subscriptionId?: string) => ({
  ...{ beacon: 'id-web_0', resourceGroup },
  ...(subscriptionId !== undefined && { subscriptionId }),
})

test.each([
  ['the same', { resourceGroup: 'rg', subscriptionId: 's' }, vm('RG', 'S'), false],
  ['another group', { resourceGroup: 'rg' }, vm('other'), true],
  ['another subscription', { resourceGroup: 'rg', subscriptionId: 's' }, vm('rg', 'other'), true],
  ['an unknown subscription', { resourceGroup: 'rg', subscriptionId: 's' }, vm('rg'), false],
  ['a subscription that nobody knew', { resourceGroup: 'rg' }, vm('rg', 's'), false],
  ['an unknown group', { resourceGroup: 'rg' }, vm(''), false],
  ['an event whose place is unknown', undefined, vm('rg'), false],
  [
    'Azure itself',
    { resourceGroup: 'rg' },
    { beacon: 'azure-list', resourceGroup: 'other' },
    false,
  ],
])('%s', (_, home, one, is) => {
  expect(isElsewhere(home === undefined ? {} : { home }, one)).toBe(is)
})

test('the word of Azure and a VM without a group say nothing of a place', () => {
  expect(readHome({ beacon: 'azure', resourceGroup: 'rg' })).toBeUndefined()
  expect(readHome(vm(''))).toBeUndefined()
  expect(readHome(vm('rg', 's'))).toEqual({ resourceGroup: 'rg', subscriptionId: 's' })
})

test('the relay does not wait for a VM of another group to tell Azure', () => {
  const decided = { decision: 'approved', how: 'link', who: 'chat', at } as const
  const home = { resourceGroup: 'rg' }
  const seen = (resourceGroup: string) => {
    const sights = [sight('web_9', { resourceGroup })]
    const shown = record({ facts: facts({ home }), sights })
    return openRecord({ ...shown, decided: { ...decided, scope: toScope(shown, []) } } as never)
  }
  const nextAt = (resourceGroup: string) =>
    armLookAt(seen(resourceGroup), { now: at, listeningSince: 0 })
  expect([nextAt('rg'), nextAt('other')]).toEqual([at + 30_000, at + 1_000])
})

test('what a VM named alone at first is its own once Azure lists it', () => {
  const named = { ...facts(), namedOnce: ['web_0', 'web_1'] }
  expect(withListed(named, facts({ resources: ['web_0'] })).namedOnce).toEqual(['web_1'])
  expect(withListed(named, facts({ resources: ['web_0', 'web_1'] })).namedOnce).toBeUndefined()
})

test('a namesake in another group says nothing of the event: not to rules, of readiness, or against an approval', () => {
  const tags = { env: 'dev' }
  const failed = { prepare: { state: 'failed' as const, since: at } }
  const own = sight('web_0', { tags, hooks: { prepare: { state: 'succeeded', since: at } } })
  const namesake = sight('web_0', { beacon: 'other', resourceGroup: 'other', hooks: failed })
  const rules = [{ name: 'dev', match: { tag: ['env=dev'] }, decide: 'approve' as const }]
  const seen = record({ facts: facts({ home: { resourceGroup: 'rg' } }), sights: [own, namesake] })
  expect(knownVms(seen)).toEqual([own])
  expect(judgeReadiness(seen, { now: at, listeningSince: 0 })).toMatchObject([{ state: 'ready' }])
  const scope = toScope(seen, [])
  const policy = { decide: 'approve' as const, rule: 'dev', whenReady: true as const }
  const approved = { decision: 'approved', how: 'policy', who: 'dev', at, scope } as const
  expect(isCovered({ ...seen, policy, decided: approved }, rules)).toBe(true)
})
