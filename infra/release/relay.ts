// The relay for a Linux machine, as an archive: the program, the Node that runs it, the systemd unit,
// examples and docs. To install it is to unpack it.
import { chmodSync, copyFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { runTool, stamp } from '../vm/package/tools.ts'
import { nodeFor, runtimeFor } from '../vm/runtimes.ts'

const root = join(import.meta.dirname, '../..')
type Cpu = 'x64' | 'arm64'

const program = 0o755

/** The launcher also works behind a link, as in /usr/local/bin. */
const launcher = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" --disable-warning=ExperimentalWarning --max-semi-space-size=16 --max-old-space-size=512 \\
  "$here/program/foghorn.mjs" "$@"
`

/** `bundle`: the folder with the program. Returns the path of the archive. */
export async function packRelay(bundle: string, cpu: Cpu, folder: string): Promise<string> {
  const stage = mkdtempSync(join(tmpdir(), 'foghorn-relay-'))
  try {
    const name = `foghorn-relay-${packageJson.version}-linux-${cpu}`
    await writeRelay(bundle, cpu, join(stage, name))
    stamp(stage)
    const file = join(folder, `${name}.tar.gz`)
    const owner = ['--owner=0', '--group=0', '--numeric-owner', '--format=gnu']
    const pack = ['--sort=name', '--use-compress-program=gzip -9n', '-cf', file, name]
    runTool('tar', [...owner, ...pack], stage)
    return file
  } finally {
    rmSync(stage, { recursive: true })
  }
}

/** The program and the Node that runs it. */
export async function writeProgram(bundle: string, cpu: Cpu, contents: string): Promise<void> {
  cpSync(bundle, join(contents, 'program'), { recursive: true })
  const node = await runtimeFor(nodeFor(cpu))
  copyFileSync(node, join(contents, 'node'))
  chmodSync(join(contents, 'node'), program)
  // with the licenses of what Node contains
  copyFileSync(join(dirname(dirname(node)), 'LICENSE'), join(contents, 'LICENSE.node'))
}

/** Writes what is in the archive into the folder `contents`. */
export async function writeRelay(bundle: string, cpu: Cpu, contents: string): Promise<void> {
  await writeProgram(bundle, cpu, contents)
  copyFileSync(join(root, 'LICENSE'), join(contents, 'LICENSE'))
  writeFileSync(join(contents, 'foghorn'), launcher)
  chmodSync(join(contents, 'foghorn'), program)
  copyFileSync(join(root, 'README.md'), join(contents, 'README.md'))
  cpSync(join(root, 'docs'), join(contents, 'docs'), { recursive: true })
  // all that the docs link to, and no program
  const isShown = (path: string) => !/\.m?ts$/.test(path) || path.includes('examples')
  cpSync(join(root, 'infra'), join(contents, 'infra'), { recursive: true, filter: isShown })
}
