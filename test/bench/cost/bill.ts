// From what a month asks of the relay to what it costs. Pure: figures in, figures out.
import { assumed, consumption, flex, storage } from './prices.ts'

/** A twelfth of a year. */
export const monthSeconds = (365.25 * 86_400) / 12

export interface Month {
  /** HTTP requests and wake-ups, which come at any time. */
  requests: number
  requestMs: number
  timerRuns: number
  tableOperations: number
}

/** USD a month. */
export interface Bill {
  time: number
  executions: number
  storage: number
  rest: number
  total: number
}

/** Flex Consumption bills the time in which an instance executes anything, at least a second at once. */
export function flexBill(month: Month): Bill {
  const gb = assumed.flexMemoryMb / 1_024
  const perSecond = month.requests / monthSeconds
  const cores = gb * assumed.coresPerGb * assumed.fullLoad
  const instances = Math.max(1, Math.ceil((perSecond * assumed.processorMs) / 1_000 / cores))
  const share = activeShare(perSecond / instances, month.requestMs)
  const activeSeconds = instances * share * monthSeconds
  const timerSeconds = (month.timerRuns * flex.leastActiveMs) / 1_000
  return billOf(month, (activeSeconds + timerSeconds) * gb, flex)
}

/** The old plan bills every execution for itself. */
export function consumptionBill(month: Month): Bill {
  const ms = Math.max(consumption.leastMs, month.requestMs)
  const seconds = ((month.requests + month.timerRuns) * ms) / 1_000
  return billOf(month, seconds * (assumed.consumptionMemoryMb / 1_024), consumption)
}

/**
 * Share of the time that an instance is billed when requests come independently of each other, as
 * those of many beacons do. A billed second is followed by another one if a request is under way at
 * its end, and otherwise by a wait for the next request.
 */
export function activeShare(perSecond: number, durationMs: number): number {
  const busy = perSecond * (flex.leastActiveMs / 1_000)
  return busy / (busy + Math.exp((-perSecond * durationMs) / 1_000))
}

function billOf(month: Month, gbSeconds: number, plan: typeof flex | typeof consumption): Bill {
  const above = (amount: number, free: number) => Math.max(0, amount - free)
  const executions = month.requests + month.timerRuns
  const polls = monthSeconds / assumed.queuePollSeconds
  const parts = {
    time: above(gbSeconds, plan.freeGbSeconds) * plan.gbSecondUsd,
    executions: above(executions, plan.freeExecutions) * plan.executionUsd,
    storage: month.tableOperations * storage.tableOperationUsd + polls * storage.queueOperationUsd,
    rest: month.timerRuns * assumed.blobWritesPerTimerRun * storage.blobWriteUsd,
  }
  return { ...parts, total: Object.values(parts).reduce((sum, usd) => sum + usd, 0) }
}
