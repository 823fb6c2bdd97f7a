// Where messages lead besides the event's page.
import { expect, test } from 'vitest'
import type { HitVm } from '../../../functions/core/event/hit-vms.ts'
import { portalLinks } from '../../../functions/core/message/links.ts'

const vm = (name: string, changes: Partial<HitVm> = {}): HitVm => ({
  name,
  subscriptionId: '5b8c',
  resourceGroup: 'shop prod',
  ...changes,
})
const pathsOf = (...vms: HitVm[]) =>
  portalLinks(vms, vms.length).map(({ label, url }) => [
    label,
    url.replace(
      'https://portal.azure.com/#resource/subscriptions/5b8c/resourceGroups/shop%20prod/providers/Microsoft.Compute/',
      '',
    ),
  ])

test.each<[string, HitVm[], string[][]]>([
  ['a VM of its own', [vm('db')], [['VM in the Azure portal', 'virtualMachines/db']]],
  [
    'one of a uniform scale set',
    [vm('web_3', { scaleSet: 'Web' })],
    [['VM in the Azure portal', 'virtualMachineScaleSets/Web/virtualMachines/3']],
  ],
  [
    'one of a flexible scale set',
    [vm('web_0a1b2c3d', { scaleSet: 'web' })],
    [['VM in the Azure portal', 'virtualMachines/web_0a1b2c3d']],
  ],
  [
    'several of one scale set',
    [vm('web_3', { scaleSet: 'web' }), vm('web_4', { scaleSet: 'web' })],
    [['Scale set in the Azure portal', 'virtualMachineScaleSets/web']],
  ],
  ['several without one', [vm('db'), vm('cache')], []],
  ['a VM of which only the name is known', [{ name: 'db' }], []],
])('%s', (_, vms, expected) => {
  expect(pathsOf(...vms)).toEqual(expected)
})

test('a VM of which nothing is known keeps the others from being taken for all', () => {
  expect(portalLinks([vm('web_3', { scaleSet: 'web' })], 2)).toEqual([])
})
