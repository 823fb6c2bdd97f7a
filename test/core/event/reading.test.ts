// Values that the schema of a report accepts, but a store cannot hold, are repaired first.
import { expect, test } from 'vitest'
import { tidyReport } from '../../../functions/core/event/tidy.ts'
import { reportSchema } from '../../../shared/report.ts'
import { event } from '../../support/world.ts'

const half = 'x\ud83d'

const report = reportSchema.parse({
  version: 1,
  vm: { name: half, vmId: 'id', resourceGroup: half, scaleSet: half, tags: { [half]: half } },
  beacon: { version: '1', bootId: 'boot-of-it', counter: 1, uptimeMs: 1.5 },
  document: {
    ageMs: 0.4,
    incarnation: 1,
    apiVersion: '2020-07-01',
    events: [
      event({ eventId: half, eventType: half, resources: [half], description: half, source: half }),
    ],
  },
  changes: [{ kind: 'appeared', ageMs: 0, firstPoll: false, event: event({ description: half }) }],
  starts: [],
})

/** Every text in it, keys as well. */
function textsIn(part: unknown): string[] {
  if (typeof part === 'string') return [part]
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]) => [key, ...textsIn(value)])
}

test('half a character becomes the replacement mark', () => {
  expect(textsIn(report).filter((text) => !text.isWellFormed())).not.toEqual([])
  const tidy = tidyReport(report)
  expect(textsIn(tidy).filter((text) => !text.isWellFormed())).toEqual([])
  expect(tidy.document?.events[0]?.resources).toEqual(['x\ufffd'])
  // a VM is found in an event by its name
  expect(tidy.vm.name).toBe('x\ufffd')
})

test('valid values stay as they are, and absent ones stay absent', () => {
  const { description: _d, source: _s, ...bare } = event({ resources: ['web_3', '🚢'] })
  const whole = { ...report, vm: { ...report.vm, name: 'web_3', tags: {} } }
  const document = { ...report.document!, events: [bare] }
  const tidy = tidyReport({ ...whole, document })
  expect(tidy.document?.events).toEqual([bare])
  expect(tidy.vm.name).toBe('web_3')
})
