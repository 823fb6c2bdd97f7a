// The real kubectl against the fake API server, so that the fake is held to what Kubernetes does.
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { startKubernetes } from '../../simulator/kubernetes-server.ts'
import { temporaryDirectory } from '../world.ts'

const kubectl = 'kubectl'
const run = promisify(execFile)

function isMissing(): boolean {
  try {
    execFileSync(kubectl, ['version', '--client'], { stdio: 'ignore' })
    return false
  } catch {
    return true
  }
}

test.skipIf(isMissing())(
  'kubectl drains a node of the fake (skipped without kubectl)',
  async () => {
    const server = await startKubernetes()
    onTestFinished(server.stop)
    const { cluster, host, port, authority } = server
    cluster.rights.set('admin', ['*'])
    cluster.addNode('node-a')
    cluster.addNode('node-b')
    cluster.addPod({ name: 'web', node: 'node-a', endsInMs: 100 })
    cluster.addPod({ name: 'agent', node: 'node-a', owner: 'DaemonSet' })
    const file = join(temporaryDirectory(), 'ca.crt')
    writeFileSync(file, authority)
    const words = ['--server', `https://${host}:${port}`, '--certificate-authority', file]
    const ask = async (...more: string[]) =>
      (await run(kubectl, [...words, '--token', 'admin', '--kubeconfig', '/dev/null', ...more]))
        .stdout
    const drained = await ask('drain', 'node-a', '--ignore-daemonsets')
    expect(drained).toContain('evicting pod shop/web')
    expect(drained).toContain('node/node-a drained')
    expect([cluster.on('node-a'), cluster.on('node-b')]).toEqual([['agent'], ['web-again']])
    expect(await ask('uncordon', 'node-a')).toContain('uncordoned')
    expect(cluster.nodes.get('node-a')?.spec.unschedulable).toBeUndefined()

    cluster.addPod({ name: 'db', node: 'node-a', labels: { app: 'db' } })
    cluster.budgets = [{ namespace: 'shop', name: 'db', labels: { app: 'db' }, least: 1 }]
    const refused = ask('drain', 'node-a', '--ignore-daemonsets', '--timeout', '1s')
    await expect(refused).rejects.toThrow("violate the pod's disruption budget")
    cluster.budgets.push({ namespace: 'shop', name: 'too', labels: { app: 'db' }, least: 0 })
    const split = ask('drain', 'node-a', '--ignore-daemonsets', '--timeout', '5s')
    await expect(split).rejects.toThrow('more than one PodDisruptionBudget')
  },
)
