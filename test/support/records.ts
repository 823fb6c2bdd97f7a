// Values of the core for tests: a record, a delivery, a beacon and what it saw, each as usual as can be.

import type { Claimed, Delivery, Notification } from '../../functions/core/delivery/delivery.ts'
import type { Beacon } from '../../functions/core/event/beacon.ts'
import type {
  Ended,
  EventRecord,
  OpenRecord,
  Phase,
  StartedRecord,
} from '../../functions/core/event/event.ts'
import type { Facts } from '../../functions/core/event/facts.ts'
import { toScope } from '../../functions/core/event/scope.ts'
import { toShown } from '../../functions/core/event/shown.ts'
import type { Sight } from '../../functions/core/event/sight.ts'
import { toView } from '../../functions/core/event/view.ts'
import type { Commit } from '../../functions/store/store.ts'
import { event, eventId, startAt } from './world.ts'

export const key = { fleet: 'prod', eventId }
export const at = startAt

export function facts(changes: Partial<Facts> = {}): Facts {
  const { eventId: _id, status: _status, ...rest } = event()
  return { ...rest, ...changes }
}

/** The fields of a record, whatever its state. */
export type Fields = Omit<Partial<StartedRecord>, 'phase' | 'ended'> & {
  phase?: Phase
  ended?: Ended
}

export function record(changes: Fields = {}): EventRecord {
  return {
    ...key,
    epoch: 1,
    phase: 'scheduled',
    facts: facts(),
    firstSeenAt: at,
    policy: { decide: 'ask', rule: 'default' },
    sights: [],
    azure: {},
    wait: {},
    overruled: [],
    reminders: { passed: [] },
    history: [{ at, what: 'seen', note: 'web_0' }],
    sequence: 1,
    ...changes,
  } as EventRecord
}

/** The plan of a drill, where only that matters. */
export const aDrill = { impactSeconds: 60, vms: [] }

export function openRecord(changes: Omit<Fields, 'ended'> = {}): OpenRecord {
  return record(changes) as OpenRecord
}

export function notification(changes: Partial<Notification> = {}): Notification {
  return { moment: 'scheduled', at, event: toView(record()), ...changes }
}

/** What an approval of the usual event covers. */
export const scope = toScope(record())

export function delivery(id: string, changes: Partial<Delivery> = {}): Delivery {
  return {
    id,
    ...key,
    channel: 'chat',
    seq: 64,
    plannedAt: at,
    urgentUntil: at + 15 * 60_000,
    notification: notification(),
    state: 'pending',
    attempts: 0,
    nextAt: at,
    note: '',
    ...changes,
  }
}

export function claimed(id: string, changes: Partial<Claimed> = {}): Claimed {
  return { ...delivery(id, { attempts: 1 }), lease: 'lease', leaseUntil: at + 20_000, ...changes }
}

export function beaconOf(vm: string, changes: Partial<Beacon> = {}): Beacon {
  return {
    fleet: 'prod',
    beacon: `id-${vm}`,
    vm,
    resourceGroup: 'rg',
    scaleSet: '',
    tags: {},
    version: '0.1.0',
    bootId: `boot-of-${vm}`,
    bootHeardAt: at - 86_400_000,
    retiredBootIds: [],
    counter: 1,
    heardAt: at,
    polledAt: changes.heardAt ?? at,
    paceMs: 2_000,
    bootedAt: at - 86_400_000,
    sees: [eventId],
    ...changes,
  }
}

/** What the beacon of a VM last showed of the usual event. */
export function sight(vm: string, changes: Partial<Sight> = {}): Sight {
  return {
    ...{ beacon: `id-${vm}`, vm, resourceGroup: 'rg', scaleSet: '', tags: {} },
    ...{ bootId: `boot-of-${vm}`, counter: 1, heardAt: at, bootedAt: at - 86_400_000 },
    polledAt: changes.heardAt ?? at,
    firstSeenAt: at,
    shows: toShown(event()),
    ...(event().resources.includes(vm) && { isHit: true as const }),
    ...changes,
  }
}

/** A first commit of the record of `record`. */
export function commitOf(changes: Partial<Commit> = {}): Commit {
  return {
    record: record(),
    basedOn: 0,
    deliveries: [],
    moments: [],
    now: at,
    ...changes,
  }
}
