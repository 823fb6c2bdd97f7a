// The largest event that a fleet may report, and a large form of its record.
import { agreedOf } from '../../functions/core/event/agreed.ts'
import type { EventRecord, Facts } from '../../functions/core/event/event.ts'
import { addHistory } from '../../functions/core/event/history.ts'
import { at, type Fields, facts, record } from './records.ts'

/** 1 000 names of 256 characters each, all different. `from` makes other names. */
export function bigNames(from = 0, count = 1_000, length = 256): string[] {
  return Array.from({ length: count }, (_, i) => `vm-${from + i}-`.padEnd(length, 'x'))
}

/** As many and as long as Azure's may be. */
export function azureNames(from = 0, count = 1_000): string[] {
  return bigNames(from, count, 64)
}

export function bigFacts(from = 0): Facts {
  return facts({ resources: bigNames(from), description: 'd'.repeat(4_000) })
}

/** Approved, changed before, with a full history of long notes. */
export function bigRecord(changes: Fields = {}): EventRecord {
  const whole = bigFacts()
  let full = record({ facts: whole, ...changes })
  full.verdict = {
    decision: 'approved',
    how: 'link',
    who: 'chat',
    at,
    agreed: agreedOf(full, false),
  }
  full.overruled = { ...full.verdict, agreed: agreedOf({ facts: bigFacts(1_000) }, false) }
  full.changedFrom = { resources: bigNames(2_000) }
  full = addHistory(full, { at, what: 'approved', note: 'link: chat' })
  for (let i = 0; i < 300; i++) {
    full = addHistory(full, { at: at + i, what: 'changed', note: `${i} `.padEnd(4_000, 'n') })
  }
  return full
}
