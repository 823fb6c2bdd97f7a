// The fleet of the tests of the model, under a virtual clock: every test sets the time itself.

import type { EventsDocument } from './documents.ts'
import type { Step } from './event.ts'
import { Fleet } from './fleet.ts'
import type { EventRequest } from './requests.ts'

export const T0 = Date.parse('2026-03-02T10:00:00Z')
export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const ID = '7d1f0c52-52a5-4a3c-9a35-0c1d8c1a2b3e'

/** Its two tenants have `web_0`, `web_1` and `web_10`, and `db_0`. */
export function newFleet() {
  const steps: Step[] = []
  const fleet = new Fleet([['web_0', 'web_1', 'web_10'], ['db_0']], {
    firstGetMs: 50,
    onStep: (step) => steps.push(step),
  })
  const create = (request: EventRequest = {}, id = ID) => fleet.createEvent(id, request, T0)
  const seen = (vm = 'web_0') => fleet.document(vm) as EventsDocument
  const status = (vm = 'web_0') => seen(vm).Events[0]?.EventStatus ?? 'gone'
  return { fleet, steps, create, seen, status }
}
