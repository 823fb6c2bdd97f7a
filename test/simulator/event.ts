// One event as the platform keeps it: its defaults, and when it next changes by itself. Pure.

import { ADVICE, type VisibleEvent } from './documents.ts'
import type { EventRequest } from './requests.ts'

const DEFAULT_IMPACT_SECONDS = 10
const DEFAULT_NOTICE_SECONDS = 900
const NOTICE_SECONDS: Record<string, number> = { Redeploy: 600, Preempt: 30, Terminate: 300 }

const DESCRIPTIONS: Record<string, string> = {
  Freeze: 'The virtual machine will pause for a few seconds while its host is serviced.',
  Reboot: 'The virtual machine will restart because its host needs maintenance.',
  Redeploy: 'The virtual machine will move to another host and lose its temporary disk.',
  Preempt: 'The Spot virtual machine will be evicted because its capacity is needed.',
  Terminate: 'The virtual machine will be deleted from its scale set.',
  [ADVICE]: 'The Spot virtual machine may be evicted soon.',
}

export interface FleetEvent extends VisibleEvent {
  resources: string[]
  description: string
  durationSeconds: number
  notBeforeAt: number
  approvedAt: number | null
  startedAt: number | null
  readonly impactMs: number
  readonly startDelayMs: number
  readonly takesVmDown: boolean
}

/** What truly happened, for a log or for a test that judges what others made of it. */
export interface Step {
  readonly at: number
  readonly tenant: string
  readonly eventId: string
  readonly step: 'scheduled' | 'changed' | 'approved' | 'started' | 'cancelled' | 'ended'
}

/** Started at NotBefore or by approval, whichever is first; then gone after the impact. */
export function transitionAt(event: FleetEvent): number {
  if (event.startedAt !== null) return event.startedAt + event.impactMs
  if (event.approvedAt === null) return event.notBeforeAt
  return Math.min(event.notBeforeAt, event.approvedAt + event.startDelayMs)
}

export function newEvent(
  id: string,
  type: string,
  resources: readonly string[],
  request: EventRequest,
  now: number,
): FleetEvent {
  const noticeSeconds = request.noticeSeconds ?? NOTICE_SECONDS[type] ?? DEFAULT_NOTICE_SECONDS
  const atOnce = request.noticeSeconds === 0 || request.EventStatus === 'Started'
  return {
    id,
    type,
    resources: [...resources],
    source: request.EventSource ?? 'Platform',
    description: request.Description ?? DESCRIPTIONS[type] ?? `The platform announces: ${type}.`,
    durationSeconds: request.DurationInSeconds ?? -1,
    notBeforeAt: request.NotBefore ? Date.parse(request.NotBefore) : now + noticeSeconds * 1000,
    approvedAt: null,
    startedAt: atOnce ? now : null,
    impactMs: (request.impactSeconds ?? DEFAULT_IMPACT_SECONDS) * 1000,
    startDelayMs: request.startDelayMs ?? 0,
    takesVmDown: request.takesVmDown ?? false,
  }
}
