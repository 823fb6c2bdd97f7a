// The image of the beacon, run by buildah as the chart runs it: without rights, beacon and drain beside each
// other. Skipped where the tools that make and run images are missing.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeImage } from '../../infra/image/main.ts'
import { ociTools } from '../../infra/image/oci.ts'
import { systemTools, user } from '../../infra/image/system.ts'
import { has } from '../../infra/vm/package/tools.ts'
import { type Nodes, startNodes } from '../support/nodes.ts'
import { type Stage, startStage } from '../support/stage.ts'

/** Whatever the machine's own settings of buildah are. */
const settings = { STORAGE_DRIVER: 'vfs', BUILDAH_ISOLATION: 'chroot' }
const needed = [...systemTools, ...ociTools, { command: 'buildah', debian: 'buildah' }]
const missing = needed.filter(({ command }) => !has(command)).map(({ command }) => command)
const isSkipped = missing.length > 0 || !makesContainers()
const timeout = 180_000

const lacks = missing.join(', ') || 'the rights to make a container'
const why = isSkipped ? `, skipped without ${lacks}` : ''

describe.skipIf(isSkipped)(`images${why}`, () => {
  const containers: string[] = []
  let folder = ''
  let file = ''
  let stage: Stage | undefined
  let nodes: Nodes | undefined

  const buildah = (...words: string[]) => {
    const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run')]
    const env = { ...process.env, ...settings }
    return execFileSync('buildah', [...storage, ...words], { encoding: 'utf8', env }).trim()
  }
  const containerOf = (architecture: string) => {
    const name = buildah('from', '--quiet', '--arch', architecture, `oci-archive:${file}`)
    containers.push(name)
    return name
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'foghorn-image-'))
    file = (await makeImage('foghorn-beacon', folder)).file
  }, timeout)

  afterAll(async () => {
    await stage?.stop()
    await nodes?.stop()
    for (const name of containers) buildah('rm', name)
    if (file !== '') buildah('rmi', '--all')
    rmSync(folder, { recursive: true, force: true })
  })

  test('reads IMDS and drains a node', { timeout }, async () => {
    nodes = await startNodes(['web_0', 'web_1'])
    const rule = { match: {}, decide: 'approve', whenReady: true }
    stage = await startStage({ vms: [['web_0', 'web_1']], config: () => ({ policy: [rule] }) })
    chmodSync(stage.directory, 0o777)
    await stage.startRelay()
    const program = join(stage.directory, 'beacon.sh')
    writeFileSync(program, scriptFor(containerOf('amd64'), folder, stage.directory))
    chmodSync(program, 0o755)
    for (const vm of ['web_0', 'web_1']) await nodes.start(stage, vm, ['/bin/sh', program])
    const { simulator, sinks } = stage
    simulator.createEvent({ EventType: 'Reboot', Resources: ['web_0'], noticeSeconds: 300 })
    await sinks.waitFor(
      ({ kind, body }) => kind === 'webhook' && body.includes('foghorn.event.approved'),
      timeout,
    )
    expect(nodes.cluster.on('web000000')).toEqual([])
    expect(nodes.cordoned()).toBe(1)
    expect(simulator.startRequests()).toHaveLength(1)
  })

  test.skipIf(!has('qemu-aarch64-static'))('runs on arm64 (emulated)', { timeout }, () => {
    const root = buildah('mount', containerOf('arm64'))
    const words = ['-L', root, join(root, 'usr/bin/foghorn-beacon'), '--version']
    const env = { BUN_JSC_useJIT: '0' }
    const said = execFileSync('qemu-aarch64-static', words, { encoding: 'utf8', env })
    expect(said).toMatch(/^foghorn-beacon \d/)
  })
})

function makesContainers(): boolean {
  if (process.getuid?.() !== 0) return false
  const folder = mkdtempSync(join(tmpdir(), 'foghorn-image-'))
  try {
    const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run')]
    const env = { ...process.env, ...settings }
    execFileSync('buildah', [...storage, 'from', 'scratch'], { env, stdio: 'ignore' })
    execFileSync('buildah', [...storage, 'rm', '--all'], { env, stdio: 'ignore' })
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs the program of the container with the settings of the environment, without rights. */
function scriptFor(container: string, folder: string, shared: string): string {
  return `set -e
${Object.entries(settings)
  .map(([name, value]) => `export ${name}=${value}`)
  .join('\n')}
names='^(FOGHORN_|KUBERNETES_|NODE_EXTRA_CA)'
exec buildah --root ${folder}/storage --runroot ${folder}/run run --user ${user.id}:${user.id} \\
  --cap-drop ALL $(env | grep -E "$names" | sed 's/^/--env /') -v ${shared}:${shared} \\
  ${container} -- /usr/bin/foghorn-beacon "$@"
`
}
