// What /metadata/instance says about a VM. Everything follows from its name and its tenant, so a VM keeps
// its identity from one run to the next. A tenant of more than one VM is a scale set.

import { createHash } from 'node:crypto'
import type { Tenant } from './fleet.ts'

const OLDEST_INSTANCE_VERSION = '2017-04-02'
export const SUBSCRIPTION = stableGuid('subscription')

export function isInstanceVersion(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && text >= OLDEST_INSTANCE_VERSION
}

export function instanceOf(name: string, tenant: Tenant): object {
  const { role, group, scaleSet, resourceId } = placeOf(name, tenant)
  return {
    compute: {
      name,
      vmId: stableGuid(`vm ${name}`),
      subscriptionId: SUBSCRIPTION,
      resourceGroupName: group,
      vmScaleSetName: scaleSet,
      placementGroupId: scaleSet && stableGuid(`placement group ${tenant.name}`),
      resourceId,
      location: 'westeurope',
      zone: '',
      osType: 'Linux',
      tagsList: [{ name: 'role', value: role }],
    },
    network: {
      interface: [
        {
          ipv4: {
            ipAddress: [{ privateIpAddress: '10.0.0.4', publicIpAddress: '' }],
            subnet: [{ address: '10.0.0.0', prefix: '24' }],
          },
          ipv6: { ipAddress: [] },
          macAddress: '000D3A000004',
        },
      ],
    },
  }
}

/** Where a VM stands in Azure's tree. `setId`: its uniform scale set, else empty. */
export function placeOf(name: string, tenant: Tenant) {
  const index = /\d*$/.exec(name)![0]
  const role = name.slice(0, name.length - index.length).replace(/_$/, '') || name
  const group = `rg-${role}`
  const scaleSet = tenant.vms.length > 1 ? role : ''
  const provider = `/subscriptions/${SUBSCRIPTION}/resourceGroups/${group}/providers/Microsoft.Compute`
  const setId = scaleSet && `${provider}/virtualMachineScaleSets/${scaleSet}`
  // an instance of a uniform set is named by its id; in a flexible set VMs have names and ids of their own
  const isUniform = setId !== '' && name === `${scaleSet}_${index}`
  const resourceId = isUniform
    ? `${setId}/virtualMachines/${index}`
    : `${provider}/virtualMachines/${name}`
  return { role, group, scaleSet, setId: isUniform ? setId : '', resourceId }
}

export function stableGuid(seed: string): string {
  const hex = createHash('sha256').update(`foghorn simulator ${seed}`).digest('hex')
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
