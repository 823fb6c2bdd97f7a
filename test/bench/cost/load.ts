// A month of a fleet: what was measured, times how often it happens.
import { idlePaceMs } from '../../../functions/core/pace.ts'
import { assumed, monthSeconds } from './assumptions.ts'
import type { Group, Load } from './bill.ts'
import type { FunctionName } from './hosted.ts'
import { combine, type EventUsage, type Idle, type Usage } from './measure.ts'

const timerEveryMs = 60_000
/** As `retentionDays`, in months. */
const keptMonths = 3

export interface Month {
  vms: number
  heartbeatMs?: number
  timerMs?: number
  /** Every VM is hit by one such event. */
  event?: EventUsage | undefined
  /** Of the host, for each execution. */
  hostLines: Record<FunctionName, number>
}

export const noHostLines: Month['hostLines'] = { relay: 0, wake: 0, sweep: 0 }

export function loadOf(idle: Idle, month: Month): Load {
  const { vms, heartbeatMs = idlePaceMs, timerMs = timerEveryMs, event } = month
  const times = (everyMs: number) => (monthSeconds * 1_000) / everyMs
  const usage = combine(
    [vms * times(heartbeatMs), idle.heartbeat],
    [times(timerMs), idle.timer],
    ...(event === undefined ? [] : [[vms, event] as [number, Usage]]),
  )
  const names = Object.keys(month.hostLines) as FunctionName[]
  const filed = names.filter((name) => month.hostLines[name] > 0)
  const sumOf = (of: (name: FunctionName) => number) => filed.reduce((sum, n) => sum + of(n), 0)
  const rows = usage.lines + sumOf((name) => month.hostLines[name] * usage.executions[name])
  const hostBytes = sumOf((name) => usage.executions[name]) * assumed.hostLinesBytes
  const polls = monthSeconds / assumed.queuePollSeconds
  return {
    groups: [group(usage, 'relay'), group(usage, 'wake'), group(usage, 'sweep')],
    tableOperations: usage.tableOperations,
    queueOperations: usage.queueOperations + polls,
    blobWrites: usage.executions.sweep * assumed.blobWritesPerTimerRun,
    logBytes: rows * assumed.logRowBytes + usage.lineBytes + hostBytes,
    storedBytes: vms * (idle.storedBytes + (event?.storedBytes ?? 0) * keptMonths),
  }
}

function group({ executions, durations }: Usage, name: FunctionName): Group {
  const count = executions[name]
  return {
    executions: count,
    durationMs: count === 0 ? 0 : durations[name] / count,
    regular: name === 'sweep',
    processorMs: assumed.processorMs,
  }
}
