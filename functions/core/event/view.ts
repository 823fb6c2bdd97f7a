// An event as messages, pages and the API show it.
import type { EventRecord } from './event.ts'
import type { HitVm } from './hit-vms.ts'

/** The part of a record that a message may need. */
export type EventView = Omit<
  EventRecord,
  ('watchers' | 'history' | 'lookAt' | 'dueAt' | 'directive' | 'drillPlan' | 'heard') | 'onlyBeacon'
> & {
  /** How many VMs see the event without being hit. Absent while they are still reporting. */
  spared?: number
  /** Facts about affected VMs. Only in messages, cut to a limit. Absent if there are none. */
  vms?: HitVm[]
  /** Made up for a test of a subscription. */
  test?: true
}

export function viewOf(record: EventRecord): EventView {
  const { watchers: _w, history: _h, dueAt: _d, directive: _l, drillPlan: _p, ...rest } = record
  const { heard: _h2, onlyBeacon: _o, lookAt: _a, ...view } = rest
  return view
}
