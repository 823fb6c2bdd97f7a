import type { ScheduledEvent } from '../../shared/document.ts'

/** A reboot that hits vm1 an hour after the fake clock begins. */
export function anEvent(fields: Partial<ScheduledEvent> = {}): ScheduledEvent {
  return {
    eventId: 'e1',
    eventType: 'Reboot',
    status: 'Scheduled',
    resources: ['vm1'],
    notBeforeAt: Date.UTC(2026, 0, 1, 1),
    ...fields,
  }
}

/** What `/metadata/instance` says of a VM, with what no answer of Azure lacks. */
export function instanceOf(name: string): string {
  const compute = { name, vmId: `id-${name}`, resourceGroupName: 'rg', tagsList: [] }
  return JSON.stringify({ compute })
}
