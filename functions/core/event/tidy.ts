// Repairs values of a report that the schema accepts, but a store's key, a `Date` or an event's row
// cannot hold.
import type { ScheduledEvent } from '../../../shared/document.ts'
import type { Report } from '../../../shared/report.ts'
import { namesThatFit } from './vm-names.ts'

/** Beyond this time, `Date` throws. */
const latestTime = 8.64e15

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

function tidyHooks({ runs, ...hooks }: NonNullable<Report['hooks']>): Report['hooks'] {
  const tidy = runs.map(({ note, eventType, ...run }) => ({
    ...run,
    ageMs: Math.round(run.ageMs),
    eventId: run.eventId.toWellFormed(),
    ...(note === undefined ? {} : { note: note.toWellFormed() }),
    ...(eventType === undefined ? {} : { eventType: eventType.toWellFormed() }),
  }))
  return { ...hooks, runs: tidy }
}

/** Half a character (a lone surrogate) changes in storage, and some channels reject it. */
function tidyEvent({ notBeforeAt, ...event }: ScheduledEvent): ScheduledEvent {
  const known = notBeforeAt !== undefined && Math.abs(notBeforeAt) <= latestTime
  const { description, source } = event
  return {
    ...event,
    eventId: event.eventId.toWellFormed(),
    eventType: event.eventType.toWellFormed(),
    resources: namesThatFit(event.resources.map((name) => name.toWellFormed())),
    ...(description === undefined ? {} : { description: description.toWellFormed() }),
    ...(source === undefined ? {} : { source: source.toWellFormed() }),
    ...(known ? { notBeforeAt } : {}),
  }
}

/** The same repair, as names of VMs are compared with those in events. */
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
