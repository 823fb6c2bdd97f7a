// A share of a core for one process, as if it had a machine of its own. Linux gives it to root, by control groups.
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const groups = '/sys/fs/cgroup'
const periodUs = 100_000

/** Returns what takes the share back once the process has ended. Undefined: this machine gives none. */
export function giveShare(pid: number, share: number): (() => void) | undefined {
  const isNewer = existsSync(join(groups, 'cgroup.controllers'))
  const group = join(groups, isNewer ? '' : 'cpu', `foghorn-bench-${pid}`)
  const quota = Math.round(share * periodUs)
  try {
    mkdirSync(group)
    if (isNewer) writeFileSync(join(group, 'cpu.max'), `${quota} ${periodUs}`)
    else writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota))
    writeFileSync(join(group, 'cgroup.procs'), String(pid))
    return () => rmdirSync(group)
  } catch {
    return undefined
  }
}
