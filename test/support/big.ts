// The largest event about which Foghorn decides, and a large form of its record.
import type { EventRecord } from '../../functions/core/event/event.ts'
import type { Facts } from '../../functions/core/event/facts.ts'
import { addHistory } from '../../functions/core/event/history.ts'
import { toScope } from '../../functions/core/event/scope.ts'
import { maxVms } from '../../functions/core/limits.ts'
import { at, type Fields, facts, record } from './records.ts'

/** Names as long as Azure's may be, all different. `from` makes other names. */
export function bigNames(from = 0, count = maxVms, length = 64): string[] {
  return Array.from({ length: count }, (_, i) => `vm-${from + i}-`.padEnd(length, 'x'))
}

function bigFacts(from = 0): Facts {
  return facts({ resources: bigNames(from), description: 'd'.repeat(4_000) })
}

/** Approved, changed before, with a full history of long notes. */
export function bigRecord(changes: Fields = {}): EventRecord {
  const whole = bigFacts()
  let full = record({ facts: whole, ...changes })
  full.decided = {
    decision: 'approved',
    how: 'link',
    who: 'chat',
    at,
    scope: toScope(full),
  }
  const other = { ...full.decided, scope: toScope({ facts: bigFacts(1_000) }) }
  full.overruled = Array.from({ length: 10 }, () => other)
  full.changed = { at, names: ['resources'], from: { resources: bigNames(2_000) } }
  full = addHistory(full, { at, what: 'approved', note: 'link: chat' })
  for (let i = 0; i < 300; i++) {
    full = addHistory(full, { at: at + i, what: 'changed', note: `${i} `.padEnd(4_000, 'n') })
  }
  return full
}
