// What Azure publishes of events outside the VMs: a row of Resource Graph, and that of Event Grid, which
// sends it as a CloudEvent or in its own schema.

/** Of one event, as Azure has it. */
export interface Publication {
  eventId: string
  /** Such as `virtualMachineScaleSets/web`. */
  resource: string
  subscription: string
  resourceGroup?: string
  type?: string
  status?: 'Scheduled' | 'Started' | 'Completed' | 'Canceled'
  vms?: string[]
  /** Epoch ms. */
  notBeforeAt?: number
  source?: string
  durationSeconds?: number
  /** Epoch ms: when it became so. */
  at: number
}

export function rowOf(one: Publication) {
  const { eventId, resource, subscription, resourceGroup = 'rg' } = one
  const { type = 'Reboot', status = 'Scheduled', vms = ['web_0'], notBeforeAt } = one
  const { source = 'Platform', durationSeconds = 9 } = one
  return {
    id:
      `/subscriptions/${subscription}/resourcegroups/${resourceGroup}/providers/Microsoft.Compute/` +
      `${resource}/providers/Microsoft.Maintenance/scheduledevents/${eventId}`,
    location: 'westeurope',
    properties: {
      EventId: eventId,
      EventType: type,
      EventStatus: status,
      EventSource: source,
      // Azure leaves it empty once it has started
      NotBefore: status === 'Scheduled' && notBeforeAt ? new Date(notBeforeAt).toUTCString() : '',
      Description: 'Host maintenance.',
      DurationInSeconds: durationSeconds,
      ResourceType: 'VirtualMachine',
      Resources: vms,
    },
  }
}

/** `data` of a notification. */
function dataOf(one: Publication) {
  const { id, location, properties } = rowOf(one)
  return {
    resourceInfo: {
      id,
      name: one.eventId,
      type: 'Microsoft.Maintenance/scheduledEvents',
      location,
      properties,
    },
    operationalInfo: { resourceEventTime: new Date(one.at).toISOString() },
    apiVersion: '2023-10-01-preview',
  }
}

const type = 'Microsoft.ResourceNotifications.MaintenanceResources.ScheduledEventEmitted'

export function cloudEvent(one: Publication) {
  return {
    specversion: '1.0',
    id: crypto.randomUUID(),
    source: `/subscriptions/${one.subscription}`,
    subject: rowOf(one).id,
    type,
    time: new Date(one.at).toISOString(),
    data: dataOf(one),
  }
}

export function gridEvent(one: Publication) {
  return {
    id: crypto.randomUUID(),
    topic: `/subscriptions/${one.subscription}`,
    subject: rowOf(one).id,
    eventType: type,
    eventTime: new Date(one.at).toISOString(),
    data: dataOf(one),
    dataVersion: '1',
    metadataVersion: '1',
  }
}
