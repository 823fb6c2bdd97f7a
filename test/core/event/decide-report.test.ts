// One report about one event: each row is a record, what a beacon reports, and what follows. The
// decision asks for facts one at a time, and only for those that it needs.
import { describe, expect, test } from 'vitest'
import { decideReport } from '../../../functions/core/event/decide-report.ts'
import type { Loaded } from '../../../functions/core/event/decision.ts'
import type { Verdict } from '../../../functions/core/event/event.ts'
import { readReport } from '../../../functions/core/event/reading.ts'
import type { ScheduledEvent } from '../../../shared/document.ts'
import { type Report, reportSchema } from '../../../shared/report.ts'
import {
  agreed,
  at,
  beaconOf,
  delivery,
  type Fields,
  observer,
  record,
  sighting,
} from '../../support/records.ts'
import { event, eventId, started } from '../../support/world.ts'

const minute = 60_000
const now = at + minute
const approved: Verdict = { decision: 'approved', how: 'link', who: 'chat', at, agreed }
const byRule: Verdict = {
  ...{ decision: 'approved', how: 'policy', who: 'short', at },
  agreed: { eventType: 'Reboot', resources: ['web_0'] },
}
const short = { decide: 'approve' as const, rule: 'short' }
const grown = event({ resources: ['web_0', 'db_0'] })

interface Row {
  before?: Fields
  shows: ScheduledEvent[]
  vm?: string
  /** The beacon has reported the event before. */
  isKnown?: boolean
  starts?: Report['starts']
  known?: Partial<Loaded>
}

/** Answers each need, and notes it. */
function decided({ before, shows, vm = 'web_0', isKnown = true, starts = [], known = {} }: Row) {
  const report = reportSchema.parse({
    ...{ version: 1, vm: { name: vm, vmId: vm, resourceGroup: 'rg' }, changes: [], starts },
    beacon: { version: 'test', bootId: `boot-of-${vm}`, counter: 2, uptimeMs: minute },
    document: { ageMs: 0, apiVersion: '2020-07-01', events: shows },
  })
  const beacon = beaconOf(vm, isKnown ? {} : { sees: [] })
  const sightings = isKnown ? [sighting(vm)] : []
  const reading = readReport('prod', `id-${vm}`, report, beacon, sightings, now)
  const news = reading.news.find((one) => one.eventId === eventId)!
  const answers: Loaded = {
    observers: [reading.asObserver(news)],
    deliveries: [delivery('a')],
    isWatched: false,
    room: { refusal: undefined },
    ...known,
  }
  const rules = { policy: [], routes: [{ match: {}, channels: ['chat'] }] }
  const context = { rules, reminders: [], listeningSince: 0 }
  const asked: (keyof Loaded)[] = []
  const open = before === undefined ? undefined : record(before)
  const frozen = JSON.stringify(open)
  for (;;) {
    const facts = Object.fromEntries(asked.map((need) => [need, answers[need]]))
    const decision = decideReport(open, { reading, news }, facts, context, now)
    expect(JSON.stringify(open)).toBe(frozen)
    if (!('needs' in decision)) return { ...decision, asked }
    expect(asked).not.toContain(decision.needs)
    asked.push(decision.needs)
  }
}

describe('a report', () => {
  test.each<[string, Row, object]>([
    [
      'of a new event',
      { shows: [event()], isKnown: false },
      { moments: ['scheduled'], reason: 'new', asked: ['room', 'observers'] },
    ],
    [
      'of a new event beyond the share',
      { shows: [event()], isKnown: false, known: { room: { refusal: 'too many' } } },
      { record: undefined, moments: [], reason: 'refused', refusal: 'too many', asked: ['room'] },
    ],
    [
      'that repeats what is known, of a VM that is not hit',
      { before: {}, shows: [event()], vm: 'web_1' },
      { moments: [], reason: 'watched', asked: [] },
    ],
    ['of a start', { before: {}, shows: [started()] }, { moments: ['started'], reason: 'started' }],
    [
      'of one more VM',
      { before: {}, shows: [grown] },
      {
        moments: ['changed'],
        reason: 'changed',
        record: { facts: { resources: ['web_0', 'db_0'] } },
      },
    ],
    [
      'of one more VM after the approval',
      { before: { verdict: byRule }, shows: [grown] },
      { moments: ['changed'], reason: 'lapsed', isDirected: false },
    ],
    [
      'after the approval',
      { before: { verdict: approved }, shows: [event()] },
      { moments: [], reason: 'directed', isDirected: true },
    ],
    [
      'that Azure was told',
      {
        before: {
          verdict: approved,
          directive: { beacon: 'id-web_0', vm: 'web_0', until: now, failed: false },
        },
        shows: [event()],
        starts: [{ eventId, ageMs: 0, outcome: 'accepted', status: 200 }],
      },
      { moments: [], reason: 'start_reported', isDirected: false },
    ],
    [
      'without the event',
      { before: {}, shows: [] },
      { moments: [], reason: 'gone', record: { gone: { firstAt: now } } },
    ],
    [
      'without the event, for longer than the settle time',
      {
        before: {
          phase: 'started',
          startedAt: at,
          gone: { firstAt: at, lastSeenAt: at, confirmAt: at },
        },
        shows: [],
        known: {
          observers: [observer('web_0', {}, { gone: { firstAt: at + 1, lastSeenAt: at } })],
        },
      },
      { moments: ['completed'], reason: 'completed' },
    ],
    [
      'of a hit VM that has not reported the event before',
      { before: {}, shows: [event()], isKnown: false },
      { moments: [], asked: ['observers', 'deliveries'] },
    ],
    [
      'of a hit VM whose channels have heard nothing yet',
      { before: {}, shows: [event()], isKnown: false, known: { deliveries: [] } },
      { moments: [], routed: ['scheduled'], reason: 'newly_routed' },
    ],
    [
      'about a drill',
      { before: { drill: true }, shows: [event()] },
      { record: undefined, moments: [], reason: 'relays_own' },
    ],
    [
      'of an event that has ended',
      {
        before: { phase: 'cancelled', ended: { at: now, outcome: 'cancelled' } },
        shows: [event()],
      },
      { moments: [], reason: 'nothing_new' },
    ],
  ])('%s', (_, row, expected) => {
    expect(decided(row)).toMatchObject(expected)
  })

  test('is approved by a rule only if all beacons agree', () => {
    const rules = { policy: short }
    const other = observer('web_1', { polledAt: now }, { event: event({ source: 'User' }) })
    const alone = decided({ before: rules, shows: [event()] })
    expect(alone.asked).toEqual(['observers'])
    const both = decided({ before: rules, shows: [event()], known: { observers: [other] } })
    expect(both.moments).not.toContain('approved')
  })
})
