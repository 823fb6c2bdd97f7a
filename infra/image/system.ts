// What an image has beside the program: the C library and a user without rights. The files come from
// Debian's packages of the other processor, too, without a change to this machine.
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Part } from '../release/bill-of-materials.ts'
import { runTool, type Tool } from '../vm/package/tools.ts'

export type Cpu = 'x64' | 'arm64'

export const systemTools: Tool[] = [
  { command: 'apt-get', debian: 'apt' },
  { command: 'dpkg-deb', debian: 'dpkg' },
]

/** The names that Debian uses. */
const machines = {
  x64: { debian: 'amd64', triple: 'x86_64-linux-gnu', loader: 'lib64/ld-linux-x86-64.so.2' },
  arm64: { debian: 'arm64', triple: 'aarch64-linux-gnu', loader: 'lib/ld-linux-aarch64.so.1' },
}
/** Debian's packages, and the libraries that Bun and Node load from each. */
const libraries: Record<string, string[]> = {
  libc6: [
    'libc.so.6',
    'libm.so.6',
    'libdl.so.2',
    'libpthread.so.0',
    'librt.so.1',
    'libresolv.so.2',
  ],
  'libgcc-s1': ['libgcc_s.so.1'],
  'libstdc++6': ['libstdc++.so.6'],
}
/** Other images without a shell use the same name and number. */
export const user = { name: 'nonroot', id: 65_532 }

/** Writes the files of the system into `contents`. Returns the packages that they come from. */
export function writeSystem(cpu: Cpu, contents: string): Part[] {
  const stage = mkdtempSync(join(tmpdir(), 'foghorn-image-'))
  try {
    const files = fetchPackages(cpu, stage)
    const unpacked = join(stage, 'unpacked')
    for (const file of files) runTool('dpkg-deb', ['-x', join(stage, file), unpacked])
    const { triple, loader } = machines[cpu]
    const names = Object.values(libraries).flat()
    for (const path of [...names.map((name) => `lib/${triple}/${name}`), loader]) {
      copyFile(unpacked, path, contents)
    }
    for (const name of Object.keys(libraries)) {
      // gcc's libraries share a file
      const owner = name === 'libstdc++6' || name === 'libgcc-s1' ? 'gcc-12-base' : name
      copyFile(unpacked, `usr/share/doc/${owner}/copyright`, contents)
    }
    writeUser(contents)
    return files.map(findPackage)
  } finally {
    rmSync(stage, { recursive: true })
  }
}

/** Fetches packages, and returns the files' names. A separate state of apt keeps this machine as it is. */
function fetchPackages(cpu: Cpu, stage: string): string[] {
  const { debian } = machines[cpu]
  for (const folder of ['state/lists/partial', 'cache/archives/partial']) {
    mkdirSync(join(stage, folder), { recursive: true })
  }
  const options = [
    ...[`Dir::State=${join(stage, 'state')}`, `Dir::Cache=${join(stage, 'cache')}`],
    ...['Dir::State::status=/dev/null', `APT::Architecture=${debian}`],
    ...[`APT::Architectures=${debian}`, 'APT::Sandbox::User=root'],
  ].flatMap((one) => ['-o', one])
  runTool('apt-get', [...options, 'update'])
  runTool('apt-get', [...options, 'download', ...Object.keys(libraries), 'gcc-12-base'], stage)
  return readdirSync(stage)
    .filter((name) => name.endsWith('.deb'))
    .sort()
}

/** A file without the links to it. A package has `lib` or, in newer Debians, `usr/lib`. */
function copyFile(from: string, path: string, to: string): void {
  const target = join(to, path)
  mkdirSync(dirname(target), { recursive: true })
  const places = [path, join('usr', path), path.replace('lib/', 'usr/lib/')]
  for (const place of places) {
    try {
      copyFileSync(join(from, place), target)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  throw new Error(`Debian's packages have no ${path}`)
}

function writeUser(contents: string): void {
  const { name, id } = user
  const etc = join(contents, 'etc')
  mkdirSync(etc, { recursive: true })
  writeFileSync(join(etc, 'passwd'), `root:x:0:0:root:/:/none\n${name}:x:${id}:${id}::/:/none\n`)
  writeFileSync(join(etc, 'group'), `root:x:0:\n${name}:x:${id}:\n`)
  writeFileSync(join(etc, 'nsswitch.conf'), 'hosts: files dns\n')
}

/** `libc6_2.36-9+deb12u14_arm64.deb` */
function findPackage(file: string): Part {
  const [name = '', escaped = '', rest = ''] = file.split('_')
  const version = decodeURIComponent(escaped)
  const arch = rest.replace('.deb', '')
  return { name, version, purl: `pkg:deb/debian/${name}@${escaped}?arch=${arch}` }
}
