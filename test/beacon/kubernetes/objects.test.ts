// Which VM a node is: IMDS and the cloud provider of Kubernetes name it differently. What others may have written on it.
import { expect, test } from 'vitest'
import { type Node, readVmName, recordedWorkloads } from '../../../beacon/kubernetes/objects.ts'

const group = 'azure:///subscriptions/8d10da13/resourceGroups'
const provider = 'providers/Microsoft.Compute'

test.each<[string, string | undefined, string | undefined]>([
  [
    'AKS, a uniform scale set',
    `${group}/mc_rg_aks_westeurope/${provider}/virtualMachineScaleSets/aks-pool1-23456789-vmss/virtualMachines/5`,
    'aks-pool1-23456789-vmss_5',
  ],
  [
    'a flexible scale set',
    `${group}/rg/${provider}/virtualMachines/pool_f3a91c2b`,
    'pool_f3a91c2b',
  ],
  [
    'OpenShift',
    `${group}/aro-x/${provider}/virtualMachines/cluster-worker-westeurope1-abcde`,
    'cluster-worker-westeurope1-abcde',
  ],
  [
    'another case of letters',
    `${group.toLowerCase()}/rg/providers/microsoft.compute/virtualmachines/node-1`,
    'node-1',
  ],
  ['another cloud', 'aws:///eu-west-1a/i-0123456789', undefined],
  ['no cloud provider', undefined, undefined],
])('%s', (_, providerID, expected) => {
  const metadata = { name: 'node', resourceVersion: '1' }
  const node: Node = { metadata, spec: providerID === undefined ? {} : { providerID } }
  expect(readVmName(node)).toBe(expected)
})

test('an annotation with more or longer names than a report takes is cut', () => {
  const text = [...Array.from({ length: 20 }, (_, i) => `w${i}`), 'beyond'].join()
  const named = (names: string) => {
    const annotations = { 'foghorn/workloads': names }
    return recordedWorkloads({
      metadata: { name: 'node', resourceVersion: '1', annotations },
      spec: {},
    })
  }
  expect(named(text)).toHaveLength(20)
  expect(named(`${'x'.repeat(300)},`)!.map(({ length }) => length)).toEqual([256])
  expect(named('')).toEqual([])
})
