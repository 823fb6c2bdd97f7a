// What a month of heartbeats costs on Cloudflare. Pure: figures in, figures out.
import { monthSeconds } from './bill.ts'
import { cloudflare } from './prices.ts'

/** USD a month. */
export interface WorkersBill {
  plan: number
  requests: number
  duration: number
  rows: number
  total: number
}

/** Each VM sends a heartbeat every so many minutes, and the cron trigger runs once a minute. */
export function workersBill(vms: number, heartbeatMinutes: number): WorkersBill {
  const minutes = monthSeconds / 60
  const heartbeats = (vms * minutes) / heartbeatMinutes
  const requests = heartbeats + minutes
  const { worker, object, rowsOf } = cloudflare
  const rows = heartbeats * rowsOf.heartbeat + minutes * rowsOf.cron
  const parts = {
    plan: cloudflare.planUsd,
    requests:
      above(requests, worker.freeRequests) * worker.requestUsd +
      above(requests, object.freeRequests) * object.requestUsd,
    // as if it were in memory all the time, which is the most that it can be
    duration: above(monthSeconds * object.memoryGb, object.freeGbSeconds) * object.gbSecondUsd,
    rows: above(rows, object.freeRows) * object.rowUsd,
  }
  return { ...parts, total: Object.values(parts).reduce((sum, usd) => sum + usd, 0) }
}

function above(amount: number, free: number): number {
  return Math.max(0, amount - free)
}
