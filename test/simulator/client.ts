// A simulator over real HTTP for one test, and what a beacon or the control port may be asked of it. Events
// of such tests are far off, or due at once, so that nothing depends on how fast the machine is; where
// something has to happen first, the test waits for it.

import { onTestFinished } from 'vitest'
import type { EventsDocument } from './documents.ts'
import { type SimulatorOptions, startSimulator } from './simulator.ts'

/** The header without which IMDS refuses to answer. */
export const METADATA = { metadata: 'true' }

/** Two tenants: `web_0` and `web_1`, and `db_0`. It stops when the test is over. */
export async function start(options: Partial<SimulatorOptions> = {}) {
  const simulator = await startSimulator({ vms: [['web_0', 'web_1'], ['db_0']], ...options })
  onTestFinished(simulator.stop)
  const urlOf = (vm: string) => simulator.vms.find((one) => one.name === vm)!.url
  const events = (vm: string, init: RequestInit = {}, query = '?api-version=2020-07-01') =>
    fetch(`${urlOf(vm)}/metadata/scheduledevents${query}`, { headers: METADATA, ...init })
  const document = async (vm: string) => (await (await events(vm)).json()) as EventsDocument
  const approve = (vm: string, ...ids: string[]) =>
    events(vm, {
      method: 'POST',
      body: JSON.stringify({ StartRequests: ids.map((EventId) => ({ EventId })) }),
    })
  const instance = (
    vm: string,
    version: string,
    headers: Record<string, string> = METADATA,
    part = '',
  ) => fetch(`${urlOf(vm)}/metadata/instance${part}?api-version=${version}`, { headers })
  const control = async (method: string, path: string, body?: unknown) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const init = { method, ...(body !== undefined && { body: text }) }
    const response = await fetch(simulator.controlUrl + path, init)
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  return { simulator, urlOf, events, document, approve, instance, control }
}
