// The relay dies between any two of its steps: at every write to the store or call to a channel,
// before or right after it takes effect, and starts again on the same file. Nothing is lost. Of all
// messages, at most the one in flight is repeated, with the same id.
import { expect, test } from 'vitest'
import { dieAtEveryCall, type Fuse, withFuse } from '../../support/fuse.ts'
import { press } from '../../support/people.ts'
import { isWhole } from '../../support/whole.ts'
import {
  createWorld,
  event,
  eventId,
  FakeBeacon,
  type Sent,
  started,
  type World,
} from '../../support/world.ts'

const moments = ['scheduled', 'approved', 'started', 'completed']

/** Plays the course step by step. A step that meets the dead relay is repeated on a new one. */
async function play(fuse: Fuse, path: string) {
  const sent: Sent[] = []
  let world = await open(fuse)
  let beacon = new FakeBeacon(world, 'web_0')
  let deaths = 0

  async function open(with_: Fuse): Promise<World> {
    const opened = await createWorld({ path })
    await opened.store.freeLeases(opened.clock.now)
    withFuse(opened, with_)
    return opened
  }

  /** As a living beacon does: repeats until accepted, always with the current document. */
  async function survive(step: () => Promise<unknown>): Promise<void> {
    for (let tries = 0; tries < 5; tries++) {
      const dead = await step().then(
        () => fuse.left <= 0 && deaths === 0,
        () => true,
      )
      if (!dead) return
      deaths += 1
      const { counter, bootId } = beacon
      const { now } = world.clock
      sent.push(...world.sent)
      world.store.close()
      world = await open({ left: Number.POSITIVE_INFINITY, after: false })
      world.clock.now = now
      beacon = Object.assign(new FakeBeacon(world, 'web_0'), { counter, bootId })
    }
    throw new Error('the step never succeeded')
  }

  const accepted = async (report: object) => {
    const response = await beacon.post(report)
    if (response.status !== 200) throw new Error(`${response.status}`)
    return (await response.json()) as { directives: { eventId: string }[] }
  }

  await survive(() => accepted(beacon.body([event()])))
  await survive(() => world.drain())
  await survive(() => approve(world, [...sent, ...world.sent]))
  await survive(() => world.drain())
  let directed = false
  await survive(async () => {
    world.clock.now += 6_000
    const { directives } = await accepted(beacon.body([event()]))
    directed ||= directives.length > 0
    if (!directed) throw new Error('no directive')
  })
  const starts = [{ eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }]
  await survive(() => accepted(beacon.body([event()], { starts })))
  await survive(() => accepted(beacon.body([started()])))
  await survive(() => world.drain())
  await survive(() => accepted(beacon.body([])))
  await survive(() => world.pass(10_001))
  await survive(() => world.pass(60_000))
  // the test's own reads are not part of the course
  fuse.left = Number.POSITIVE_INFINITY
  const { body } = await world.getEvent(eventId)
  sent.push(...world.sent)
  world.store.close()
  return { record: body, sent, deaths }
}

async function approve(world: World, sent: Sent[]): Promise<void> {
  const chat = sent.find(({ url }) => url.includes('slack'))
  const actions = chat?.json.blocks.find(({ type }: { type: string }) => type === 'actions')
  const { pathname } = new URL(actions.elements[0].url)
  const response = await press(world, pathname, 'approve')
  if (response.status !== 200) throw new Error(`${response.status}`)
}

test('at every call: nothing is lost, and at most the message in flight is repeated', {
  timeout: 120_000,
}, async () => {
  const crashes = await dieAtEveryCall(play, ({ record, sent, deaths }, when) => {
    expect(record.phase, when).toBe('completed')
    for (const host of ['slack', 'teams', 'pager', 'hook']) {
      const got = sent.filter(({ url }) => url.includes(`//${host}.`))
      expect(got.length, `${host}, ${when}`).toBeGreaterThanOrEqual(moments.length)
    }
    const hooks = sent.filter(({ url }) => url.includes('hook'))
    const ids = new Set(hooks.map((one) => one.headers['webhook-id']))
    expect(ids.size, when).toBe(moments.length)
    expect(sent.length, when).toBeLessThanOrEqual(4 * moments.length + deaths)
  })
  expect(crashes).toBeGreaterThan(isWhole ? 100 : 30)
})
