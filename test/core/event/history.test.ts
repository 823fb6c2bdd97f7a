// The history of an event keeps decisions, however much else happens.
import { describe, expect, test } from 'vitest'
import { decide } from '../../../functions/core/event/approval.ts'
import { withLease, withStartResult } from '../../../functions/core/event/directive.ts'
import {
  type EventRecord,
  type HistoryEntry,
  listDecisions,
  type OpenRecord,
} from '../../../functions/core/event/event.ts'
import { addHistory } from '../../../functions/core/event/history.ts'
import { at, record } from '../../support/records.ts'

const person = { how: 'entra', who: 'tenant/user' } as const
const said = ({ history }: EventRecord) => history.map(({ what }) => what)

function decided(start = record()): EventRecord {
  const declined = decide(start, { decision: 'declined', how: 'link', who: 'chat', at })
  if (declined.outcome !== 'decided') throw new Error(declined.outcome)
  const approved = decide(declined.record, { decision: 'approved', ...person, at: at + 1 })
  if (approved.outcome !== 'decided') throw new Error(approved.outcome)
  return approved.record
}

function flooded(start: EventRecord, count: number, whats: HistoryEntry['what'][]): EventRecord {
  let full = start
  for (let i = 0; i < count; i++) {
    full = addHistory(full, { at: at + 2 + i, what: whats[i % whats.length]!, note: `web_${i}` })
  }
  return full
}

describe('a record that is full', () => {
  test.each<[string, HistoryEntry['what'][]]>([
    ['beacons that fail', ['directed', 'start_failed']],
    ['a VM that flickers', ['gone', 'seen_again']],
    ['values that change', ['changed']],
    ['an event that comes back', ['cancelled', 'reopened']],
    ['reminders', ['reminder', 'stuck']],
  ])('keeps the first entry and both decisions through 1 000 entries of %s', (_, whats) => {
    const full = flooded(decided(), 1_000, whats)
    expect(full.history).toHaveLength(50)
    expect(said(full).slice(0, 3)).toEqual(['seen', 'declined', 'approved'])
    expect(full.history[2]).toEqual({ at: at + 1, what: 'approved', note: 'entra: tenant/user' })
    expect(full.history.at(-1)).toMatchObject({ at: at + 1_001 })
  })

  test('stays bounded through 1 000 attempts of beacons', () => {
    let full = decided()
    for (let i = 0; i < 1_000; i++) {
      const leased = withLease(full as OpenRecord, `id-${i}`, `web_${i}`, at + 10_000 * i)
      const failed = { eventId: full.eventId, ageMs: 0, outcome: 'rejected' as const, status: 400 }
      full = withStartResult(
        leased,
        { beacon: `id-${i}`, bootId: 'boot', vm: `web_${i}` },
        failed,
        at + 10_000 * i + 1,
      )!
    }
    const start = { eventId: full.eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }
    full = withStartResult(
      full,
      { beacon: 'id-999', bootId: 'boot', vm: 'web_999' },
      start,
      at + 1e8,
    )!
    expect(said(full).slice(0, 3)).toEqual(['seen', 'declined', 'approved'])
    expect(full.history.at(-1)).toEqual({ at: at + 1e8, what: 'azure_accepted', note: 'web_999' })
    expect(listDecisions(full).map(({ decision }) => decision)).toEqual(['declined', 'approved'])
  })

  test('repeated entries are cut before others', () => {
    const full = flooded(record(), 40, ['changed'])
    const both = flooded(full, 1_000, ['directed'])
    expect(said(both).filter((what) => what === 'changed')).toHaveLength(40)
  })

  test('decisions of rules are cut before decisions of people', () => {
    let full = decided()
    for (let i = 0; i < 1_000; i++) {
      full = addHistory(full, { at: at + 2 + i, what: 'approved', note: 'policy: short' })
    }
    expect(full.history).toHaveLength(50)
    expect(said(full).slice(0, 3)).toEqual(['seen', 'declined', 'approved'])
    expect(full.history[2]?.note).toBe('entra: tenant/user')
  })

  test('if only decisions of people are left, the oldest is cut', () => {
    let full = record()
    for (let i = 0; i < 1_000; i++) {
      full = addHistory(full, { at: at + i, what: 'declined', note: `link: ${i}` })
    }
    expect(full.history).toHaveLength(50)
    expect(full.history[0]).toEqual({ at, what: 'seen', note: 'web_0' })
    expect(full.history.at(-1)?.note).toBe('link: 999')
  })
})
