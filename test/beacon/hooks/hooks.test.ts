// Hooks in a running beacon: what it asks of the runner, and what its reports say. The runner is
// played; runner.test.ts has the real one.

import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { EventHooks } from '../../../beacon/hooks/hooks.ts'
import type { RunnerLink } from '../../../beacon/hooks/link.ts'
import type { Ended, Order, Status } from '../../../beacon/hooks/protocol.ts'
import { createHookStore } from '../../../beacon/hooks/store.ts'
import { createWakeTimer } from '../../../beacon/wake-timer.ts'
import { watch } from '../../../beacon/watch.ts'
import { previewVersion } from '../../../shared/document.ts'
import type { Answer, Report } from '../../../shared/report.ts'
import { reportSchema, vmSchema } from '../../../shared/report.ts'
import { accepted, failing, startBeacon } from '../agent-world.ts'
import { anEvent } from '../events.ts'
import { createFakeClock } from '../fake-clock.ts'
import { createTestLog, temporaryDirectory } from '../world.ts'

const startedAt = Date.UTC(2026, 0, 1)
const minute = 60_000
const inFive = anEvent({ notBeforeAt: startedAt + 5 * minute })
const ready = { state: 'ready' } as const

/** A runner that does nothing until the test says how a run ends. */
function playRunner(first: Partial<Status> = {}) {
  let status: Status | undefined = { prepare: ready, restore: ready, ended: [], ...first }
  const orders: Order[] = []
  let changed = () => {}
  const link: RunnerLink = {
    status: () => status,
    isCurrent: () => status !== undefined,
    ask(question) {
      if (question.ask !== 'run' || status === undefined) return
      orders.push(question.order)
      status = { ...status, running: question.order.run }
    },
    async loop(onChange, stop) {
      changed = onChange
      await new Promise<void>((resolve) => stop.addEventListener('abort', () => resolve()))
    },
  }
  const show = (next: Status | undefined) => {
    status = next
    changed()
  }
  /** The run that runs ends. */
  const end = (fields: Partial<Ended> = {}) => {
    const { running = '', held: _, ...rest } = status!
    const one: Ended = { run: running, state: 'succeeded', ageMs: 0, ...fields }
    show({ ...rest, ended: [...rest.ended, one] })
  }
  const hold = (held: string | undefined) => {
    const { held: _, ...rest } = status!
    show({ ...rest, ...(held === undefined ? {} : { held }) })
  }
  const restart = () => show({ prepare: ready, restore: ready, ended: [], ...first })
  return { link, orders, show, end, hold, restart }
}

interface Options {
  runner?: ReturnType<typeof playRunner>
  directory?: string
  eventTypes?: string[]
  preparations?: (report: Report) => Answer['preparations']
}

function startHooked(played: Parameters<typeof startBeacon>[0] = {}, options: Options = {}) {
  const { runner = playRunner(), directory = temporaryDirectory(), eventTypes } = options
  const store = createHookStore(directory, createTestLog())
  const settings = { leadMs: 10 * minute, eventTypes }
  const reply = (report: Report) =>
    accepted({ preparations: options.preparations?.(report) ?? [], paceMs: 60_000 })
  const beacon = startBeacon(
    { events: [inFive], reply, ...played },
    { hooks: { link: runner.link, store, settings } },
  )
  const run = (hook: 'prepare' | 'restore', eventId = 'e1') =>
    beacon.lastReport()?.hooks?.runs.find((one) => one.hook === hook && one.eventId === eventId)
  return { ...beacon, runner, directory, run }
}

const advised = {
  apiVersion: previewVersion as typeof previewVersion,
  events: [{ ...inFive, eventType: 'SpotRebalanceRecommendation' }],
}

describe('prepare', () => {
  test('is planned in the first report of the event, and runs once the relay has answered', async () => {
    const { clock, runner, reports, run } = startHooked()
    await clock.advance(0)
    expect(reports.at(-1)?.report.hooks).toEqual({
      available: ['prepare', 'restore'],
      runs: [{ eventId: 'e1', hook: 'prepare', state: 'planned', ageMs: 0 }],
    })
    await clock.advance(300)
    expect(runner.orders).toMatchObject([{ hook: 'prepare', vm: 'vm1', event: inFive }])
    expect(runner.orders[0]?.limitMs).toBeCloseTo(4.5 * minute, -3)
    expect(run('prepare')).toMatchObject({ state: 'running' })
  })

  test('is reported when something holds it up, and when nothing does any more', async () => {
    const { clock, runner, reports, run } = startHooked()
    await clock.advance(2_500)
    const noted: unknown[] = []
    for (const held of ['held up by shop/db-0', undefined]) {
      const before = reports.length
      runner.hold(held)
      await clock.advance(2_500)
      expect(reports).toHaveLength(before + 1)
      noted.push(run('prepare'))
    }
    expect(noted).toMatchObject([
      { state: 'running', note: 'held up by shop/db-0' },
      { state: 'running' },
    ])
    expect(noted[1]).not.toHaveProperty('note')
  })

  test('is reported at once when it ends, with its code and last line, and its age later', async () => {
    const { clock, runner, reports, run } = startHooked()
    await clock.advance(2_500)
    const before = reports.length
    runner.end({ state: 'failed', exitCode: 3, note: 'no', ageMs: 100 })
    await clock.advance(0)
    expect(reports).toHaveLength(before + 1)
    expect(run('prepare')).toEqual({
      ...{ eventId: 'e1', hook: 'prepare', state: 'failed', exitCode: 3, note: 'no', ageMs: 100 },
      eventType: 'Reboot',
    })
    await clock.advance(minute)
    expect(run('prepare')?.ageMs).toBe(minute + 100)
    expect(runner.orders).toHaveLength(1)
  })

  test('runs early if the relay says so, and not while it holds it', async () => {
    let when: 'now' | 'hold' = 'hold'
    const preparations = () => [{ eventId: 'E1', when }]
    const { clock, runner, run } = startHooked({}, { preparations })
    await clock.advance(2 * minute)
    expect(runner.orders).toEqual([])
    expect(run('prepare')).toMatchObject({ state: 'planned' })
    when = 'now'
    await clock.advance(minute + 500)
    expect(runner.orders).toHaveLength(1)
    runner.end({ state: 'failed' })
    await clock.advance(minute + 500)
    expect(runner.orders).toHaveLength(1)
  })

  test('that is held until it is too late is reported as failed, with the reason', async () => {
    const preparations = () => [{ eventId: 'e1', when: 'hold' as const }]
    const { clock, runner, run } = startHooked({}, { preparations })
    await clock.advance(5 * minute)
    expect(runner.orders).toEqual([])
    expect(run('prepare')).toMatchObject({ state: 'failed', note: expect.stringMatching(/Before/) })
  })

  test.each([
    ['an event that hits another VM', { identity: vmSchema.parse({ name: 'vm10' }) }, {}],
    ['an event of another type', {}, { eventTypes: ['Redeploy'] }],
    ['advice that no list names', advised, {}],
    ['a VM without the hook', {}, { runner: playRunner({ prepare: { state: 'absent' } }) }],
  ])('does not run for %s, which has no run in reports', async (_name, played, options) => {
    const { clock, runner, lastReport } = startHooked(played, options)
    await clock.advance(6 * minute)
    expect(runner.orders).toEqual([])
    expect(lastReport()?.hooks?.runs).toEqual([])
  })

  test('is refused in reports from first sight on, until it is corrected', async () => {
    const refused = { state: 'refused', note: 'run chmod' } as const
    const runner = playRunner({ prepare: refused })
    const { clock, run, lastReport } = startHooked({}, { runner })
    await clock.advance(500)
    expect(run('prepare')).toMatchObject({ state: 'refused', note: 'run chmod' })
    expect(lastReport()?.hooks?.available).toEqual(['restore'])
    runner.show({ prepare: ready, restore: ready, ended: [] })
    await clock.advance(1_000)
    expect(runner.orders).toHaveLength(1)
  })

  test('is one at a time: the earlier event first', async () => {
    const late = anEvent({ eventId: 'e2', notBeforeAt: startedAt + 8 * minute })
    const { clock, runner, run } = startHooked({ events: [late, inFive] })
    await clock.advance(minute)
    expect(runner.orders.map(({ event }) => event.eventId)).toEqual(['e1'])
    expect(run('prepare', 'e2')).toMatchObject({ state: 'planned' })
    runner.end()
    await clock.advance(500)
    expect(runner.orders.map(({ event }) => event.eventId)).toEqual(['e1', 'e2'])
  })

  test.each([
    ['after it ended', ['end', 'change']],
    ['while it runs', ['change', 'end']],
  ])('runs again if the type of the event changes %s, and is restored once', async (_, steps) => {
    const { clock, world, runner, run } = startHooked()
    await clock.advance(1_500)
    for (const step of steps) {
      if (step === 'end') runner.end()
      else world.events = [{ ...inFive, eventType: 'Redeploy' }]
      await clock.advance(1_500)
    }
    expect(runner.orders.map(({ event }) => event.eventType)).toEqual(['Reboot', 'Redeploy'])
    expect(run('prepare')).toMatchObject({ state: 'running', eventType: 'Redeploy' })
    runner.end()
    await clock.advance(1_500)
    expect(run('prepare')).toMatchObject({ state: 'succeeded', eventType: 'Redeploy' })
    world.events = []
    await clock.advance(20_000)
    expect(runner.orders.map(({ hook }) => hook)).toEqual(['prepare', 'prepare', 'restore'])
  })

  test('runs for advice that a list names, and is undone when the advice is gone', async () => {
    const { clock, world, runner } = startHooked(advised, {
      eventTypes: ['SpotRebalanceRecommendation'],
    })
    await clock.advance(1_500)
    runner.end()
    await clock.advance(1_500)
    world.events = []
    await clock.advance(20_000)
    expect(runner.orders.map(({ hook }) => hook)).toEqual(['prepare', 'restore'])
  })

  test('does not run again for a type that has no hooks', async () => {
    const { clock, world, runner } = startHooked({}, { eventTypes: ['Reboot'] })
    await clock.advance(1_500)
    runner.end()
    world.events = [{ ...inFive, eventType: 'Freeze' }]
    await clock.advance(minute)
    expect(runner.orders).toHaveLength(1)
  })

  test('runs again if the runner was restarted meanwhile, at most three times', async () => {
    const { clock, runner, run } = startHooked()
    await clock.advance(1_500)
    for (let i = 0; i < 4; i++) {
      runner.restart()
      await clock.advance(1_500)
    }
    expect(runner.orders).toHaveLength(3)
    expect(new Set(runner.orders.map((order) => order.run)).size).toBe(3)
    expect(run('prepare')).toMatchObject({ state: 'failed' })
  })
})

describe('restore', () => {
  /** Prepared; then the event is gone. */
  async function prepared(options: Options = {}) {
    const beacon = startHooked({}, options)
    await beacon.clock.advance(1_500)
    beacon.runner.end()
    await beacon.clock.advance(1_500)
    return beacon
  }

  test('runs when the event is gone for some seconds, and is reported for a day', async () => {
    const { clock, world, runner, run, lastReport } = await prepared()
    world.events = []
    await clock.advance(4_500)
    expect(runner.orders).toHaveLength(1)
    await clock.advance(2_500)
    expect(runner.orders[1]).toMatchObject({ hook: 'restore', event: { eventId: 'e1' } })
    expect(runner.orders[1]?.endedAt).toBeGreaterThan(startedAt)
    runner.end()
    await clock.advance(500)
    expect(run('restore')).toMatchObject({ state: 'succeeded' })
    expect(run('prepare')).toMatchObject({ state: 'succeeded' })
    await clock.advance(24 * 60 * minute)
    expect(run('restore')).toMatchObject({ state: 'succeeded' })
    await clock.advance(3 * 60 * minute)
    expect(lastReport()?.hooks?.runs).toEqual([])
    expect(runner.orders).toHaveLength(2)
  })

  test('also runs for an event that only the runner remembers', async () => {
    const runner = playRunner({ prepared: [inFive] })
    const { clock, run } = startHooked({ events: [] }, { runner })
    await clock.advance(4_000)
    expect(runner.orders).toEqual([])
    await clock.advance(4_000)
    expect(runner.orders).toMatchObject([{ hook: 'restore', event: { eventId: 'e1' } }])
    expect(run('restore')).toMatchObject({ state: 'running' })
  })

  test('such an event that goes on is prepared again', async () => {
    const runner = playRunner({ prepared: [inFive] })
    const { clock } = startHooked({ events: [inFive] }, { runner })
    await clock.advance(8_000)
    expect(runner.orders).toMatchObject([{ hook: 'prepare', event: { eventId: 'e1' } }])
  })

  test('does not run for a hiccup, or while IMDS fails', async () => {
    const { clock, world, runner } = await prepared()
    world.events = []
    await clock.advance(3_000)
    world.events = failing()
    await clock.advance(10 * minute)
    world.events = [inFive]
    await clock.advance(10_000)
    expect(runner.orders).toHaveLength(1)
  })

  test('waits until no other event needs what prepare did', async () => {
    const { clock, world, runner, run } = await prepared()
    const second = anEvent({ eventId: 'e2', notBeforeAt: startedAt + 9 * minute })
    world.events = [inFive, second]
    await clock.advance(1_500)
    runner.end()
    world.events = [second]
    await clock.advance(20_000)
    expect(runner.orders.map(({ hook }) => hook)).toEqual(['prepare', 'prepare'])
    expect(run('restore')).toMatchObject({ state: 'planned' })
    world.events = []
    await clock.advance(8_000)
    expect(runner.orders.at(-1)).toMatchObject({ hook: 'restore' })
    runner.end()
    await clock.advance(2_000)
    runner.end()
    const restored = runner.orders.slice(2).map(({ event }) => event.eventId)
    expect(restored.sort()).toEqual(['e1', 'e2'])
  })

  test('an event that comes back after it is prepared for again', async () => {
    const { clock, world, runner } = await prepared()
    world.events = []
    await clock.advance(8_000)
    runner.end()
    world.events = [inFive]
    await clock.advance(12_000)
    expect(runner.orders.map(({ hook }) => hook)).toEqual(['prepare', 'restore', 'prepare'])
  })

  test('an event that comes back before it needs no second prepare', async () => {
    const runner = playRunner({ restore: { state: 'refused', note: 'no' } })
    const { clock, world, run } = await prepared({ runner })
    world.events = []
    await clock.advance(8_000)
    expect(run('restore')).toMatchObject({ state: 'refused' })
    world.events = [inFive]
    await clock.advance(12_000)
    expect(runner.orders).toHaveLength(1)
    expect(run('restore')).toBeUndefined()
  })
})

describe('a restart of the beacon', () => {
  async function restarted(before: Status['ended'], events = [inFive]) {
    const directory = temporaryDirectory()
    const first = startHooked({}, { directory })
    await first.clock.advance(2_500)
    const run = first.runner.orders[0]!.run
    await first.stop()
    const ended = before.map((one) => ({ ...one, run }))
    const next = startHooked({ events }, { directory, runner: playRunner({ ended }) })
    await next.clock.advance(2_500)
    return next
  }

  test('during prepare takes over how it ended meanwhile', async () => {
    const { runner, run } = await restarted([{ run: '', state: 'succeeded', ageMs: 0 }])
    expect(runner.orders).toEqual([])
    expect(run('prepare')).toMatchObject({ state: 'succeeded' })
  })

  test('knows the type for which prepare ran', async () => {
    const redeploy = { ...inFive, eventType: 'Redeploy' }
    const { runner } = await restarted([{ run: '', state: 'succeeded', ageMs: 0 }], [redeploy])
    expect(runner.orders).toMatchObject([{ hook: 'prepare', event: redeploy }])
  })

  test('and of the runner runs it again', async () => {
    const { runner, run } = await restarted([])
    expect(runner.orders).toHaveLength(1)
    expect(run('prepare')).toMatchObject({ state: 'running' })
  })

  test('and of the VM restores it after the event', async () => {
    const { runner, clock } = await restarted([], [])
    await clock.advance(5_000)
    expect(runner.orders).toMatchObject([{ hook: 'restore', event: { eventId: 'e1' } }])
  })

  test('goes on waiting where the relay held it', async () => {
    const directory = temporaryDirectory()
    const preparations = () => [{ eventId: 'e1', when: 'hold' as const }]
    const first = startHooked({}, { directory, preparations })
    await first.clock.advance(2_500)
    await first.stop()
    const next = startHooked({ reply: () => 'hang' }, { directory })
    await next.clock.advance(minute)
    expect(next.runner.orders).toEqual([])
  })
})

test('without a runner the report has no hooks, and nothing is planned', async () => {
  const runner = playRunner()
  runner.show(undefined)
  const { clock, lastReport, log } = startHooked({}, { runner })
  await clock.advance(minute)
  expect(lastReport()).not.toHaveProperty('hooks')
  expect(log.named('hook_state')).toEqual([])
})

test('a runner that comes or goes makes a report due', async () => {
  const runner = playRunner()
  const { clock, reports, lastReport } = startHooked({ events: [] }, { runner })
  await clock.advance(5_000)
  const before = reports.length
  runner.show(undefined)
  await clock.advance(0)
  expect(reports).toHaveLength(before + 1)
  expect(lastReport()).not.toHaveProperty('hooks')
})

test('a damaged file of state is as good as none', async () => {
  const directory = temporaryDirectory()
  writeFileSync(`${directory}/hooks.json`, '{"events":[{}]}')
  const log = createTestLog()
  expect(createHookStore(directory, log).load()).toEqual([])
  expect(log.named('hook_state_damaged')).toHaveLength(1)
})

test('an answer to a report that showed no plan lets nothing run', () => {
  const clock = createFakeClock()
  const runner = playRunner()
  const status = runner.link.status()
  const shown = { seenAt: 0, apiVersion: '2020-07-01' as const, events: [inFive] }
  const { snapshot } = watch(undefined, { ...shown, unreadable: { count: 0, samples: [] } })
  const vm = vmSchema.parse({ name: 'vm1' })
  const state = { vm, document: snapshot, reportTimer: createWakeTimer(clock) }
  const store = createHookStore(temporaryDirectory(), createTestLog())
  const settings = { leadMs: 10 * minute, eventTypes: undefined }
  const parts = { clock, log: createTestLog(), newId: () => 'run-1' }
  const hooks = new EventHooks(parts, { link: runner.link, store, settings }, state)

  runner.show(undefined)
  expect(hooks.report()).toBeUndefined()
  // the runner appears while the report is under way
  runner.show(status)
  hooks.documentSeen()
  hooks.answered([])
  hooks.documentSeen()
  expect(runner.orders).toEqual([])

  expect(hooks.report()?.runs).toMatchObject([{ hook: 'prepare', state: 'planned' }])
  hooks.answered([])
  hooks.documentSeen()
  expect(runner.orders).toHaveLength(1)
})

test('a time in the file that cannot be is reported as a year ago', async () => {
  const directory = temporaryDirectory()
  const store = createHookStore(directory, createTestLog())
  const prepare = { state: 'succeeded' as const, starts: 1, since: { wall: -1e18 } }
  store.save([{ event: inFive, firstSeen: { wall: 0 }, isAnswered: true, prepare }])
  const { clock, run, lastReport } = startHooked({ events: [inFive] }, { directory })
  await clock.advance(1_000)
  expect(run('prepare')?.ageMs).toBe(366 * 86_400_000)
  expect(reportSchema.safeParse(lastReport()).success).toBe(true)
})
