// Repairs values of a report that the schema accepts, but a store's key, a `Date` or an event's row
// cannot hold.
import type { ScheduledEvent } from '../../../shared/document.ts'
import type { Report } from '../../../shared/report.ts'
import { maxVms } from '../limits.ts'
import type { ShownEvent } from './facts.ts'

/** Characters of an event's names, as JSON. Azure's names have at most 64 characters, and a number. */
const maxNamesLength = 40_000
/** Characters of the workloads of one VM, as JSON. */
const maxWorkloadsLength = 1_000

export function tidyReport(report: Report): Report {
  const { document, beacon } = report
  return {
    ...report,
    vm: tidyVm(report.vm),
    beacon: {
      ...beacon,
      version: beacon.version.toWellFormed(),
      uptimeMs: Math.round(beacon.uptimeMs),
    },
    document: document && {
      ...document,
      ageMs: Math.round(document.ageMs),
      events: document.events.map(tidyEvent),
    },
    changes: report.changes.map(({ lastSeenAgeMs, ...change }) => ({
      ...change,
      ageMs: Math.round(change.ageMs),
      ...(lastSeenAgeMs === undefined ? {} : { lastSeenAgeMs: Math.round(lastSeenAgeMs) }),
      event: tidyEvent(change.event),
    })),
    starts: report.starts.map((start) => ({
      ...start,
      ageMs: Math.round(start.ageMs),
      eventId: start.eventId.toWellFormed(),
    })),
    ...(report.hooks === undefined ? {} : { hooks: tidyHooks(report.hooks) }),
  }
}

function tidyHooks({
  runs,
  node,
  workloads,
  ...hooks
}: NonNullable<Report['hooks']>): Report['hooks'] {
  const tidy = runs.map(({ note, eventType, ...run }) => ({
    ...run,
    ageMs: Math.round(run.ageMs),
    eventId: run.eventId.toWellFormed(),
    ...(note === undefined ? {} : { note: note.toWellFormed() }),
    ...(eventType === undefined ? {} : { eventType: eventType.toWellFormed() }),
  }))
  return {
    ...hooks,
    runs: tidy,
    ...(node && { node: node.toWellFormed() }),
    ...(workloads && { workloads: firstTexts(workloads) }),
  }
}

/** Half a character (a lone surrogate) changes in storage, and some channels reject it. */
export function tidyEvent(event: ScheduledEvent): ShownEvent {
  const { description, source } = event
  return {
    ...event,
    eventId: event.eventId.toWellFormed(),
    eventType: event.eventType.toWellFormed(),
    ...firstVms(event.resources.map((name) => name.toWellFormed())),
    ...(description === undefined ? {} : { description: description.toWellFormed() }),
    ...(source === undefined ? {} : { source: source.toWellFormed() }),
  }
}

/** Keeps the first workloads, as many as there is room for in the row of an event. */
function firstTexts(workloads: string[]): string[] {
  const tidy = workloads.map((one) => one.toWellFormed())
  while (measureLength(tidy) > maxWorkloadsLength) tidy.pop()
  return tidy
}

/** Names are sorted before they are cut, as documents may list the same VMs in another order. */
export function firstVms(names: string[]): Pick<ShownEvent, 'resources' | 'vmCount'> {
  if (names.length <= maxVms && measureLength(names) <= maxNamesLength) return { resources: names }
  const first = names.toSorted().slice(0, maxVms)
  while (measureLength(first) > maxNamesLength) first.pop()
  return { resources: first, vmCount: names.length }
}

function measureLength(names: string[]): number {
  return JSON.stringify(names).length
}

/** Repairs a VM's name as it repairs the names in events, because the relay compares them. */
function tidyVm(vm: Report['vm']): Report['vm'] {
  const tags = Object.entries(vm.tags).map(([name, value]) => [
    name.toWellFormed(),
    value.toWellFormed(),
  ])
  return {
    ...vm,
    name: vm.name.toWellFormed(),
    vmId: vm.vmId.toWellFormed(),
    subscriptionId: vm.subscriptionId.toWellFormed(),
    placementGroup: vm.placementGroup.toWellFormed(),
    zone: vm.zone.toWellFormed(),
    resourceGroup: vm.resourceGroup.toWellFormed(),
    scaleSet: vm.scaleSet.toWellFormed(),
    tags: Object.fromEntries(tags),
  }
}
