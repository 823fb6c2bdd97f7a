// The image of the beacon, run by buildah as the chart runs it: without rights, beacon and drain beside each
// other. Skipped where the tools that make and run images are missing.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { makeImage } from '../../infra/image/main.ts'
import { ociTools } from '../../infra/image/oci.ts'
import { systemTools, user } from '../../infra/image/system.ts'
import { has } from '../../infra/vm/package/tools.ts'
import { FoghornError } from '../../shared/errors.ts'
import { type Nodes, startNodes } from '../support/nodes.ts'
import { type Stage, startStage } from '../support/stage.ts'

/** Whatever the machine's own settings of buildah are. */
const settings = { STORAGE_DRIVER: 'vfs', BUILDAH_ISOLATION: 'chroot' }
const needed = [...systemTools, ...ociTools, { command: 'buildah', debian: 'buildah' }]
const missing = needed.filter(({ command }) => !has(command)).map(({ command }) => command)
const isSkipped = missing.length > 0 || !makesContainers()
const timeout = 180_000
const makeWithinMs = 400_000
const unavailable = ['runtime_unavailable', 'tool_failed']

const lacks = missing.join(', ') || 'the rights to make a container'
const why = isSkipped ? `, skipped without ${lacks}` : ''

describe.skipIf(isSkipped)(`images${why}`, () => {
  const containers: string[] = []
  let folder = ''
  const files: Record<string, string> = {}
  /** What cannot be fetched here. */
  let lacking: string | undefined
  let stage: Stage | undefined
  let nodes: Nodes | undefined

  const buildah = (...words: string[]) => {
    const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run')]
    const env = { ...process.env, ...settings }
    return execFileSync('buildah', [...storage, ...words], { encoding: 'utf8', env }).trim()
  }
  const containerOf = (image: string, architecture = 'amd64') => {
    const source = `oci-archive:${files[image]}`
    const name = buildah('from', '--quiet', '--arch', architecture, source)
    containers.push(name)
    return name
  }
  /** A program that runs the one of the image, with the settings of its environment and without rights. */
  const programOf = (image: string, directory: string, words: string) => {
    const program = join(directory, `${image}.sh`)
    writeFileSync(program, scriptFor(containerOf(image), folder, directory, words))
    return ['/bin/sh', program]
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'foghorn-image-'))
    try {
      for (const image of ['foghorn-beacon', 'foghorn-relay']) {
        files[image] = (await makeImage(image, folder)).file
      }
    } catch (error) {
      // without a network, or with another one than npm's and Debian's
      const isMissing = error instanceof FoghornError && unavailable.includes(error.code)
      if (!isMissing) throw error
      lacking = error.message
    }
  }, makeWithinMs)

  beforeEach(({ skip }) => {
    if (lacking !== undefined) skip(lacking)
  })

  afterAll(async () => {
    await stage?.stop()
    await nodes?.stop()
    for (const name of containers) buildah('rm', name)
    if (Object.keys(files).length > 0) buildah('rmi', '--all')
    rmSync(folder, { recursive: true, force: true })
  })

  test('a beacon reads IMDS and drains a node, and a relay approves', { timeout }, async () => {
    nodes = await startNodes(['web_0', 'web_1'])
    const rule = { match: {}, decide: 'approve', whenReady: true }
    stage = await startStage({ vms: [['web_0', 'web_1']], config: () => ({ policy: [rule] }) })
    chmodSync(stage.directory, 0o777)
    const { simulator, sinks, directory } = stage
    await stage.startRelay({ file: programOf('foghorn-relay', directory, relayWords) })
    const program = programOf('foghorn-beacon', directory, '/usr/bin/foghorn-beacon')
    for (const vm of ['web_0', 'web_1']) await nodes.start(stage, vm, program)
    simulator.createEvent({ EventType: 'Reboot', Resources: ['web_0'], noticeSeconds: 300 })
    await sinks.waitFor(
      ({ kind, body }) => kind === 'webhook' && body.includes('foghorn.event.approved'),
      timeout,
    )
    expect(nodes.cluster.on('web000000')).toEqual([])
    expect(nodes.cordoned()).toBe(1)
    // people are told of the approval before the beacon has asked Azure
    await expect.poll(() => simulator.startRequests().length, { timeout }).toBe(1)
  })

  test.skipIf(!has('qemu-aarch64-static')).each([
    ['foghorn-beacon', ['usr/bin/foghorn-beacon'], '--version', /^foghorn-beacon \d/],
    [
      'foghorn-relay',
      ['opt/foghorn/node', 'opt/foghorn/program/foghorn.mjs'],
      '--help',
      /^foghorn COMMAND/,
    ],
  ])('%s runs on arm64 (emulated)', { timeout }, (image, program, word, expected) => {
    const root = buildah('mount', containerOf(image, 'arm64'))
    const words = ['-L', root, ...program.map((path) => join(root, path)), word]
    const env = { BUN_JSC_useJIT: '0' }
    const said = execFileSync('qemu-aarch64-static', words, { encoding: 'utf8', env })
    expect(said).toMatch(expected)
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

const relayWords = '/opt/foghorn/node /opt/foghorn/program/foghorn.mjs start'

function scriptFor(container: string, folder: string, shared: string, words: string): string {
  return `set -e
${Object.entries(settings)
  .map(([name, value]) => `export ${name}=${value}`)
  .join('\n')}
names='^(FOGHORN_|KUBERNETES_|NODE_EXTRA_CA|PORT=|FLEET_KEY|PAGER_KEY|HOOK_SECRET)'
exec buildah --root ${folder}/storage --runroot ${folder}/run run --user ${user.id}:${user.id} \\
  --cap-drop ALL $(env | grep -E "$names" | sed 's/^/--env /') -v ${shared}:${shared} \\
  ${container} -- ${words} "$@"
`
}
