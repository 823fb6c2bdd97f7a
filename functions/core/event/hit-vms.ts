// The extent of an event: what the relay knows of the affected VMs, and how many others see it. Facts
// about a VM come from its own beacons. If there is not enough room, tags are cut first, then the last
// VMs.

import { maxOnlookers } from '../limits.ts'
import { knownVms } from './drill.ts'
import type { EventRecord } from './event.ts'
import type { VmState } from './hook-state.ts'
import { byName, judgeReadiness } from './readiness.ts'
import { type Inventory, isAffected, isAzure, type KnownVm, type Listening } from './sight.ts'

/** Bytes of all VMs in one message, as JSON. The body of a webhook has 20 kB for everything. */
export const maxMessageVmBytes = 8_000
/** Bytes of all VMs in the API's answer for one event, as JSON. */
export const maxAnswerVmBytes = 500_000

/** Unknown fields are absent. */
export interface HitVm {
  name: string
  vmId?: string
  subscriptionId?: string
  resourceGroup?: string
  scaleSet?: string
  placementGroup?: string
  zone?: string
  /** Empty if the VM has none. Absent if they are unknown or were cut. */
  tags?: Record<string, string>
  /** The name of the VM's Kubernetes node. */
  node?: string
  /** What the node ran. Absent if unknown or cut. */
  workloads?: string[]
  /** Only if the event has a summary of readiness. */
  readiness?: VmState
}

export interface Extent {
  /** How many VMs see the event without being hit. Absent if there may be more. */
  spared?: number
  /** Facts about affected VMs, cut to a limit. Absent if there are none. */
  vms?: HitVm[]
}

/** What a VM gets if there is room left, in this order. */
type Extra = Pick<HitVm, 'tags'> | Pick<HitVm, 'workloads'>

interface Found {
  vm: HitVm
  extras: Extra[]
}

/**
 * The affected VMs of which more than the name is known, in the order of the event, as many as fit.
 * If there is room left, adds workloads and tags, from the first VM on.
 */
export function hitVms(record: EventRecord, listening: Listening, maxBytes: number): HitVm[] {
  const { resources } = record.facts
  const named = record.drill ? assumed(record) : byName(record)
  const outside = outsideVms(record)
  const states = record.wait.readiness === undefined ? [] : judgeReadiness(record, listening)
  const found: Found[] = []
  let left = maxBytes
  for (const [i, name] of resources.entries()) {
    const lower = name.toLowerCase()
    const own = named.get(lower) ?? []
    const known = own.length > 0 ? own : (outside.get(lower) ?? [])
    const readiness = states[i]?.state
    const vm = { name, ...listAgreedFacts(known), ...(readiness && { readiness }) }
    const extras = listExtras(known)
    if (extras.length === 0 && Object.keys(vm).length === 1) continue
    left -= countBytes(vm)
    if (left < 0) break
    found.push({ vm, extras })
  }
  return withExtras(found, left)
}

/** Adds extras while there is room. If not all VMs fit, no VM gets any. */
function withExtras(found: Found[], bytes: number): HitVm[] {
  let left = bytes
  return found.map(({ vm, extras }) => {
    let whole = vm
    for (const extra of extras) {
      if (left >= 0) left -= countBytes(extra)
      if (left >= 0) whole = { ...whole, ...extra }
    }
    return whole
  })
}

/** If the event is a drill, the drill's plan describes the VMs. */
function assumed(record: EventRecord): Map<string, Known[]> {
  return Map.groupBy(knownVms(record), ({ vm }) => vm.toLowerCase())
}

/** What Azure's inventory says of VMs. */
function outsideVms({ azure: { outside } }: EventRecord): Map<string, Known[]> {
  const { subscriptionId } = outside?.resource ?? {}
  const vms = outside?.vms ?? []
  return new Map(vms.map((vm) => [vm.vm.toLowerCase(), [{ ...vm, subscriptionId } as Known]]))
}

type Known = KnownVm & Inventory

const places = [
  ...(['subscriptionId', 'resourceGroup', 'scaleSet', 'placementGroup', 'zone', 'node'] as const),
]

/** If two beacons report for this name, only the facts on which they agree. */
function listAgreedFacts(beacons: Known[]): Omit<HitVm, 'name' | 'tags' | 'workloads'> {
  const facts = {
    vmId: agreed(beacons.map((one) => one.vmId)),
    ...Object.fromEntries(places.map((place) => [place, agreed(beacons.map((one) => one[place]))])),
  }
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined))
}

function agreed(values: (string | undefined)[]): string | undefined {
  const [known, ...others] = new Set(values.filter((value) => value !== undefined && value !== ''))
  return others.length === 0 ? known : undefined
}

/** If two beacons report for this name, only what they agree on. */
function listExtras(beacons: Known[]): Extra[] {
  const [first] = beacons
  const isAgreed = (pick: (one: Known) => unknown) =>
    new Set(beacons.map((one) => JSON.stringify(pick(one)))).size === 1
  if (first === undefined) return []
  const { tags, workloads } = first
  return [
    ...(workloads !== undefined && isAgreed((one) => one.workloads) ? [{ workloads }] : []),
    ...(isAgreed((one) => one.tags) ? [{ tags }] : []),
  ]
}

/** Bytes of a value with its comma. */
function countBytes(value: object): number {
  return new TextEncoder().encode(JSON.stringify(value)).length + 1
}

/** VMs that are not hit report some seconds later. An earlier count would be too low. */
const countedAfterMs = 10_000

/**
 * How many VMs see the event without being affected. Undefined while VMs are still reporting, for a
 * drill, and if there may be more than have a sight.
 */
function sparedBy(record: EventRecord, now: number): number | undefined {
  const { facts, sights, firstSeenAt, drill } = record
  if (now - firstSeenAt < countedAfterMs || drill || sights.length === 0) return undefined
  // affected VMs without a name here count as onlookers
  if (facts.vmCount !== undefined) return undefined
  const beacons = sights.filter((one) => !isAzure(one))
  const onlookers = beacons.filter((one) => !isAffected(facts, one))
  if (onlookers.length >= maxOnlookers) return undefined
  const names = onlookers.map(({ resourceGroup, vm }) => `${resourceGroup}/${vm}`.toLowerCase())
  return new Set(names).size
}

/** Describes the extent of an event for messages and the API. `maxVmBytes` limits its facts about VMs. */
export function describeExtent(
  record: EventRecord,
  listening: Listening,
  maxVmBytes: number,
): Extent {
  const spared = sparedBy(record, listening.now)
  const vms = hitVms(record, listening, maxVmBytes)
  return {
    ...(spared === undefined ? {} : { spared }),
    ...(vms.length === 0 ? {} : { vms }),
  }
}
