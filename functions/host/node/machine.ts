// The disk that holds the relay's data.
import { statfs } from 'node:fs/promises'
import { type Disk, describeDisk, isNearlyFull } from '../../core/delivery/own-trouble.ts'

export async function diskOf(folder: string): Promise<Disk> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

/** For `/healthz`. */
export async function troublesOf(folder: string): Promise<string[]> {
  const disk = await diskOf(folder)
  if (!isNearlyFull(disk, false)) return []
  return [`the disk of FOGHORN_DATA is nearly full: ${describeDisk(disk)}`]
}
