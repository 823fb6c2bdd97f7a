// What the relay checks of its machine: the disk that holds its data, and its clocks.
import { statfs } from 'node:fs/promises'
import { describeDisk, isNearlyFull } from '../../core/delivery/own-trouble.ts'
import type { Machine } from '../../use-cases/own-troubles.ts'

export function machineOf(folder: string): Machine {
  return {
    async disk() {
      const { bavail, blocks, bsize } = await statfs(folder)
      return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
    },
    clocks: () => ({ wall: Date.now(), monotonic: performance.now() }),
  }
}

/** For `/healthz`. */
export async function troublesOf({ disk }: Pick<Machine, 'disk'>): Promise<string[]> {
  const found = await disk()
  if (!isNearlyFull(found, false)) return []
  return [`the disk of FOGHORN_DATA is nearly full: ${describeDisk(found)}`]
}
