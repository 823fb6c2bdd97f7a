// The relay dies in the middle of a drill, at every call to the store or to a channel, and starts
// again on the same file. The drill continues from what is on disk, and ends.
import { expect, test } from 'vitest'
import { postDrill } from '../../support/drills.ts'
import { dieAtEveryCall, type Fuse, withFuse } from '../../support/fuse.ts'
import { forge, press } from '../../support/people.ts'
import { isWhole } from '../../support/whole.ts'
import { createWorld, type Sent, startAt, type World } from '../../support/world.ts'

const wish = { fleet: 'prod', type: 'Reboot' }
const moments = ['scheduled', 'approved', 'started', 'completed']

/** Runs each step on a relay that may die in it. Then a new relay repeats the step. */
async function play(fuse: Fuse, path: string) {
  const sent: Sent[] = []
  let now = startAt
  let deaths = 0
  const survive = async <Result>(step: (world: World) => Promise<Result>): Promise<Result> => {
    for (let tries = 0; tries < 3; tries++) {
      const world = await createWorld({ path })
      world.clock.now = now
      await world.store.freeLeases(now)
      const alive = fuse.left > 0
      withFuse(world, alive ? fuse : { left: Number.POSITIVE_INFINITY, after: false })
      const result = await step(world).catch(() => undefined)
      sent.push(...world.sent)
      world.store.close()
      if (!alive || fuse.left > 0) return result as Result
      deaths += 1
    }
    throw new Error('the step never succeeded')
  }
  const eventId = await survive(async (world) => {
    // an owner who got no answer looks before they ask again
    const [known] = await world.store.listEvents({ limit: 1 })
    if (known !== undefined) return known.eventId
    return ((await (await postDrill(world, wish)).json()) as { eventId: string }).eventId
  })
  await survive((world) => world.drain())
  await survive(async (world) => press(world, await forge(world, { eventId }), 'approve'))
  await survive((world) => world.drain())
  for (const ms of [5_000, 10_000, 60_000]) {
    now += ms
    await survive((world) => world.drain())
  }
  const record = await survive(async (world) => (await world.getEvent(eventId)).body)
  return { record, sent, deaths }
}

test('at every call: it is completed, and at most the message in flight is repeated', {
  timeout: 120_000,
}, async () => {
  const check = ({ record, sent, deaths }: Awaited<ReturnType<typeof play>>, when: string) => {
    expect(record, when).toMatchObject({ phase: 'completed', drill: true })
    const hooks = sent.filter(({ url }) => url.includes('//hook.'))
    const ids = new Set(hooks.map((one) => one.headers['webhook-id']))
    expect(ids.size, when).toBe(moments.length)
    expect(sent.length, when).toBeGreaterThanOrEqual(4 * moments.length)
    expect(sent.length, when).toBeLessThanOrEqual(4 * moments.length + deaths)
  }
  // the life of a real event is tried both before and after each call's effect
  const crashes = await dieAtEveryCall(play, check, true)
  expect(crashes).toBeGreaterThan(isWhole ? 40 : 10)
})
