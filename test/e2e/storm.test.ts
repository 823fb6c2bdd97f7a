// A hundred beacons of one tenant report one event at the same time, to a relay process of its own.
import { afterEach, expect, test } from 'vitest'
import { accepted, kinds, told } from '../support/expect.ts'
import { reporter } from '../support/reports.ts'
import { type Stage, startStage } from '../support/stage.ts'
import { event, eventId } from '../support/world.ts'

let stage: Stage

afterEach(() => stage.stop())

/** On a slow machine, more reports than Functions works on come at once. A beacon sends such a report again. */
async function taken(post: ReturnType<typeof reporter>, notBeforeAt: number): Promise<void> {
  const status = async () => (await post([event({ notBeforeAt })])).status
  await expect.poll(status, { timeout: 30_000, interval: 200 }).toBe(200)
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
    await Promise.all(posts.map((post) => taken(post, notBeforeAt)))
    await told(stage, 'scheduled')
    await stage.settledEvent(eventId)
    for (const kind of kinds) expect(accepted(stage, kind), kind).toHaveLength(1)
  },
)
