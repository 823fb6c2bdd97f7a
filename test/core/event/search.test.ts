// Every course of a few reports of two VMs: the laws at their edges. Random worlds (test/sim) rarely get there.
import { expect, test } from 'vitest'
import { decideReport } from '../../../functions/core/event/decide.ts'
import type { EventRecord } from '../../../functions/core/event/event.ts'
import type { Moment } from '../../../functions/core/event/moment.ts'
import type { ScheduledEvent } from '../../../shared/document.ts'
import { at, key, sight } from '../../support/records.ts'
import { event, started } from '../../support/world.ts'

const second = 1_000
/** Who reports; the event hits all of them, or only the first. */
const both = ['web_0', 'web_1']
const context = { rules: [], reminders: [], listeningSince: 0 }
const documents = ['scheduled', 'started', 'lacking'] as const
/** Just after the last report, after half of the VMs are enough, and after an end may be taken back. */
const waitsMs = [second, 31 * second, 61 * second]

interface Step {
  vm: string
  shows: (typeof documents)[number]
  waitMs: number
}

interface Played {
  record: EventRecord | undefined
  moments: Moment[]
}

const steps: Step[] = both.flatMap((vm) =>
  documents.flatMap((shows) => waitsMs.map((waitMs) => ({ vm, shows, waitMs }))),
)

function played(
  record: EventRecord | undefined,
  { vm, shows }: Omit<Step, 'waitMs'>,
  shown: ScheduledEvent,
  now: number,
  counter: number,
): Played {
  const { firstSeenAt: _f, shows: _s, isHit: _h, ...own } = sight(vm)
  const reporter = { ...own, counter, heardAt: now, polledAt: now }
  const { notBeforeAt = 0 } = shown
  const asShown =
    shows === 'started' ? started({ resources: shown.resources }) : { ...shown, notBeforeAt }
  const news = {
    ...key,
    ...(shows !== 'lacking' && { shown: asShown }),
    ...{ isLacking: shows === 'lacking', past: [], starts: [], runs: [] },
  }
  const decided = decideReport(record, reporter, news, context, now)
  return { record: decided.record ?? record, moments: decided.moments }
}

/** What is wrong with a step, or undefined. */
function faultOf(before: EventRecord, after: EventRecord, moments: Moment[], again: Moment[]) {
  // the VM shows that it waits, so its next document opens it again (doubt.ts)
  const isDoubted = after.ended?.by === 'doubt'
  if (again.length > 0 && !isDoubted) return `the same report once more makes ${again}`
  const isBack = after.epoch > before.epoch
  // a lost event may end anew: then people are told how
  const isUntold = isBack && after.ended !== undefined && before.ended?.outcome !== 'lost'
  return isUntold ? `it is back and over in one step: ${moments}` : undefined
}

test.each([
  ['two VMs, far ahead', both, 3_600 * second, 3],
  ['two VMs, soon due', both, 40 * second, 4],
  ['a VM and an onlooker, far ahead', ['web_0'], 3_600 * second, 3],
  ['a VM and an onlooker, soon due', ['web_0'], 40 * second, 4],
])('%s: no return without a word, and no report counts twice', (_, resources, aheadMs, depth) => {
  const shown = event({ resources, notBeforeAt: at + aheadMs })
  const faults: string[] = []
  let searched = 0
  const search = (record: EventRecord, now: number, counter: number, course: string[]) => {
    if (course.length === depth) return
    for (const step of steps) {
      const next = now + step.waitMs
      const { record: after, moments } = played(record, step, shown, next, counter)
      const repeated = played(after, step, shown, next, counter + 1)
      const own = [...course, `${step.waitMs / second} s: ${step.vm} ${step.shows}`]
      const fault = faultOf(record, after!, moments, repeated.moments)
      searched += 1
      if (fault !== undefined) faults.push(`${own.join(', ')}: ${fault}`)
      else search(after!, next, counter + 2, own)
    }
  }
  const first = played(undefined, { vm: 'web_0', shows: 'scheduled' }, shown, at, 1)
  const both1 = played(first.record, { vm: 'web_1', shows: 'scheduled' }, shown, at, 1)
  search(both1.record!, at, 2, [])
  expect(faults.slice(0, 5)).toEqual([])
  expect(searched).toBeGreaterThan(1_000)
})
