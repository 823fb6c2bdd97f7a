// Where a reader goes next, besides the event's own page: the VM in Azure's portal, and the runbook of
// the rule or route.
import type { HitVm } from '../event/hit-vms.ts'
import type { EventView } from '../event/view.ts'
import type { Message } from './shape.ts'

type Links = NonNullable<Message['links']>

export function composeLinks({
  vms = [],
  facts,
  policy,
}: Pick<EventView, 'vms' | 'facts' | 'policy'>): Links {
  const { runbook } = policy
  return [
    ...(runbook === undefined ? [] : [{ label: 'Runbook', url: runbook }]),
    ...portalLinks(vms, facts.resources.length),
  ]
}

/** One VM, or the scale set that all of them are in. `count`: how many are affected. */
export function portalLinks(vms: HitVm[], count: number): Links {
  const [vm] = vms
  if (vm?.subscriptionId === undefined || vm.resourceGroup === undefined) return []
  const group = `subscriptions/${vm.subscriptionId}/resourceGroups/${vm.resourceGroup}`
  const link = (what: string, ...path: string[]) => {
    const place = [group, 'providers/Microsoft.Compute', ...path].join('/')
    return [{ label: `${what} in the Azure portal`, url: `${portal}${encodeURI(place)}` }]
  }
  const set = vm.scaleSet
  if (count === 1) {
    const instance = set === undefined ? undefined : instanceIn(set, vm.name)
    return instance === undefined
      ? link('VM', 'virtualMachines', vm.name)
      : link('VM', 'virtualMachineScaleSets', set!, 'virtualMachines', instance)
  }
  const isOne = vms.every(
    (one) =>
      one.scaleSet === set &&
      one.resourceGroup === vm.resourceGroup &&
      one.subscriptionId === vm.subscriptionId,
  )
  return isOne && set !== undefined && vms.length === count
    ? link('Scale set', 'virtualMachineScaleSets', set)
    : []
}

const portal = 'https://portal.azure.com/#resource/'

/** A VM of a uniform scale set is `SET_ID`, and only the set has it. A VM of a flexible one is its own. */
function instanceIn(set: string, name: string): string | undefined {
  const id = name.slice(set.length + 1)
  const isOfSet = name.toLowerCase().startsWith(`${set.toLowerCase()}_`)
  return isOfSet && /^\d{1,7}$/.test(id) ? id : undefined
}
