// Three nodes of Kubernetes, one after the other: drained, approved, back, uncordoned.
import { afterEach, expect, test } from 'vitest'
import { type Nodes, startNodes } from '../support/nodes.ts'
import { type Stage, startStage } from '../support/stage.ts'

interface Answer {
  approvals: object[]
  outcome: string
  vms: { workloads: string[] }[]
}

const vms = ['aks-pool-vmss_0', 'aks-pool-vmss_1', 'aks-pool-vmss_2']
const timeout = 150_000
const endMs = 100_000

let stage: Stage | undefined
let nodes: Nodes | undefined

afterEach(async () => {
  await stage?.stop()
  await nodes?.stop()
})

test('never two at once, and each is told as ready', { timeout }, async () => {
  nodes = await startNodes(vms)
  const rule = { match: {}, decide: 'approve', whenReady: true, maxConcurrent: 1 }
  stage = await startStage({ vms: [vms], config: () => ({ policy: [rule] }) })
  await stage.startRelay()
  for (const vm of vms) await nodes.start(stage, vm)
  const { simulator, sinks } = stage
  const ids = vms.map((vm) =>
    simulator
      .createEvent({
        ...{ EventType: 'Reboot', Resources: [vm], noticeSeconds: 300, impactSeconds: 1 },
      })
      .toLowerCase(),
  )
  for (const id of ids) {
    await sinks.waitFor(
      ({ kind, body }) =>
        kind === 'webhook' && body.includes('foghorn.event.completed') && body.includes(id),
      endMs,
    )
    const { approvals, outcome, vms: ran } = (await stage.readEvent(id)) as Answer
    expect(outcome).toBe('completed')
    expect(ran.map(({ workloads }) => workloads)).toEqual([['shop/shop']])
    expect(approvals).toMatchObject([{ decision: 'approved', how: 'policy' }])
  }
  await expect.poll(nodes.cordoned, { timeout: endMs }).toBe(0)
  expect(nodes.cluster.mostCordoned).toBe(1)
  expect(simulator.startRequests()).toHaveLength(vms.length)
  const reasons = nodes.cluster.events.map(({ reason }) => reason)
  expect(reasons).toEqual(vms.flatMap(() => ['Draining', 'Drained', 'Restored']))
})

test('an event that Azure cancels after the drain leaves no node cordoned', {
  timeout,
}, async () => {
  nodes = await startNodes(['web_0'])
  stage = await startStage({ vms: [['web_0']] })
  await stage.startRelay()
  await nodes.start(stage, 'web_0')
  const { simulator, sinks } = stage
  const event = { EventType: 'Reboot', Resources: ['web_0'], noticeSeconds: 300 }
  const id = simulator.createEvent(event)
  const { cluster, cordoned } = nodes
  const said = () => cluster.events.map(({ reason }) => reason)
  await expect.poll(said, { timeout: endMs }).toEqual(['Draining', 'Drained'])
  expect(cordoned()).toBe(1)
  simulator.cancelEvent(id)
  await expect.poll(cordoned, { timeout: endMs }).toBe(0)
  await expect.poll(said, { timeout: endMs }).toEqual(['Draining', 'Drained', 'Restored'])
  await sinks.waitFor(
    ({ kind, body }) => kind === 'webhook' && body.includes('foghorn.event.cancelled'),
    endMs,
  )
})
