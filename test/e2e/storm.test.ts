// A hundred beacons of one tenant report one event at the same time, to a relay process of its own.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { accepted, kinds, told } from '../support/expect.ts'
import { reporter } from '../support/reports.ts'
import { type Stage, startStage } from '../support/stage.ts'
import { event, eventId } from '../support/world.ts'

let stage: Stage

afterEach(() => stage.stop())

/** On a slow machine, more reports than Functions works on come at once. A beacon sends such a report again. */
async function untilTaken(post: ReturnType<typeof reporter>, notBeforeAt: number): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const { status } = await post([event({ notBeforeAt })])
    if (status !== 503) return status
    await sleep(200)
  }
  return 503
}

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
    const statuses = await Promise.all(posts.map((post) => untilTaken(post, notBeforeAt)))
    expect(new Set(statuses)).toEqual(new Set([200]))
    await told(stage, 'scheduled')
    await stage.settledEvent(eventId)
    for (const kind of kinds) expect(accepted(stage, kind), kind).toHaveLength(1)
  },
)
