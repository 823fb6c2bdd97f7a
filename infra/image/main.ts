// `npm run image [-- IMAGE…]`: makes the container images of beacon and relay. They have nothing but what
// runs: no shell, no package manager. The same commit makes the same bytes while Debian's packages are the
// same.
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { command, wrong } from '../../functions/cli/command.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { writeBundle } from '../bundle.ts'
import { billOfMaterials, describePart, type Part } from '../release/bill-of-materials.ts'
import { writeProgram } from '../release/relay.ts'
import { buildBeacon } from '../vm/executable.ts'
import { assertTools } from '../vm/package/tools.ts'
import { nodeFor, runtimes } from '../vm/runtimes.ts'
import { ociTools, type Platform, writeImage } from './oci.ts'
import { type Cpu, systemTools, user, writeSystem } from './system.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'dist/image')
const { version } = packageJson
const cpus: readonly Cpu[] = ['x64', 'arm64']

interface Image {
  about: string
  config: object
  runtime(cpu: Cpu): { name: string; version: string }
  /** The program of the bundle that the image contains. */
  program: 'beacon' | 'node'
  write(cpu: Cpu, contents: string, bundle: string): Promise<void>
}

const account = `${user.id}:${user.id}`
const images: Record<string, Image> = {
  'foghorn-beacon': {
    about: 'reports the Scheduled Events of an Azure VM; drains a node of Kubernetes',
    config: {
      User: account,
      WorkingDir: '/',
      // without the just-in-time compiler Bun needs half the memory
      Env: ['BUN_JSC_useJIT=0', 'FOGHORN_STATE_DIR=/var/lib/foghorn'],
      Entrypoint: ['/usr/bin/foghorn-beacon'],
    },
    runtime: (cpu) => runtimes[`linux-${cpu}`],
    program: 'beacon',
    async write(cpu, contents) {
      mkdirSync(join(contents, 'usr/bin'), { recursive: true })
      await buildBeacon(`linux-${cpu}`, join(contents, 'usr/bin/foghorn-beacon'))
      for (const path of ['var/lib/foghorn', 'run/foghorn']) openFolder(contents, path)
    },
  },
  'foghorn-relay': {
    about: 'notifies people of Azure maintenance, and passes their approvals on',
    config: {
      User: account,
      WorkingDir: '/',
      Env: [
        ...['HOST=0.0.0.0', 'PORT=8080', 'FOGHORN_DATA=/var/lib/foghorn-relay'],
        'FOGHORN_CONFIG=/etc/foghorn/foghorn.config.json',
      ],
      Entrypoint: [
        ...['/opt/foghorn/node', '--disable-warning=ExperimentalWarning'],
        ...['--max-semi-space-size=16', '--max-old-space-size=512'],
        '/opt/foghorn/program/foghorn.mjs',
      ],
      Cmd: ['start'],
      ExposedPorts: { '8080/tcp': {} },
      Volumes: { '/var/lib/foghorn-relay': {} },
      // Docker asks; Kubernetes has probes of its own
      Healthcheck: {
        Test: ['CMD', '/opt/foghorn/node', '-e', isHealthy()],
        ...{ Interval: 30e9, Timeout: 5e9, StartPeriod: 10e9 },
      },
    },
    runtime: nodeFor,
    program: 'node',
    async write(cpu, contents, bundle) {
      await writeProgram(bundle, cpu, join(contents, 'opt/foghorn'))
      openFolder(contents, 'var/lib/foghorn-relay')
    },
  },
}

export const image = command({
  usage: '[IMAGE...]',
  about: `
Makes the container images in dist/image, for linux/amd64 and linux/arm64, each as one archive, and
a bill of materials (CycloneDX) beside it. To publish one:

  skopeo copy --all oci-archive:dist/image/foghorn-beacon-VERSION.tar docker://REGISTRY/NAME:TAG

Images: ${Object.keys(images).join(', ')}. Without an IMAGE it makes both.

It runs on Debian, and names each tool that is missing.`,
  words: { least: 0, most: Object.keys(images).length },
  async run({ words, io }) {
    assertTools([...systemTools, ...ociTools])
    process.umask(0o022)
    mkdirSync(folder, { recursive: true })
    for (const name of imagesIn(words)) {
      io.progress(`${name} …`)
      const { file, digest, ...contents } = await makeImage(name, folder)
      const bill = join(folder, `${name}-${version}.cdx.json`)
      io.print(`${relative(root, file)} ${digest}`)
      io.print(relative(root, await billOfMaterials(bill, contents)))
    }
  },
})

function imagesIn(words: string[]): string[] {
  const unknown = words.find((word) => images[word] === undefined)
  if (unknown !== undefined) {
    throw wrong(`there is no image "${unknown}"; write one of ${Object.keys(images).join(', ')}`)
  }
  return words.length === 0 ? Object.keys(images) : words
}

/** Writes the archive of an image into a folder. */
export async function makeImage(
  name: string,
  into: string,
): Promise<{ file: string; digest: string; parts: Part[]; inputs: string[] }> {
  const { write, about, config, runtime, program: named } = images[name]!
  const stage = mkdtempSync(join(tmpdir(), 'foghorn-image-'))
  try {
    const bundle = join(stage, 'bundle')
    mkdirSync(bundle)
    const { inputs } = await writeBundle(bundle, undefined)
    const platforms: Platform[] = []
    const parts: Part[] = []
    for (const cpu of cpus) {
      const [system, program] = [join(stage, `${cpu}-system`), join(stage, `${cpu}-program`)]
      for (const path of [system, program]) mkdirSync(path)
      parts.push(...writeSystem(cpu, system), describePart(runtime(cpu)))
      await write(cpu, program, join(bundle, 'node'))
      mkdirSync(join(program, 'licenses'))
      copyFileSync(join(root, 'LICENSE'), join(program, 'licenses/foghorn'))
      platforms.push({ cpu, layers: [system, program] })
    }
    const file = join(into, `${name}-${version}.tar`)
    const Labels = buildLabels(name, about)
    const digest = writeImage(file, { name, tag: version }, { ...config, Labels }, platforms)
    return { file, digest, parts, inputs: inputs[named] }
  } finally {
    rmSync(stage, { recursive: true })
  }
}

function buildLabels(name: string, about: string): Record<string, string> {
  const label = (key: string, value: string) => [`org.opencontainers.image.${key}`, value]
  return Object.fromEntries([
    ...[label('title', name), label('description', about), label('version', version)],
    label('licenses', packageJson.license),
  ])
}

/** The program may write there, and a new volume takes over the mode. */
function openFolder(contents: string, path: string): void {
  mkdirSync(join(contents, path), { recursive: true })
  chmodSync(join(contents, path), 0o1777)
}

function isHealthy(): string {
  const address = "'http://127.0.0.1:' + (process.env.PORT ?? 8080) + '/healthz'"
  return `fetch(${address}).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))`
}
