// A hundred beacons of one tenant report one event at the same time, to a relay process of its own.
import { afterEach, expect, test } from 'vitest'
import { accepted, kinds, told } from '../support/expect.ts'
import { reporter } from '../support/reports.ts'
import { type Stage, startStage } from '../support/stage.ts'
import { event, eventId } from '../support/world.ts'

let stage: Stage

afterEach(() => stage.stop())

test.each(['node', 'azure'] as const)(
  '100 beacons at once: one message for each channel, on %s',
  {
    timeout: 60_000,
  },
  async (host) => {
    stage = await startStage({ vms: [['web_0']], host })
    await stage.startRelay()
    const notBeforeAt = Date.now() + 15 * 60_000
    const posts = Array.from({ length: 100 }, (_, i) => reporter(stage, `web_${i}`))
    const answers = await Promise.all(posts.map((post) => post([event({ notBeforeAt })])))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    await told(stage, 'scheduled')
    await stage.settledEvent(eventId)
    for (const kind of kinds) expect(accepted(stage, kind), kind).toHaveLength(1)
  },
)
