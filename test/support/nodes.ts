// VMs of a stage as nodes of Kubernetes: on each, a beacon and the drain beside it, as in the two containers
// of the chart's pod. All reach one fake API server.
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { drainRights } from '../simulator/kubernetes.ts'
import { startKubernetes } from '../simulator/kubernetes-server.ts'
import { beaconCommand, usualWay } from './beacon-ways.ts'
import type { Program } from './process.ts'
import type { Stage } from './stage.ts'

const token = 'drain-token'
const labels = { app: 'shop', 'pod-template-hash': '7d4f8' }
const ownerName = 'shop-7d4f8'

export type Nodes = Awaited<ReturnType<typeof startNodes>>

/** The VMs are of one uniform scale set: `web_0` is number 0 of `web`. Each node has a pod of one service. */
export async function startNodes(vms: string[]) {
  const server = await startKubernetes()
  const { cluster, host, port, authority } = server
  cluster.rights.set(token, drainRights)
  for (const vm of vms) {
    const [set, number] = vm.split('_')
    const path = 'resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets'
    const providerId = `azure:///subscriptions/s/${path}/${set}/virtualMachines/${number}`
    cluster.addNode(nodeOf(vm), providerId)
    cluster.addPod({ name: `shop-${number}`, node: nodeOf(vm), labels, ownerName, endsInMs: 500 })
  }
  cluster.budgets = [{ namespace: 'shop', name: 'shop', labels, least: vms.length - 1 }]

  return {
    cluster,
    stop: server.stop,
    cordoned: () =>
      [...cluster.nodes.values()].filter(({ spec }) => spec.unschedulable === true).length,
    /** `program` in place of the usual beacon. Resolves to the drain. */
    async start(
      { directory, startBeacon }: Stage,
      vm: string,
      program?: readonly string[],
    ): Promise<Program> {
      const folder = join(directory, `node-${vm}`)
      await mkdir(folder)
      // the user of an image makes its socket there
      await chmod(folder, 0o777)
      await writeFile(join(folder, 'ca.crt'), authority)
      await writeFile(join(folder, 'token'), token)
      const socket = { FOGHORN_HOOK_SOCKET: join(folder, 'hooks.sock') }
      const environment = {
        ...{ ...socket, FOGHORN_NODE_NAME: nodeOf(vm), FOGHORN_SERVICE_ACCOUNT_DIR: folder },
        ...{ KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: String(port) },
        NODE_EXTRA_CA_CERTS: join(folder, 'ca.crt'),
      }
      const words = ['hooks', '--kubernetes']
      const file = program ?? (await beaconCommand(usualWay))
      const drain = startBeacon(vm, environment, file, words)
      await drain.waitFor('hook_runner_started')
      const beacon = startBeacon(vm, socket, file)
      await beacon.waitFor('hook_runner_reached')
      await beacon.waitFor('report_accepted')
      return drain
    },
  }
}

function nodeOf(vm: string): string {
  const [set, number = ''] = vm.split('_')
  return `${set}${number.padStart(6, '0')}`
}
