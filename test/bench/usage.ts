// What a process costs, from Linux' own account of it, and what it leaves on the disk.
import { readdirSync, readFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** The kernel's USER_HZ, the same on every machine that Node runs on. */
const ticksPerSecond = 100

/** `VmRSS` is what it has now, `VmHWM` the most that it ever had. */
export function memoryMb(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const [, kib = 'NaN'] = new RegExp(`${field}:\\s+(\\d+) kB`).exec(status) ?? []
  return (Number(kib) * 1024) / 1e6
}

/**
 * What a process has in memory. `privateDirty` is what its machine really gives up. `file` is its
 * program and libraries, which the system can drop and read again.
 */
export function memoryByKind(pid: number) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const mb = (field: string) => {
    const [, kib = 'NaN'] = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text) ?? []
    return (Number(kib) * 1024) / 1e6
  }
  const residentMb = mb('Rss')
  return { residentMb, privateDirtyMb: mb('Private_Dirty'), fileMb: residentMb - mb('Anonymous') }
}

/** Of all its threads since its start, in the kernel and outside. */
export function cpuSeconds(pid: number): number {
  const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // the second field is the name, in brackets, and may hold anything; the third comes first here
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** The process of this name that another one started, directly or not, and that has most memory. */
export function childNamed(pid: number, name: string): number {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), parent: parentOf(Number(name)) }))
  const below = (one: number): number[] =>
    parents
      .filter(({ parent }) => parent === one)
      .flatMap((child) => [child.pid, ...below(child.pid)])
  const size = (one: number) => memoryMb(one, 'VmRSS') || 0
  const named = below(pid).filter((one) => nameOf(one) === name)
  if (named.length === 0) throw new Error(`process ${pid} has started no ${name}`)
  return named.sort((a, b) => size(b) - size(a))[0]!
}

function nameOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
}

function parentOf(pid: number): number | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    // it has ended meanwhile
    return undefined
  }
}

export async function folderMb(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const sizes = files.map(async (file) => (await stat(join(file.parentPath, file.name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0) / 1e6
}
