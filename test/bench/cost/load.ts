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
  hostLines: number
}

export function loadOf(idle: Idle, month: Month): Load {
  const { vms, heartbeatMs = idlePaceMs, timerMs = timerEveryMs, event } = month
  const times = (everyMs: number) => (monthSeconds * 1_000) / everyMs
  const usage = combine(
    [vms * times(heartbeatMs), idle.heartbeat],
    [times(timerMs), idle.timer],
    ...(event === undefined ? [] : [[vms, event] as [number, Usage]]),
  )
  const { relay, wake, sweep } = usage.executions
  const rows = usage.lines + month.hostLines * (relay + wake + sweep)
  const hostBytes = month.hostLines > 0 ? (relay + wake + sweep) * assumed.hostLinesBytes : 0
  const polls = monthSeconds / assumed.queuePollSeconds
  return {
    groups: [group(usage, 'relay'), group(usage, 'wake'), group(usage, 'sweep')],
    tableOperations: usage.tableOperations,
    queueOperations: usage.queueOperations + polls,
    blobWrites: sweep * assumed.blobWritesPerTimerRun,
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
