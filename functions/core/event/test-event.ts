// A made-up event, so that the owner of a stored channel sees what its endpoint will get. It exists
// only in its message: no store, page or stream has it.
import { testPrefix } from '../../../shared/document.ts'
import { type Decided, type EventRecord, fresh, withEnd } from './event.ts'
import { type Moment, moments } from './moment.ts'
import { type EventView, toView } from './view.ts'

const second = 1_000
const minute = 60 * second

/** Time from the first sight of the event to NotBefore. */
const noticeMs = 15 * minute
const startsMs = 2 * minute
/** No VM has this name, so a receiver that overlooks `test` finds nothing to drain. */
const vm = 'foghorn-test-vm'

interface TestWish {
  fleet: string
  eventType: string
  /** Different for each test. */
  id: string
  moment: Moment
}

/** The event as it is at this moment. */
export function testEvent({ fleet, eventType, id, moment }: TestWish, now: number): EventView {
  const firstSeenAt = now - ageMs(moment)
  const facts = {
    eventType,
    source: 'Platform',
    resources: [vm],
    durationSeconds: -1,
    notBeforeAt: firstSeenAt + noticeMs,
    description: 'A test of Foghorn. No VM is affected.',
  }
  const scheduled: EventRecord = {
    ...fresh,
    fleet,
    eventId: `${testPrefix}${id}`,
    epoch: 1,
    sequence: moments.indexOf(moment) + 1,
    facts,
    firstSeenAt,
    phase: 'scheduled',
    sights: [],
    history: [],
  }
  const isNew = moment === 'scheduled'
  return {
    ...toView(eventAfter(scheduled, moment, now)),
    ...(isNew ? {} : { spared: 11 }),
    vms: [{ name: vm, resourceGroup: 'foghorn-test', zone: '1', tags: { purpose: 'test' } }],
    test: true,
  }
}

/** How long after its first sight the event comes to this moment. */
function ageMs(moment: Moment): number {
  if (moment === 'scheduled') return 0
  if (moment === 'started') return startsMs
  return moment === 'completed' || moment === 'lost' ? noticeMs + 2 * minute : 5 * minute
}

function eventAfter(record: EventRecord, moment: Moment, now: number): EventRecord {
  const approved = byTest('approved', record.firstSeenAt + minute)
  const startedAt = record.firstSeenAt + startsMs
  const azure = { accepted: { vm: 'foghorn-test-onlooker', at: startedAt - 5 * second } }
  const started = {
    ...record,
    decided: approved,
    phase: 'started' as const,
    started: { at: startedAt },
    azure,
  }
  switch (moment) {
    case 'scheduled':
      return record
    case 'changed': {
      const { notBeforeAt = now } = record.facts
      return { ...record, facts: { ...record.facts, notBeforeAt: notBeforeAt + 60 * minute } }
    }
    case 'not_ready': {
      const failed = { vm, state: 'failed' as const, since: now, exitCode: 3, note: 'still in use' }
      return {
        ...record,
        policy: { decide: 'ask', rule: 'test', whenReady: true },
        wait: {
          readiness: { counts: { failed: 1 }, unready: [failed] },
          notReady: { at: now, rule: 'test', why: 'cannot_be_ready' },
        },
      }
    }
    case 'reminder':
      return {
        ...record,
        reminders: { passed: [], last: { beforeSeconds: 600, due: [600], late: false } },
      }
    case 'approved':
      return { ...record, decided: byTest('approved', now) }
    case 'declined':
      return { ...record, decided: byTest('declined', now) }
    case 'stuck':
      return { ...record, decided: approved, azure: { stuckAt: now } }
    case 'started':
      return started
    case 'completed':
      return withEnd(started, { at: now, outcome: 'completed' })
    case 'cancelled':
      return withEnd(record, { at: now, outcome: 'cancelled', inferred: 'gone_before_its_time' })
    case 'lost':
      return withEnd(record, { at: now, outcome: 'lost', inferred: 'nobody_left_to_see' })
  }
}

function byTest(decision: Decided['decision'], at: number): Decided {
  return { decision, how: 'link', who: 'foghorn-test', at }
}
