// The drain of a node, against a fake API server. Its time is the test's.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Exchanged, type Transport, tooLarge } from '../../../beacon/exchange.ts'
import { HookRunner } from '../../../beacon/hooks/runner.ts'
import { createApi } from '../../../beacon/kubernetes/api.ts'
import { NodeDrain } from '../../../beacon/kubernetes/drain.ts'
import type { DrainSettings } from '../../../beacon/kubernetes/passes.ts'
import type { Hook } from '../../../shared/report.ts'
import { drainRights, FakeKubernetes, type Pod } from '../../simulator/kubernetes.ts'
import { anEvent } from '../events.ts'
import { createFakeClock } from '../fake-clock.ts'
import { anOrder } from '../hooks/folder.ts'
import { createTestLog, temporaryDirectory } from '../world.ts'

const usual: DrainSettings = {
  ...{ freezeMs: 60_000, selector: '', graceSeconds: undefined, by: 'evict' },
  ...{ movesBare: false, pauseLabel: 'maintenance=paused' },
}
const provider =
  'azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/' +
  'virtualMachineScaleSets/aks-pool-vmss/virtualMachines/0'
const vm = 'aks-pool-vmss_0'
const event = anEvent({ eventId: 'e1', resources: [vm] })

/** Two nodes, of which the drain is on the first. */
function aCluster(settings: Partial<DrainSettings> = {}) {
  const clock = createFakeClock()
  const cluster = new FakeKubernetes(clock.now)
  const node = cluster.addNode('node-a', provider)
  cluster.addNode('node-b')
  cluster.rights.set('secret', drainRights)
  const accountFolder = join(temporaryDirectory(), 'account')
  mkdirSync(accountFolder)
  writeFileSync(join(accountFolder, 'token'), 'secret\n')
  const transport: Transport = {
    async exchange({ url, method, headers, body, maxBytes }): Promise<Exchanged> {
      const token = headers.authorization?.replace('Bearer ', '')
      const path = url.pathname + url.search
      const answer = cluster.answer({
        method,
        path,
        token,
        ...type(headers),
        ...(body && { body }),
      })
      const text = JSON.stringify(answer.body)
      if (text.length > maxBytes) {
        return { kind: 'unanswered', reason: tooLarge(maxBytes), stale: false }
      }
      return { kind: 'answered', status: answer.status, headers: {}, text }
    },
    close() {},
  }
  const stop = new AbortController()
  const log = createTestLog()
  const start = () => {
    const api = createApi({
      ...{ origin: 'https://kubernetes', accountFolder, nodeName: 'node-a', transport },
      signal: stop.signal,
    })
    const random = () => 1
    const drain = new NodeDrain({ api, settings: { ...usual, ...settings }, clock, random, log })
    const runner = new HookRunner({ work: drain, clock, log })
    onTestFinished(() => runner.stop())
    return { drain, runner }
  }
  const { drain, runner } = start()
  let runs = 0
  const order = (hook: Hook, limitMs = 60_000, changes: object = {}) =>
    anOrder({ run: `run-${++runs}`, hook, vm, event, limitMs, ...changes })
  const run = async (hook: Hook, limitMs?: number, changes?: object) => {
    runner.run(order(hook, limitMs, changes))
    await clock.advance(limitMs ?? 60_000)
    const end = runner.status().ended.at(-1)
    return end?.run === `run-${runs}` ? [end.state, end.note] : undefined
  }
  const pod = (one: Partial<Pod> & { name: string }) => cluster.addPod({ node: 'node-a', ...one })
  return { clock, cluster, node, run, order, runner, drain, start, pod, log, stop, transport }
}

function type(headers: Record<string, string>) {
  const found = headers['content-type']
  return found === undefined ? {} : { type: found }
}

const conditionsOf = ({ node }: ReturnType<typeof aCluster>) =>
  node.status.conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)

describe('prepare', () => {
  test('cordons the node and moves its pods, but not those that cannot or need not go', async () => {
    const world = aCluster()
    const { cluster, node, run, pod } = world
    pod({ name: 'web-1' })
    pod({ name: 'db-0', owner: 'StatefulSet' })
    pod({ name: 'agent', owner: 'DaemonSet' })
    pod({ name: 'kube-proxy', isMirror: true })
    pod({ name: 'done', owner: 'Job', phase: 'Succeeded' })
    expect(await run('prepare')).toEqual(['succeeded', 'drained'])
    expect(cluster.on('node-a')).toEqual(['agent', 'kube-proxy', 'done'])
    expect(cluster.on('node-b')).toEqual(['web-1-again', 'db-0'])
    expect(node.spec).toMatchObject({
      unschedulable: true,
      taints: [{ key: 'foghorn/maintenance', value: 'planned', effect: 'NoSchedule' }],
    })
    expect(node.metadata.annotations['foghorn/cordoned-by']).toBe('e1')
    expect(conditionsOf(world)).toEqual(['FoghornMaintenance True Drained'])
    expect(cluster.events.map(({ reason }) => reason)).toEqual(['Draining', 'Drained'])
  })

  test.each([
    [60, 250_000],
    [3, 5_000_000],
    // longer than fits into one page, and more pods than there are pages of one
    [2, 12_000_000],
    [130, 2_200_000],
  ])('%i pods with %i bytes of annotations each do not keep it from draining', async (n, bytes) => {
    const { cluster, run, pod } = aCluster()
    const annotations = { large: 'x'.repeat(bytes) }
    for (let i = 0; i < n; i++) pod({ name: `web-${i}`, annotations })
    expect(await run('prepare')).toEqual(['succeeded', 'drained'])
    expect(cluster.on('node-a')).toEqual([])
  })

  test('thousands of pods that have ended do not keep it from draining', async () => {
    const { cluster, run, pod } = aCluster()
    for (let i = 0; i < 3_000; i++) pod({ name: `failed-${i}`, phase: 'Failed' })
    pod({ name: 'web-1' })
    expect(await run('prepare')).toEqual(['succeeded', 'drained'])
    expect(cluster.on('node-a')).not.toContain('web-1')
  })

  test('says what the node ran, also while it is drained', async () => {
    const { clock, drain, runner, run, pod, start, stop } = aCluster()
    const labels = { 'pod-template-hash': '7d4f8' }
    pod({ name: 'web-1', labels, ownerName: 'web-7d4f8' })
    pod({ name: 'web-2', labels, ownerName: 'web-7d4f8' })
    pod({ name: 'db-0', namespace: 'data', owner: 'StatefulSet', ownerName: 'db' })
    pod({ name: 'agent', owner: 'DaemonSet' })
    void drain.watch(stop.signal)
    await clock.advance(1)
    expect(runner.status().workloads).toEqual(['data/db', 'shop/web'])
    await run('prepare')
    const next = start()
    void next.drain.watch(stop.signal)
    await clock.advance(1)
    expect(next.runner.status().workloads).toEqual(['data/db', 'shop/web'])
    stop.abort()
  })

  test('waits for a disruption budget until another pod runs elsewhere', async () => {
    const { cluster, run, pod } = aCluster()
    const labels = { app: 'db' }
    for (const name of ['db-0', 'db-1']) pod({ name, labels, owner: 'StatefulSet' })
    cluster.budgets = [{ namespace: 'shop', name: 'db', labels, least: 1 }]
    expect(await run('prepare')).toEqual(['succeeded', 'drained'])
    expect(cluster.on('node-b')).toEqual(['db-0', 'db-1'])
  })

  test('says what holds it up while it waits, and names what is still there at its limit', async () => {
    const world = aCluster()
    const { cluster, run, pod, runner } = world
    const held: (string | undefined)[] = []
    runner.listen(() => held.push(runner.status().held))
    const labels = { app: 'db' }
    pod({ name: 'db-0', labels })
    pod({ name: 'cache-0', labels: { app: 'cache' } })
    pod({ name: 'slow', namespace: 'default', graceSeconds: 40, endsInMs: 'never' })
    cluster.budgets = [
      { namespace: 'shop', name: 'db', labels, least: 1 },
      { namespace: 'shop', name: 'cache', labels: { app: 'cache' }, least: 0 },
      { namespace: 'shop', name: 'cache-too', labels: { app: 'cache' }, least: 0 },
    ]
    expect(await run('prepare', 20_000)).toEqual([
      'failed',
      'not drained: shop/db-0 (disruption budget), shop/cache-0 (two disruption budgets), slow (still ending)',
    ])
    expect(conditionsOf(world)).toEqual(['FoghornMaintenance True NotDrained'])
    // a pod that ends by itself holds nothing up; each reason is told once
    const both = 'held up by shop/db-0 (disruption budget), shop/cache-0 (two disruption budgets)'
    expect(held).toEqual([undefined, both, undefined])
  })

  test('a pod has its own grace or that of the settings, and never more than what is left', async () => {
    const own = aCluster()
    own.pod({ name: 'web' })
    own.pod({ name: 'batch', graceSeconds: 3_600, endsInMs: 'never' })
    const given = aCluster({ graceSeconds: 5, by: 'delete' })
    given.cluster.rights.set('secret', [...drainRights, 'delete pods'])
    given.pod({ name: 'web', endsInMs: 'never' })
    own.runner.run(own.order('prepare'))
    given.runner.run(given.order('prepare'))
    await own.clock.advance(500)
    await given.clock.advance(500)
    expect(own.cluster.pods.map(({ given }) => given)).toEqual([30, 59])
    expect(given.cluster.pods[0]?.given).toBe(5)
    expect(given.cluster.asked).toContain('DELETE /api/v1/namespaces/shop/pods/web')
  })

  test.each([
    [false, 'drained; left there, as no controller would start it again: shop/alone'],
    [true, 'drained'],
  ])('a bare pod, if they are to move: %s', async (movesBare, note) => {
    const { cluster, run, pod } = aCluster({ movesBare })
    pod({ name: 'alone', owner: undefined as never })
    pod({ name: 'web' })
    expect(await run('prepare')).toEqual(['succeeded', note])
    expect(cluster.on('node-a')).toEqual(movesBare ? [] : ['alone'])
  })

  test('moves only pods that match the selector', async () => {
    const { cluster, run, pod } = aCluster({ selector: 'tier!=cache' })
    pod({ name: 'web' })
    pod({ name: 'cache', labels: { tier: 'cache' } })
    expect(await run('prepare')).toEqual(['succeeded', 'drained'])
    expect(cluster.on('node-a')).toEqual(['cache'])
  })

  test('reads hundreds of pods by pages', async () => {
    const { cluster, run, pod } = aCluster()
    for (let i = 0; i < 230; i += 1) pod({ name: `web-${i}` })
    expect(await run('prepare')).toEqual(['succeeded', 'drained'])
    expect(cluster.on('node-a')).toEqual([])
  })

  test.each([
    ['Freeze', 9, 'not drained, as a Freeze of less than 60 s moves nothing'],
    ['Freeze', -1, 'not drained, as a Freeze of less than 60 s moves nothing'],
    ['Freeze', 90, 'drained'],
  ])('%s of %i s', async (eventType, durationSeconds, note) => {
    const { run } = aCluster()
    const changes = { event: anEvent({ eventType, durationSeconds, resources: [vm] }) }
    expect(await run('prepare', 60_000, changes)).toEqual(['succeeded', note])
  })

  test('does nothing while the node has the label that pauses', async () => {
    const world = aCluster()
    const { cluster, node, run, pod } = world
    node.metadata.labels.maintenance = 'paused'
    pod({ name: 'web' })
    expect(await run('prepare', 10_000)).toEqual([
      'failed',
      'not drained: the node has the label maintenance=paused',
    ])
    expect(cluster.on('node-a')).toEqual(['web'])
    expect(node.spec.unschedulable).toBeUndefined()
    // nothing to undo, so the node says nothing that would stay
    expect(conditionsOf(world)).toEqual(['FoghornMaintenance False NotDrained'])
    delete node.metadata.labels.maintenance
    expect(await run('prepare')).toEqual(['succeeded', 'drained'])
  })

  test('does nothing to a node that is another VM', async () => {
    const { node, run } = aCluster()
    expect(await run('prepare', 10_000, { vm: 'aks-pool-vmss_7' })).toEqual([
      'failed',
      `not drained: node node-a is the VM ${vm}, and the event is of aks-pool-vmss_7`,
    ])
    expect(node.spec.unschedulable).toBeUndefined()
  })

  test('ends at once without the right to cordon, and says so', async () => {
    const { clock, cluster, runner, order } = aCluster()
    cluster.rights.set('secret', ['get nodes', 'list pods'])
    runner.run(order('prepare'))
    await clock.advance(100)
    const note =
      'not done: the API server answered 403 to PATCH /api/v1/nodes/node-a ' +
      '(nodes is forbidden: User "test" cannot patch resource "nodes")'
    expect(runner.status().ended).toMatchObject([{ state: 'failed', note }])
  })

  test('a pod that cannot go holds no other one up', async () => {
    const { cluster, run, pod } = aCluster()
    pod({ name: 'guarded', labels: { guarded: 'yes' } })
    for (let i = 0; i < 15; i += 1) pod({ name: `web-${i}` })
    const answer = cluster.answer.bind(cluster)
    cluster.answer = (ask) =>
      ask.path.includes('/guarded/')
        ? { status: 403, body: { message: 'admission webhook "guard" denied the request' } }
        : answer(ask)
    expect(await run('prepare', 20_000)).toEqual([
      'failed',
      'not drained: shop/guarded (HTTP 403: admission webhook "guard" denied the request)',
    ])
    expect(cluster.on('node-a')).toEqual(['guarded'])
  })

  test('a pod that was replaced under its name meanwhile stays', async () => {
    const { cluster, run, pod } = aCluster()
    const one = pod({ name: 'db-0', owner: 'StatefulSet', endsInMs: 'never', graceSeconds: 600 })
    const answer = cluster.answer.bind(cluster)
    cluster.answer = (ask) => {
      if (ask.path.endsWith('/eviction')) Object.assign(one, { uid: 'another', node: 'node-b' })
      return answer(ask)
    }
    await run('prepare', 3_000)
    expect(one.endsAt).toBeUndefined()
  })

  test('ends early if its event is over, and leaves the rest alone', async () => {
    const { clock, cluster, runner, order, pod } = aCluster()
    const labels = { app: 'db' }
    pod({ name: 'db-0', labels })
    cluster.budgets = [{ namespace: 'shop', name: 'db', labels, least: 1 }]
    const asked = order('prepare')
    runner.run(asked)
    await clock.advance(5_000)
    runner.over(asked.run)
    await clock.advance(2_000)
    // interrupted: the beacon asks again if the event is back, and else restores
    expect(runner.status()).toMatchObject({ ended: [] })
    expect(runner.status().running).toBeUndefined()
    const requests = cluster.asked.length
    await clock.advance(10_000)
    expect(cluster.asked).toHaveLength(requests)
  })

  test('ends by its limit even if the API server is silent', async () => {
    const { clock, cluster, runner, order, transport } = aCluster()
    transport.exchange = () => new Promise(() => {})
    runner.run(order('prepare', 20_000))
    await clock.advance(20_000)
    const note = 'not done: the API server did not answer'
    expect(runner.status().ended).toMatchObject([{ state: 'failed', note }])
    expect(cluster.asked).toEqual([])
  })

  test('goes on after an API server that fails for a while', async () => {
    const { clock, cluster, runner, order, pod } = aCluster()
    pod({ name: 'web' })
    cluster.trouble = { status: 503, body: {} }
    runner.run(order('prepare'))
    await clock.advance(10_000)
    cluster.trouble = undefined
    await clock.advance(10_000)
    expect(runner.status().ended).toMatchObject([{ state: 'succeeded', note: 'drained' }])
  })

  test('a node that changed meanwhile is read again, and keeps the taints of others', async () => {
    const { cluster, node, run } = aCluster()
    node.spec.taints = [{ key: 'dedicated', value: 'db', effect: 'NoSchedule' }]
    const answer = cluster.answer.bind(cluster)
    let isFirst = true
    cluster.answer = (ask) => {
      if (ask.method === 'PATCH' && isFirst) {
        isFirst = false
        node.metadata.resourceVersion = '999'
      }
      return answer(ask)
    }
    expect(await run('prepare')).toEqual(['succeeded', 'drained'])
    expect(node.spec.taints.map(({ key }) => key)).toEqual(['dedicated', 'foghorn/maintenance'])
    expect(await run('restore')).toEqual(['succeeded', 'uncordoned'])
    expect(node.spec.taints.map(({ key }) => key)).toEqual(['dedicated'])
  })
})

describe('restore', () => {
  test('uncordons, and leaves nothing of its own', async () => {
    const world = aCluster()
    const { node, run, cluster } = world
    await run('prepare')
    expect(await run('restore')).toEqual(['succeeded', 'uncordoned'])
    expect(node.spec.unschedulable).toBeUndefined()
    expect(node.spec.taints).toEqual([])
    expect(node.metadata.annotations).toEqual({})
    expect(conditionsOf(world)).toEqual(['FoghornMaintenance False Restored'])
    expect(cluster.events.at(-1)).toMatchObject({ type: 'Normal', reason: 'Restored' })
  })

  test('does not uncordon what somebody else had cordoned', async () => {
    const { node, run } = aCluster()
    node.spec.unschedulable = true
    expect(await run('prepare')).toEqual(['succeeded', 'drained'])
    const note = 'still cordoned, as somebody else had cordoned the node'
    expect(await run('restore')).toEqual(['succeeded', note])
    expect(node.spec.unschedulable).toBe(true)
  })

  test('has nothing to do where nothing was prepared', async () => {
    const { cluster, run } = aCluster()
    expect(await run('restore')).toEqual(['succeeded', 'nothing to undo'])
    expect(cluster.events).toEqual([])
  })
})

describe('others do something meanwhile', () => {
  test('a person who uncordons the node during the drain ends it', async () => {
    const { clock, node, runner, order, pod, run } = aCluster()
    pod({ name: 'slow', endsInMs: 30_000 })
    runner.run(order('prepare'))
    await clock.advance(5_000)
    delete node.spec.unschedulable
    await clock.advance(10_000)
    const note = 'not drained: somebody uncordoned the node'
    expect(runner.status().ended).toMatchObject([{ state: 'failed', note }])
    expect(node.spec.taints).toEqual([])
    expect(await run('restore')).toEqual(['succeeded', 'somebody had uncordoned the node'])
  })

  test('a person who uncordons it after the drain', async () => {
    const { node, run } = aCluster()
    await run('prepare')
    delete node.spec.unschedulable
    expect(await run('restore')).toEqual(['succeeded', 'somebody had uncordoned the node'])
  })

  test.each([
    ['during the drain', 0],
    ['after it, which the next look finds', 6 * 60_000],
    ['both before the next look', -10_000],
  ])(
    'a node that a person uncordons and somebody cordons again stays cordoned: %s',
    async (_, laterMs) => {
      const { clock, cluster, node, runner, order, pod, run, drain, stop } = aCluster()
      pod({ name: 'slow', endsInMs: laterMs === 0 ? 30_000 : 1_000 })
      void drain.watch(stop.signal)
      runner.run(order('prepare'))
      await clock.advance(laterMs === 0 ? 5_000 : 30_000)
      cluster.cordon('node-a', null)
      await clock.advance(laterMs + 10_000)
      if (laterMs >= 0) expect(node.spec.taints).toEqual([])
      cluster.cordon('node-a', true)
      const note = 'still cordoned, as somebody else had cordoned the node'
      expect(await run('restore')).toEqual(['succeeded', note])
      expect(node.spec.unschedulable).toBe(true)
      stop.abort()
    },
  )

  test('a second event keeps who cordoned the node', async () => {
    const { node, run } = aCluster()
    await run('prepare')
    const second = anEvent({ eventId: 'e2', resources: [vm] })
    expect(await run('prepare', 60_000, { event: second })).toEqual(['succeeded', 'drained'])
    expect(node.metadata.annotations['foghorn/cordoned-by']).toBe('e1')
    expect(await run('restore')).toEqual(['succeeded', 'uncordoned'])
    expect(await run('restore')).toEqual(['succeeded', 'nothing to undo'])
  })
})

describe('a restart', () => {
  test('in the middle is no end, and the next runner goes on', async () => {
    const { clock, cluster, runner, order, pod, start } = aCluster()
    pod({ name: 'slow', endsInMs: 20_000 })
    runner.run(order('prepare'))
    await clock.advance(5_000)
    const stopped = runner.stop()
    await clock.advance(2_000)
    await stopped
    expect(runner.status().ended).toEqual([])
    const next = start()
    next.runner.run(order('prepare'))
    await clock.advance(30_000)
    expect(next.runner.status().ended).toMatchObject([{ state: 'succeeded', note: 'drained' }])
    expect(cluster.on('node-b')).toEqual(['slow-again'])
  })

  test('leaves the event on record, for a beacon that has forgotten it', async () => {
    const { clock, run, start, stop } = aCluster()
    await run('prepare')
    const { drain, runner } = start()
    expect(runner.status().prepared).toEqual([])
    void drain.watch(stop.signal)
    await clock.advance(1)
    expect(runner.status().prepared).toMatchObject([{ eventId: 'e1', eventType: 'Reboot' }])
    await run('restore')
    stop.abort()
  })
})

test('while the API server refuses, hooks are refused with its reason', async () => {
  const { clock, cluster, drain, runner, stop, log } = aCluster()
  cluster.rights.set('secret', [])
  void drain.watch(stop.signal)
  await clock.advance(1)
  expect(runner.status().prepare).toMatchObject({
    state: 'refused',
    note: expect.stringContaining('403 to GET /api/v1/nodes/node-a'),
  })
  cluster.rights.set('secret', drainRights)
  await clock.advance(15_000)
  expect(runner.status().prepare).toEqual({ state: 'ready' })
  expect(log.entries.map((one) => one.event)).toEqual(['kubernetes_failed', 'kubernetes_reached'])
  stop.abort()
})
