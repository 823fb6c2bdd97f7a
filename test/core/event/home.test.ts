// Where an event's VMs are: Azure puts no VM of another resource group into it.
import { expect, test } from 'vitest'
import { homeOf, isElsewhere } from '../../../functions/core/event/sight.ts'

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
  expect(homeOf({ beacon: 'azure', resourceGroup: 'rg' })).toBeUndefined()
  expect(homeOf(vm(''))).toBeUndefined()
  expect(homeOf(vm('rg', 's'))).toEqual({ resourceGroup: 'rg', subscriptionId: 's' })
})
