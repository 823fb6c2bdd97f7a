// The archive of an image: whether other tools read it, and the same files make the same bytes. The image
// itself is made by `npm run image`, which takes a minute and Debian's packages.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ociTools, writeImage } from '../../infra/image/oci.ts'
import { has } from '../../infra/vm/package/tools.ts'
import { temporaryDirectory } from '../beacon/world.ts'

const isMissing = ociTools.some(({ command }) => !has(command))
const config = { User: '65532:65532', Entrypoint: ['/program'] }

/** Two platforms of two layers. `at` is the time of the files, seconds. */
function anImage(at: number) {
  const folder = temporaryDirectory()
  const platforms = (['x64', 'arm64'] as const).map((cpu) => {
    const layers = ['system', 'program'].map((name) => {
      const layer = join(folder, `${cpu}-${name}`)
      mkdirSync(layer)
      writeFileSync(join(layer, name), `${name} of ${cpu}`)
      utimesSync(join(layer, name), at, at)
      return layer
    })
    return { cpu, layers }
  })
  const file = join(folder, 'image.tar')
  const digest = writeImage(file, { name: 'foghorn-test', tag: '1' }, config, platforms)
  return { file, digest }
}

test.skipIf(isMissing)('the same files make the same archive', () => {
  const [one, two] = [anImage(1_000), anImage(2_000)]
  expect(one.digest).toMatch(/^sha256:[0-9a-f]{64}$/)
  expect(one.digest).toBe(two.digest)
  expect(readFileSync(one.file).equals(readFileSync(two.file))).toBe(true)
})

test.skipIf(isMissing || !has('skopeo'))('skopeo reads each platform (skipped without it)', () => {
  const { file } = anImage(1_000)
  for (const architecture of ['amd64', 'arm64']) {
    const words = ['--override-arch', architecture, 'inspect', '--config', `oci-archive:${file}`]
    const read = JSON.parse(execFileSync('skopeo', words, { encoding: 'utf8' }))
    expect(read).toMatchObject({ architecture, os: 'linux', config })
    expect(read.rootfs.diff_ids).toHaveLength(2)
  }
})
