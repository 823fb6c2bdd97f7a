// Open events by fleet and scale set, and which events of one set are close together. Pure. If a
// message named the scale set of a VM, VMs whose names differ only in the number are of that set,
// too. Otherwise the name without its number is the name of the set.
import { isAdvice } from '../../../shared/document.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { EventRecord } from './event.ts'

/** Two events of one set clash if less than this time lies between them, and both interrupt for long. */
const closeMs = 30 * 60_000
/** A shorter pause interrupts nobody. */
const longMs = 60_000
/** The assumed duration of an event whose duration is unknown. */
const usualMs = 10 * 60_000

export interface Slot {
  record: EventRecord
  from: number
  to: number
  /** Azure gave no duration. */
  isGuess: boolean
  /** Another event of the same set comes close to it. */
  clashes: boolean
}

export interface Lane {
  fleet: string
  /** A scale set, or the common beginning of the VMs' names. */
  set: string
  slots: Slot[]
}

/** Advice has no time, and may never come true. */
export function buildLanes(records: EventRecord[], deliveries: Delivery[], now: number): Lane[] {
  const setOf = listSets(deliveries)
  const planned = records.filter(({ facts }) => !isAdvice(facts))
  const named = planned.flatMap((record) => {
    const sets = new Set(record.facts.resources.map((vm) => setOf(record.fleet, vm)))
    return buildLines([...sets]).map((set) => ({ record, set }))
  })
  const groups = Map.groupBy(named, ({ record, set }) => JSON.stringify([record.fleet, set]))
  const lanes = [...groups].map(([name, all]): Lane => {
    const [fleet, set] = JSON.parse(name) as [string, string]
    const slots = all.map(({ record }) => findSlot(record, now)).sort((a, b) => a.from - b.from)
    return { fleet, set, slots: withClashes(slots) }
  })
  const first = ({ slots }: Lane) => slots[0]!.from
  return lanes.sort((a, b) => first(a) - first(b) || (a.set < b.set ? -1 : 1))
}

/** An event of more sets than this has one line. */
const maxSets = 8

function buildLines(sets: string[]): string[] {
  if (sets.length === 0) return ['unnamed VMs']
  return sets.length > maxSets ? [`${sets[0]} and ${sets.length - 1} more`] : sets
}

function findSlot(record: EventRecord, now: number): Omit<Slot, 'clashes'> {
  const { started, facts } = record
  const { notBeforeAt, durationSeconds = -1 } = facts
  const isGuess = durationSeconds <= 0
  const lasts = isGuess ? usualMs : durationSeconds * 1_000
  if (started !== undefined)
    return { record, from: started.at, to: Math.max(now, started.at + lasts), isGuess }
  // from NotBefore on, it may start at any moment
  const from = Math.max(notBeforeAt ?? now, now)
  return { record, from, to: from + lasts, isGuess }
}

function withClashes(slots: Omit<Slot, 'clashes'>[]): Slot[] {
  return slots.map((slot, i) => ({
    ...slot,
    clashes: slots.some(
      (other, j) =>
        i !== j &&
        isLong(slot.record) &&
        isLong(other.record) &&
        other.from < slot.to + closeMs &&
        slot.from < other.to + closeMs,
    ),
  }))
}

function isLong({ facts: { eventType, durationSeconds = -1 } }: EventRecord): boolean {
  return durationSeconds > 0 ? durationSeconds * 1_000 > longMs : eventType !== 'Freeze'
}

function listSets(deliveries: Delivery[]): (fleet: string, vm: string) => string {
  const known = new Map<string, string>()
  for (const { fleet, notification } of deliveries) {
    for (const { name, scaleSet } of notification.event.vms ?? []) {
      if (scaleSet === undefined) continue
      known.set(JSON.stringify([fleet, name.toLowerCase()]), scaleSet)
      known.set(JSON.stringify([fleet, findFamily(name)]), scaleSet)
    }
  }
  const find = (fleet: string, name: string) => known.get(JSON.stringify([fleet, name]))
  return (fleet, vm) =>
    find(fleet, vm.toLowerCase()) ?? find(fleet, findFamily(vm)) ?? findFamily(vm)
}

/** `web_12` and `web-3` are `web`. A name without a number stays as it is. */
function findFamily(vm: string): string {
  return vm.toLowerCase().replace(/[_-]?\d+$/, '') || vm.toLowerCase()
}
