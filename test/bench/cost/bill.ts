// From a month's load to a month's bill. Pure: figures in, figures out.
import { assumed, monthSeconds } from './assumptions.ts'
import { activeShare, instancesFor } from './meter.ts'
import { consumption, flex, logs, storage } from './prices.ts'

/** Functions that share instances. On Flex Consumption all of HTTP does, and every other one has its own. */
export interface Group {
  executions: number
  /** Of one, on average. */
  durationMs: number
  /** By the clock, and never two at once; else they come whenever they come. */
  regular: boolean
  /** Processor time of one on one core. */
  processorMs: number
}

export interface Load {
  groups: Group[]
  tableOperations: number
  queueOperations: number
  blobWrites: number
  logBytes: number
  storedBytes: number
}

export interface Setup {
  memoryMb: number
  concurrency: number
  logCapGbADay: number
}

/** USD a month. */
export interface Bill {
  time: number
  executions: number
  storage: number
  logs: number
  rest: number
  total: number
}

export function flexBill(load: Load, setup: Setup): Bill {
  const gb = setup.memoryMb / 1_024
  const gbSeconds = sum(load.groups.map((group) => activeSeconds(group, setup) * gb))
  return billOf(load, setup, gbSeconds, flex)
}

/** Of all instances of a group. */
export function activeSeconds(group: Group, setup: Setup): number {
  const { executions, durationMs, processorMs } = group
  if (executions === 0) return 0
  if (group.regular) return (executions * Math.max(flex.leastActiveMs, durationMs)) / 1_000
  const perSecond = executions / monthSeconds
  const cores = (setup.memoryMb / 1_024) * assumed.coresPerGb * assumed.fullLoad
  const byProcessor = Math.ceil((perSecond * processorMs) / 1_000 / cores)
  const byRoom = instancesFor((perSecond * durationMs) / 1_000, setup.concurrency)
  const instances = Math.max(byProcessor, byRoom)
  return instances * activeShare(perSecond / instances, durationMs) * monthSeconds
}

/** The old plan bills every execution for itself. */
export function consumptionBill(load: Load, setup: Setup): Bill {
  const { leastMs, memoryStepMb } = consumption
  const memoryMb = Math.ceil(assumed.consumptionMemoryMb / memoryStepMb) * memoryStepMb
  const seconds = load.groups.map(({ executions, durationMs }) => {
    return (executions * Math.max(leastMs, Math.ceil(durationMs))) / 1_000
  })
  return billOf(load, setup, sum(seconds) * (memoryMb / 1_024), consumption)
}

function billOf(
  load: Load,
  setup: Setup,
  gbSeconds: number,
  plan: typeof flex | typeof consumption,
): Bill {
  const executions = sum(load.groups.map((group) => group.executions))
  const parts = {
    time: above(gbSeconds, plan.freeGbSeconds) * plan.gbSecondUsd,
    executions: above(executions, plan.freeExecutions) * plan.executionUsd,
    storage:
      load.tableOperations * storage.tableOperationUsd +
      load.queueOperations * storage.queueOperationUsd,
    logs: above(keptGb(load, setup), logs.freeGb) * logs.gbUsd,
    rest:
      load.blobWrites * storage.blobWriteUsd + (load.storedBytes / 1e9) * storage.tableGbMonthUsd,
  }
  return { ...parts, total: sum(Object.values(parts)) }
}

/** What the daily cap lets in: what is above it is lost, and not billed. */
export function keptGb(load: Load, { logCapGbADay }: Setup): number {
  return Math.min(load.logBytes / logs.gbBytes, (logCapGbADay * monthSeconds) / 86_400)
}

function above(amount: number, free: number): number {
  return Math.max(0, amount - free)
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
