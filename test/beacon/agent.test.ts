// The loops of the beacon: what is polled, reported and approved, and when.
import { describe, expect, test } from 'vitest'
import { openSpool } from '../../beacon/spool.ts'
import { vmSchema } from '../../shared/report.ts'
import { accepted, aDirective, failing, startBeacon } from './agent-world.ts'
import { anEvent } from './events.ts'
import { createFakeClock } from './fake-clock.ts'
import { createTestLog, temporaryDirectory } from './world.ts'

const failed = { kind: 'failed', reason: 'ECONNREFUSED' } as const

describe('polling', () => {
  test('goes on every second, whatever the relay does', async () => {
    const { clock, polledAt } = startBeacon({ reply: () => 'hang' })
    await clock.advance(5_500)
    expect(polledAt).toEqual([0, 1_000, 2_000, 3_000, 4_000, 5_000])
  })

  test('goes on while an approval hangs', async () => {
    const reply = () => accepted({ directives: [aDirective()] })
    const { clock, polledAt, approvals } = startBeacon({
      events: [anEvent()],
      approval: 'hang',
      reply,
    })
    await clock.advance(5_500)
    expect(approvals).toHaveLength(1)
    expect(polledAt).toHaveLength(6)
  })

  test('waits longer after failures; the last document stays, and its age grows', async () => {
    const { clock, polledAt, world, lastReport, log } = startBeacon({ events: [anEvent()] })
    await clock.advance(0)
    world.events = failing()
    await clock.advance(30_000)
    const gaps = polledAt.map((at, i) => at - (polledAt[i - 1] ?? 0)).slice(2)
    expect(gaps.slice(0, 4)).toEqual([1_000, 1_500, 3_000, 3_750])
    await clock.advance(570_000)
    expect(lastReport()).toMatchObject({ document: { ageMs: 600_000, events: [anEvent()] } })
    expect(log.named('event_gone')).toEqual([])
  })

  test('logs a failure once, and its end once', async () => {
    const { clock, world, log } = startBeacon()
    await clock.advance(0)
    world.events = failing()
    await clock.advance(60_000)
    expect(log.named('imds_failing')).toMatchObject([
      { endpoint: 'scheduledevents', reason: 'IMDS answered 503', status: 503, level: 'warn' },
    ])
    expect(log.named('imds_recovered')).toEqual([])
    world.events = []
    await clock.advance(60_000)
    expect(log.named('imds_failing')).toHaveLength(1)
    expect(log.named('imds_recovered')).toHaveLength(1)
  })

  test('does not call a fall back to an older version a failure', async () => {
    const { clock, log, polledAt } = startBeacon({ events: failing('fallback') })
    await clock.advance(3_000)
    expect(log.named('imds_failing')).toEqual([])
    expect(polledAt).toEqual([0, 1_000, 2_000, 3_000])
  })

  test('logs an oddity once, as long as it lasts', async () => {
    const { clock, world, log } = startBeacon({ oddities: ['strange'] })
    await clock.advance(3_000)
    world.oddities = ['strange', 'stranger']
    await clock.advance(3_000)
    const said = log.named('document_odd').map(({ oddity }) => oddity)
    expect(said).toEqual(['strange', 'stranger'])
  })
})

describe('entries that cannot be read', () => {
  const unreadable = (...samples: string[]) => ({ count: samples.length, samples })

  test('are counted in the report', async () => {
    const { clock, lastReport } = startBeacon({ unreadable: unreadable('a', 'b') })
    await clock.advance(3_000)
    expect(lastReport()?.document).toMatchObject({ events: [], unreadable: 2 })
  })

  test('are logged once, and again when they are others or can be read', async () => {
    const { clock, world, log } = startBeacon({ unreadable: unreadable('a') })
    await clock.advance(300_000)
    expect(log.named('entries_unreadable')).toMatchObject([{ count: 1, first: 'a' }])
    world.unreadable = unreadable('a', 'b')
    await clock.advance(100_000)
    world.unreadable = unreadable('c', 'b')
    await clock.advance(100_000)
    expect(log.named('entries_unreadable').map(({ count }) => count)).toEqual([1, 2, 2])
    expect(log.named('entries_readable')).toEqual([])
    world.unreadable = unreadable()
    await clock.advance(100_000)
    expect(log.named('entries_readable')).toHaveLength(1)
  })

  test('that are others at each poll are logged once a minute', async () => {
    const { clock, world, log } = startBeacon()
    for (let i = 0; i < 300; i++) {
      world.unreadable = unreadable(`${i}`)
      await clock.advance(1_000)
    }
    expect(log.named('entries_unreadable').length).toBeLessThanOrEqual(6)
  })

  test('end no event that was seen before, and the report still has it', async () => {
    const { clock, world, log, reports, lastReport } = startBeacon({
      events: [anEvent()],
      reply: () => accepted({ paceMs: 5_000 }),
    })
    await clock.advance(1_500)
    Object.assign(world, { events: [], unreadable: unreadable('?') })
    await clock.advance(60_000)
    expect(lastReport()?.document).toMatchObject({ events: [], unreadable: 1, hidden: ['e1'] })
    Object.assign(world, { events: [anEvent()], unreadable: unreadable() })
    await clock.advance(10_000)
    const changes = reports.flatMap(({ report }) => report.changes)
    expect(changes.map(({ kind }) => kind)).toEqual(['appeared'])
    expect(log.named('event_gone')).toEqual([])
  })
})

describe('the first report', () => {
  test('goes out at once, even when IMDS has shown no document yet', async () => {
    const { clock, reports } = startBeacon({ events: 'hang' })
    await clock.advance(0)
    expect(reports).toMatchObject([
      {
        at: 0,
        report: {
          version: 1,
          vm: { name: 'vm1' },
          beacon: {
            version: '0.1.0',
            bootId: 'boot-0001',
            counter: 1,
            uptimeMs: 60_000,
            clock: expect.any(Number),
          },
          document: null,
          changes: [],
          starts: [],
        },
      },
    ])
  })

  test('waits for the name of the VM, which is asked for again and again', async () => {
    const { clock, reports, world, identifiedAt, polledAt, log } = startBeacon({
      identity: failing(),
      events: [anEvent()],
    })
    await clock.advance(20_000)
    expect(reports).toEqual([])
    expect(identifiedAt.slice(0, 4)).toEqual([0, 1_000, 2_500, 5_500])
    expect(polledAt).toHaveLength(21)
    expect(log.named('beacon_started')).toEqual([])
    world.identity = vmSchema.parse({ name: 'vm1' })
    await clock.advance(5_000)
    expect(log.named('beacon_started')).toMatchObject([{ vm: 'vm1', fleet: 'shop' }])
    const { changes } = reports[0]!.report
    expect(changes).toMatchObject([{ kind: 'appeared', firstPoll: true, ageMs: reports[0]!.at }])
  })

  test('of a document follows within 2 s, for "nothing" is news where nothing was known', async () => {
    const { clock, world, reportedAt, lastReport } = startBeacon({ events: failing() })
    await clock.advance(500)
    world.events = []
    await clock.advance(2_500)
    expect(reportedAt()).toEqual([0, 2_000])
    expect(lastReport()?.document).toMatchObject({ events: [] })
  })
})

describe('a change', () => {
  async function reportedAfter(resources: string[], vm = 'vm1') {
    const beacon = startBeacon({ identity: vmSchema.parse({ name: vm }) })
    await beacon.clock.advance(10_500)
    const before = beacon.reports.length
    beacon.world.events = [anEvent({ resources })]
    await beacon.clock.advance(5_000)
    const late = beacon.reports.slice(before)
    expect(late).toHaveLength(1)
    expect(late[0]?.report.changes).toMatchObject([{ kind: 'appeared', firstPoll: false }])
    return late[0]!.at
  }

  test.each<[string, string[], string, number]>([
    ['at once by the VM that it hits', ['vm1'], 'vm1', 11_000],
    ['at once in whatever case the name is', ['a', 'VM1'], 'vm1', 11_000],
    ['within 2 s by another', ['vm2'], 'vm1', 12_000],
    ['within 2 s by vm1 when it hits vm10', ['vm10'], 'vm1', 12_000],
    ['within 2 s by vm10 when it hits vm1', ['vm1'], 'vm10', 12_000],
    ['within 2 s where it names nobody', [], 'vm1', 12_000],
  ])('is reported %s', async (_, resources, vm, expected) => {
    expect(await reportedAfter(resources, vm)).toBe(expected)
  })

  test('is reported at every step, each with its age, and each is logged', async () => {
    const { clock, world, reports, log } = startBeacon()
    await clock.advance(10_500)
    const event = anEvent()
    const { notBeforeAt: _, ...rest } = event
    const started = { ...rest, status: 'Started' as const }
    for (const events of [[event], [started], []]) {
      world.events = events
      await clock.advance(2_000)
    }
    const changes = reports.flatMap(({ report }) => report.changes)
    expect(changes).toEqual([
      { kind: 'appeared', ageMs: 0, firstPoll: false, event },
      { kind: 'changed', ageMs: 0, firstPoll: false, event: started },
      { kind: 'gone', ageMs: 0, lastSeenAgeMs: 1_000, firstPoll: false, event: started },
    ])
    const named = log.entries.filter(({ event }) => event.startsWith('event_'))
    expect(named).toMatchObject([
      {
        event: 'event_seen',
        eventId: 'e1',
        eventType: 'Reboot',
        status: 'Scheduled',
        resources: ['vm1'],
        notBefore: '2026-01-01T01:00:00.000Z',
      },
      { event: 'event_changed', eventId: 'e1', status: 'Started' },
      { event: 'event_gone', eventId: 'e1' },
    ])
  })

  test('that came and went while the relay was down is reported later, in order, with its ages', async () => {
    const { clock, world, reports, spool } = startBeacon()
    await clock.advance(10_500)
    world.reply = () => failed
    world.events = [anEvent()]
    await clock.advance(1_000)
    world.events = []
    await clock.advance(20_000)
    expect(spool.read()).toHaveLength(2)
    world.reply = () => accepted()
    await clock.advance(60_000)
    const { at, report } = reports.at(-1)!
    expect(report.changes).toMatchObject([
      { kind: 'appeared', ageMs: at - 11_000 },
      { kind: 'gone', ageMs: at - 12_000, lastSeenAgeMs: at - 11_000 },
    ])
    expect(report.document?.events).toEqual([])
    expect(spool.read()).toEqual([])
  })

  test('that the last process could not report is reported by the next', async () => {
    const directory = temporaryDirectory()
    const open = () => openSpool({ directory, clock: createFakeClock(), log: createTestLog() })
    const last = open()
    last.append([{ kind: 'appeared', seenAt: 0, firstPoll: false, event: anEvent() }])
    last.close()
    const spool = open()
    const beacon = startBeacon({}, { spool })
    await beacon.clock.advance(0)
    expect(beacon.reports[0]?.report.changes).toHaveLength(1)
    expect(spool.read()).toEqual([])
    spool.close()
  })
})

describe('who we are', () => {
  const tagged = (tier: string) => vmSchema.parse({ name: 'vm1', tags: { tier } })

  test('is asked again every 10 minutes: tags change', async () => {
    const { clock, world, lastReport, identifiedAt } = startBeacon({ identity: tagged('old') })
    await clock.advance(0)
    world.identity = tagged('new')
    await clock.advance(1_200_000)
    expect(identifiedAt).toEqual([0, 600_000, 1_200_000])
    expect(lastReport()?.vm.tags).toEqual({ tier: 'new' })
  })

  test('stays what it was while IMDS does not say', async () => {
    const { clock, world, lastReport, log } = startBeacon({ identity: tagged('old') })
    await clock.advance(0)
    world.identity = failing()
    await clock.advance(1_200_000)
    expect(lastReport()?.vm.tags).toEqual({ tier: 'old' })
    expect(log.named('imds_failing')).toMatchObject([{ endpoint: 'instance' }])
  })
})

describe('the end', () => {
  test('comes when it is asked for, whatever hangs', async () => {
    const { clock, stop } = startBeacon({ events: 'hang', reply: () => 'hang' })
    await clock.advance(1_000)
    await stop()
  })

  test('comes right after the beginning', async () => {
    const { polledAt, stop } = startBeacon()
    await stop()
    expect(polledAt).toHaveLength(1)
  })

  test('comes for all loops when one breaks, with its error', async () => {
    const broken = {
      append() {
        throw new Error('broken')
      },
      read: () => [],
      dropThrough() {},
      forget() {},
      close() {},
    }
    const { running, clock, world } = startBeacon({}, { spool: broken })
    const end = expect(running).rejects.toThrow('broken')
    await clock.advance(1_500)
    world.events = [anEvent()]
    await clock.advance(1_000)
    await end
  })
})
