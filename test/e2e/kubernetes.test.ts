// Three nodes of Kubernetes, one after the other: drained, approved, back, uncordoned.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { drainRights } from '../simulator/kubernetes.ts'
import { startKubernetes } from '../simulator/kubernetes-server.ts'
import { beaconCommand, usualWay } from '../support/beacon-ways.ts'
import { type Stage, startStage } from '../support/stage.ts'

const set = 'aks-pool-vmss'
const numbers = [0, 1, 2]
const vmOf = (number: number) => `${set}_${number}`
const nodeOf = (number: number) => `${set}00000${number}`
const endMs = 100_000

let stage: Stage | undefined
let kubernetes: Awaited<ReturnType<typeof startKubernetes>> | undefined

afterEach(async () => {
  await stage?.stop()
  await kubernetes?.stop()
})

test('never two at once, and each is told as ready', { timeout: 150_000 }, async () => {
  kubernetes = await startKubernetes()
  const { cluster } = kubernetes
  cluster.rights.set('drain-token', drainRights)
  const labels = { app: 'shop' }
  for (const number of numbers) {
    const path = 'resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets'
    cluster.addNode(
      nodeOf(number),
      `azure:///subscriptions/s/${path}/${set}/virtualMachines/${number}`,
    )
    cluster.addPod({ name: `shop-${number}`, node: nodeOf(number), labels, endsInMs: 500 })
  }
  cluster.budgets = [{ namespace: 'shop', name: 'shop', labels, least: 2 }]
  const rule = { match: {}, decide: 'approve', whenReady: true, maxConcurrent: 1 }
  stage = await startStage({ vms: [numbers.map(vmOf)], config: () => ({ policy: [rule] }) })
  await stage.startRelay()
  for (const number of numbers) await startNode(stage, kubernetes, number)
  const ids = numbers.map((number) =>
    stage!.simulator.createEvent({
      ...{ EventType: 'Reboot', Resources: [vmOf(number)], noticeSeconds: 300, impactSeconds: 1 },
    }),
  )
  for (const id of ids) {
    await stage.sinks.waitFor(
      ({ kind, body }) =>
        kind === 'webhook' &&
        body.includes('foghorn.event.completed') &&
        body.includes(id.toLowerCase()),
      endMs,
    )
  }
  await uncordoned()
  expect(cluster.mostCordoned).toBe(1)
  expect(stage.simulator.startRequests()).toHaveLength(3)
  for (const id of ids) {
    const { approvals, outcome } = await stage.readEvent(id)
    expect(outcome).toBe('completed')
    expect(approvals).toMatchObject([{ decision: 'approved', how: 'policy' }])
  }
})

/** A beacon and the drain beside it, as the two containers of a pod. */
async function startNode(
  { directory, startBeacon, programs }: Stage,
  { host, port, authority }: NonNullable<typeof kubernetes>,
  number: number,
): Promise<void> {
  const folder = join(directory, `node-${number}`)
  await mkdir(folder)
  await writeFile(join(folder, 'ca.crt'), authority)
  await writeFile(join(folder, 'token'), 'drain-token')
  const socket = { FOGHORN_HOOK_SOCKET: join(folder, 'hooks.sock') }
  const environment = {
    ...{ ...socket, FOGHORN_NODE_NAME: nodeOf(number), FOGHORN_SERVICE_ACCOUNT_DIR: folder },
    ...{ KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: String(port) },
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.crt'),
  }
  const words = ['hooks', '--kubernetes']
  const drain = startBeacon(vmOf(number), environment, await beaconCommand(usualWay), words)
  await drain.waitFor('hook_runner_started')
  const beacon = startBeacon(vmOf(number), socket)
  await beacon.waitFor('hook_runner_reached')
  expect(programs).toContain(beacon)
}

async function uncordoned(): Promise<void> {
  const { nodes } = kubernetes!.cluster
  await expect
    .poll(() => [...nodes.values()].filter(({ spec }) => spec.unschedulable).length, {
      timeout: endMs,
    })
    .toBe(0)
}
