// Keeps an event small enough for its row: what the history takes, and what is cut if it is full.
import { cut } from '../../../shared/text.ts'
import { maxEventLength } from '../limits.ts'
import type { Decider, EventRecord, HistoryEntry } from './event.ts'
import { isAffected } from './sight.ts'

const maxHistory = 50
/** Characters. Long lists of VMs are in the facts. */
const maxNoteLength = 300
/** Entries that repeat while an approval is stuck, a document flickers or a person presses again. */
const repetitive: HistoryEntry['what'][] = [
  'directed',
  'start_failed',
  'gone',
  'seen_again',
  'taken',
  'given_back',
]
const decisive: HistoryEntry['what'][] = ['approved', 'declined', 'expired', 'azure_accepted']
const byRule = 'policy: '

/** How and by whom an event was decided: `slack: T0ACME/U0ADA (Ada Chen)`, `policy: short freeze`. */
export function decisionNote({ how, who, name }: Decider): string {
  const called = name === undefined ? '' : ` (${name})`
  return how === 'policy' ? `${byRule}${who}` : `${how}: ${who}${called}`
}

/** How important an entry is. */
function weighEntry({ what, note }: HistoryEntry): number {
  if (repetitive.includes(what)) return 0
  if (!decisive.includes(what)) return 1
  return note?.startsWith(byRule) ? 2 : 3
}

/** The entry to cut next: the oldest of the least important ones, but never the first. */
function leastValuable(history: HistoryEntry[]): number {
  const weights = history.slice(1).map(weighEntry)
  return 1 + weights.indexOf(Math.min(...weights))
}

function shortNote(entry: HistoryEntry): HistoryEntry {
  const { note } = entry
  return note === undefined ? entry : { ...entry, note: cut(note, maxNoteLength) }
}

/** Appends. If the history is full, cuts the least important entry, see `leastValuable`. */
export function addHistory<State extends EventRecord>(record: State, entry: HistoryEntry): State {
  const history = [...record.history, shortNote(entry)]
  while (history.length > maxHistory) history.splice(leastValuable(history), 1)
  return { ...record, history }
}

export function eventLength(event: EventRecord): number {
  return JSON.stringify(event).length
}

/** If there is no room for all sights, removes the largest, onlookers first. Their VMs are asked again. */
export function fitEvent(record: EventRecord): EventRecord {
  let over = eventLength(record) - maxEventLength
  if (over <= 0) return record
  const sized = record.sights.map((sight) => ({
    sight,
    length: JSON.stringify(sight).length + 1,
    isNeeded: isAffected(record.facts, sight),
  }))
  const byNeed = sized.sort(
    (a, b) => Number(a.isNeeded) - Number(b.isNeeded) || b.length - a.length,
  )
  const cut = new Set<EventRecord['sights'][number]>()
  for (const { sight, length } of byNeed) {
    if (over <= 0) break
    cut.add(sight)
    over -= length
  }
  return { ...record, sights: record.sights.filter((sight) => !cut.has(sight)) }
}
