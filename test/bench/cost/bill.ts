// From what a month asks of the relay to what it costs. Pure: figures in, figures out.
import { assumed, flex, storage } from './prices.ts'

/** A twelfth of a year. */
export const monthSeconds = (365.25 * 86_400) / 12

export interface Month {
  /** When they arrive in one pace, ms, ascending. */
  heartbeats: { paceMs: number; arrivalsMs: number[] }
  /**
   * Events of each tenant, one at a time, and when the requests of one begin, ms, ascending. Those
   * of different tenants come at any time.
   */
  events: { tenants: number; each: number; arrivalsMs: number[] }
  /** Other HTTP requests, which come at any time. */
  requests: number
  requestMs: number
  timerRuns: number
  timerMs: number
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

/**
 * Flex Consumption bills the time in which an instance executes anything. The timer has an instance
 * of its own: HTTP functions share theirs, and every other function is scaled for itself.
 */
export function flexBill(month: Month): Bill {
  const gb = assumed.flexMemoryMb / 1_024
  const { paceMs, arrivalsMs } = month.heartbeats
  const windowMs = Math.min(paceMs, billedMs(arrivalsMs, month.requestMs))
  const others = (month.requests + ofEvents(month)) / monthSeconds
  const inWindow = others + (windowMs === 0 ? 0 : arrivalsMs.length / (windowMs / 1_000))
  const share = windowMs / paceMs
  const active =
    // one instance is billed for the whole window
    share * (instancesFor(inWindow) === 1 ? 1 : activeInstances(inWindow, month.requestMs)) +
    (1 - share) * activeBetween(month, others)
  const timerSeconds = (month.timerRuns * Math.max(month.timerMs, flex.leastActiveMs)) / 1_000
  return billOf(month, (active * monthSeconds + timerSeconds) * gb)
}

/** How many instances are billed on average while no heartbeat comes. */
function activeBetween({ events, requests, requestMs }: Month, perSecond: number): number {
  if (instancesFor(perSecond) > 1) return activeInstances(perSecond, requestMs)
  const ofTenant = (events.each * billedMs(events.arrivalsMs, requestMs)) / 1_000 / monthSeconds
  const freeOfEvents = (1 - Math.min(1, ofTenant)) ** events.tenants
  return 1 - freeOfEvents * (1 - activeShare(requests / monthSeconds, requestMs))
}

/** How many instances are billed on average, if requests come independently of each other. */
function activeInstances(perSecond: number, durationMs: number): number {
  const instances = instancesFor(perSecond)
  return instances * activeShare(perSecond / instances, durationMs)
}

function instancesFor(perSecond: number): number {
  const cores = (assumed.flexMemoryMb / 1_024) * assumed.coresPerGb * assumed.fullLoad
  return Math.max(1, Math.ceil((perSecond * assumed.processorMs) / 1_000 / cores))
}

/**
 * What one instance is billed for executions that begin at these times. As the host counts:
 * executions that overlap are one, which is billed for a second at least, in steps of 100 ms. What
 * is billed already is not billed again.
 */
export function billedMs(startsMs: number[], durationMs: number): number {
  let total = 0
  let billedUntil = Number.NEGATIVE_INFINITY
  for (let i = 0; i < startsMs.length; i++) {
    const from = Math.max(startsMs[i]!, billedUntil)
    let end = startsMs[i]! + durationMs
    while (startsMs[i + 1]! < end) end = startsMs[++i]! + durationMs
    if (end <= from) continue
    const { leastActiveMs, stepMs } = flex
    const billed = Math.ceil(Math.max(end - from, leastActiveMs) / stepMs) * stepMs
    total += billed
    billedUntil = from + billed
  }
  return total
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

function requestsOf(month: Month): number {
  const { paceMs, arrivalsMs } = month.heartbeats
  return month.requests + ofEvents(month) + (arrivalsMs.length * monthSeconds * 1_000) / paceMs
}

function ofEvents({ events: { tenants, each, arrivalsMs } }: Month): number {
  return tenants * each * arrivalsMs.length
}

function billOf(month: Month, gbSeconds: number): Bill {
  const above = (amount: number, free: number) => Math.max(0, amount - free)
  const executions = requestsOf(month) + month.timerRuns
  const polls = monthSeconds / assumed.queuePollSeconds
  const parts = {
    time: above(gbSeconds, flex.freeGbSeconds) * flex.gbSecondUsd,
    executions: above(executions, flex.freeExecutions) * flex.executionUsd,
    storage: month.tableOperations * storage.tableOperationUsd + polls * storage.queueOperationUsd,
    rest: month.timerRuns * assumed.blobWritesPerTimerRun * storage.blobWriteUsd,
  }
  return { ...parts, total: Object.values(parts).reduce((sum, usd) => sum + usd, 0) }
}
