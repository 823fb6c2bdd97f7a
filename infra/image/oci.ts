// Writes an image for several processors as an archive that skopeo, podman and buildah read:
// https://github.com/opencontainers/image-spec. The same files make the same bytes.
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { buildTime, runTool, type Tool } from '../vm/package/tools.ts'
import type { Cpu } from './system.ts'

export const ociTools: Tool[] = [{ command: 'tar', debian: 'tar' }]

const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
}
const architectures = { x64: 'amd64', arm64: 'arm64' }

/** A folder becomes a layer. */
export interface Platform {
  cpu: Cpu
  layers: string[]
}

interface Descriptor {
  mediaType: string
  digest: string
  size: number
}

/**
 * `config` is what runs, as the specification names it. `name` and `tag` are what `docker load` calls the
 * image. Returns the digest of the index.
 */
export function writeImage(
  file: string,
  { name, tag }: { name: string; tag: string },
  config: object,
  platforms: Platform[],
): string {
  const layout = mkdtempSync(join(tmpdir(), 'foghorn-oci-'))
  try {
    const blobs = join(layout, 'blobs/sha256')
    mkdirSync(blobs, { recursive: true })
    const add = (mediaType: string, bytes: Buffer): Descriptor => {
      const hash = sha256(bytes)
      writeFileSync(join(blobs, hash), bytes)
      return { mediaType, digest: `sha256:${hash}`, size: bytes.length }
    }
    const addJson = (mediaType: string, value: object) =>
      add(mediaType, Buffer.from(JSON.stringify(value)))
    const created = new Date(buildTime() * 1_000).toISOString()
    const manifests = platforms.map(({ cpu, layers }) => {
      const archives = layers.map(buildArchive)
      const platform = { architecture: architectures[cpu], os: 'linux' }
      const described = addJson(types.config, {
        ...{ created, ...platform, config },
        rootfs: { type: 'layers', diff_ids: archives.map((one) => `sha256:${sha256(one)}`) },
        history: archives.map(() => ({ created, created_by: 'foghorn' })),
      })
      const manifest = {
        ...{ schemaVersion: 2, mediaType: types.manifest, config: described },
        layers: archives.map((one) => add(types.layer, gzipSync(one, { level: 9 }))),
      }
      return { ...addJson(types.manifest, manifest), platform }
    })
    const index = addJson(types.index, { schemaVersion: 2, mediaType: types.index, manifests })
    const annotations = {
      'io.containerd.image.name': `docker.io/library/${name}:${tag}`,
      'org.opencontainers.image.ref.name': tag,
    }
    write(layout, 'oci-layout', { imageLayoutVersion: '1.0.0' })
    write(layout, 'index.json', {
      ...{ schemaVersion: 2, mediaType: types.index, manifests: [{ ...index, annotations }] },
    })
    pack(layout, file)
    return index.digest
  } finally {
    rmSync(layout, { recursive: true })
  }
}

function buildArchive(folder: string): Buffer {
  const file = `${folder}.tar`
  pack(folder, file)
  try {
    return readFileSync(file)
  } finally {
    rmSync(file)
  }
}

/** Files belong to root, so that the program cannot change itself. */
function pack(folder: string, file: string): void {
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--format=gnu']
  const order = ['--sort=name', `--mtime=@${buildTime()}`]
  runTool('tar', [...owner, ...order, '-cf', file, '-C', folder, '.'])
}

function write(layout: string, name: string, value: object): void {
  writeFileSync(join(layout, name), JSON.stringify(value))
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
