// Whether anybody can pass an approval on: a beacon that shows the event, or the relay itself through Azure. If all
// beacons that show it are silent, people must know that before they decide.
import type { EventRecord, Unheard } from './event.ts'
import {
  heardAt,
  isAzure,
  isElsewhere,
  isHeard,
  isSeeing,
  type Listening,
  type Sight,
  silentFrom,
} from './sight.ts'
import { inert, never, type Stage } from './stage.ts'

/** Names for a sentence. */
const maxNames = 5

export const unheard: Stage = {
  ...inert,
  step(life, { listening }) {
    const { unheard: before, ...record } = life.record
    const found = findUnheard(life.record, listening)
    if (JSON.stringify(found) === JSON.stringify(before)) return life
    const next = found === undefined ? record : { ...life.record, unheard: found }
    return { ...life, record: next as typeof life.record }
  },
  nextAt(record, { listening }) {
    const seeing = tellers(record).filter((one) => isSeeing(one, listening))
    return seeing.length === 0 ? never : Math.max(...seeing.map((one) => blindFrom(one, listening)))
  },
}

/** Undefined if one of them sees the event, or if the relay can tell Azure itself. */
function findUnheard(record: EventRecord, listening: Listening): Unheard | undefined {
  const all = tellers(record)
  // a VM that restarts is silent, too
  if ((record.facts.notBeforeAt ?? never) <= listening.now) return undefined
  if (all.length === 0 || all.some((one) => isSeeing(one, listening))) return undefined
  const vms = [...new Map(all.map(({ vm }) => [vm.toLowerCase(), vm])).values()]
  const heard = all.filter((one) => isHeard(one, listening))
  const since = Math.max(
    ...(heard.length > 0
      ? heard.map(({ polledAt }) => polledAt)
      : all.map((one) => heardAt(one, listening))),
  )
  const found = { since, vms: vms.slice(0, maxNames), count: vms.length }
  return heard.length > 0 ? { ...found, isBlind: true } : found
}

/** When a beacon no longer sees, unless it reports a new document. */
function blindFrom(one: Sight, listening: Listening): number {
  const polledAt = Math.max(one.polledAt, listening.listeningSince)
  return Math.min(silentFrom(one, listening), silentFrom({ ...one, heardAt: polledAt }, listening))
}

/** The beacons that show the event while it waits. None if Azure itself lists it: then the relay reads and tells Azure. */
function tellers({ phase, drill, azure, sights, facts }: EventRecord): Sight[] {
  const canRelay = azure.outside?.listed === true
  const waits = phase === 'scheduled' && drill === undefined && azure.accepted === undefined
  if (!waits || canRelay) return []
  return sights.filter(
    (one) => !isAzure(one) && one.missing === undefined && !isElsewhere(facts, one),
  )
}
