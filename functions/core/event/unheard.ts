// Whether anybody can pass an approval on: a beacon that shows the event, or the relay itself through Azure. If all
// beacons that show it are silent, whoever decides must know that first.
import type { EventRecord, Unheard } from './event.ts'
import { heardAt, isAzure, isHeard, type Listening, type Sight, silentFrom } from './sight.ts'
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
    const heard = tellers(record).filter((one) => isHeard(one, listening))
    return heard.length === 0 ? never : Math.max(...heard.map((one) => silentFrom(one, listening)))
  },
}

/** Undefined if one of them is heard, or if the relay can tell Azure itself. */
function findUnheard(record: EventRecord, listening: Listening): Unheard | undefined {
  const all = tellers(record)
  if (all.length === 0 || all.some((one) => isHeard(one, listening))) return undefined
  const vms = [...new Map(all.map(({ vm }) => [vm.toLowerCase(), vm])).values()]
  const since = Math.max(...all.map((one) => heardAt(one, listening)))
  return { since, vms: vms.slice(0, maxNames), count: vms.length }
}

/** The beacons that show the event while it waits. None if Azure itself lists it: then the relay reads and tells Azure. */
function tellers({ phase, drill, azure, sights }: EventRecord): Sight[] {
  if (phase !== 'scheduled' || drill !== undefined || azure.outside !== undefined) return []
  return sights.filter((one) => !isAzure(one) && one.missing === undefined)
}
