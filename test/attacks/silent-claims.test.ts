// An event's VM is down and says nothing. Others say that the event is theirs, that it is a Preempt, or that it ended
// long ago.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { list, publication, publish, startWithAzure } from '../support/azure.ts'
import { beacon, hour, minute, outcome, second, world } from '../support/relay.ts'
import { event, eventId, FakeBeacon, started } from '../support/world.ts'

const type = 'Redeploy'
const rule = { name: 'one', match: { eventType: type }, decide: 'approve', maxConcurrent: 1 }
const vm = { scaleSet: 'db', resourceGroup: 'rg' }
const other = 'b7061bac-afdc-4513-b24b-aa5f13a16123'
/** By this turn, the VM has been silent for more than three minutes. */
const firstLie = 19

let notBeforeAt: number
let scheduled: ReturnType<typeof event>
const running = started({ eventType: type })

beforeEach(async () => {
  await startWithAzure({}, { policy: [rule], owners: ['team'] })
  notBeforeAt = world.clock.now + 3 * hour
  scheduled = event({ eventType: type, notBeforeAt })
})
afterEach(() => world.store.close())

const some = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => new FakeBeacon(world, `${name}_${i}`, { vm }))

/** The VM got the turn of its group, and Azure accepted. It shows this last. */
async function goDown(shown: typeof running, onlookers: FakeBeacon[]) {
  const own = new FakeBeacon(world, 'web_0', { vm })
  await own.sees([scheduled])
  await world.pass(6 * second)
  await own.sees([scheduled])
  for (const one of onlookers) await one.sees([scheduled])
  const accepted = { eventId, ageMs: 0, outcome: 'accepted' as const, status: 200 }
  await own.sees([scheduled], { starts: [accepted] })
  await world.pass(5 * second)
  for (const one of [own, ...onlookers]) await one.sees([shown])
}

/** Nine minutes of its redeploy. Returns how often the next VM of its group is told to start. */
async function stayDown(say: (turn: number) => Promise<unknown>) {
  const next = event({ eventId: other, eventType: type, notBeforeAt, resources: ['web_1'] })
  const waiting = new FakeBeacon(world, 'web_1', { vm })
  let directives = 0
  for (let turn = 0; turn < 54; turn++) {
    await world.pass(10 * second)
    await say(turn)
    directives += (await waiting.sees([next])).directives.length
  }
  return directives
}

test.each([
  [200, 'Scheduled'],
  [200, 'Started'],
  [170, 'Scheduled'],
])(
  'an onlooker names itself again while the VM is silent for %d s, and lacks the %s event: its VM brings it back',
  async (silentSeconds, status) => {
    const later = event({ notBeforeAt })
    const shown = status === 'Started' ? started() : later
    const both = { ...shown, resources: ['web_0', 'liar'] }
    const liar = new FakeBeacon(world, 'liar')
    await beacon.sees([later])
    await world.pass(second)
    await beacon.sees([shown])
    await liar.sees([both])
    for (let at = 0; at < 90 * second; at += 10 * second) {
      await world.pass(10 * second)
      for (const one of [beacon, liar]) await one.sees([shown])
    }
    for (let at = 0; at < silentSeconds * second; at += 10 * second) {
      await world.pass(10 * second)
      await liar.sees([shown])
    }
    await liar.sees([both])
    await world.pass(second)
    for (let turn = 0; turn < 2; turn++) {
      await liar.sees([])
      await world.pass(11 * second)
    }
    let hiddenMs = 0
    for (let at = 0; at < 30 * minute; at += 10 * second) {
      await beacon.sees([shown])
      await liar.sees([])
      await world.pass(10 * second)
      if ((await outcome()).phase !== status.toLowerCase()) hiddenMs += 10 * second
    }
    expect(hiddenMs).toBeLessThanOrEqual(2 * minute)
  },
)

test.each([
  ['an onlooker', 1, 0, false],
  ['two onlookers of three', 2, 1, false],
  ['two onlookers, but not Azure’s list', 2, 0, true],
  ['a report token', 0, 0, false],
])(
  'it is a Preempt, says %s: it goes on, the next VM waits, and owners hear that its VM is silent',
  async (_, liars, honest, isListed) => {
    if (isListed) list(publication({ type, durationSeconds: -1, notBeforeAt }))
    const [good, bad] = [some('honest', honest), some('liar', liars)]
    await goDown(running, [...good, ...bad])
    if (isListed) list(publication({ type, status: 'Started', durationSeconds: -1 }))
    const directives = await stayDown(async (turn) => {
      const eventType = turn < firstLie ? type : 'Preempt'
      for (const one of good) await one.sees([running])
      for (const one of bad) await one.sees([{ ...running, eventType }])
      if (liars === 0 && turn >= firstLie) await publish({ type: eventType, status: 'Started' })
    })
    expect(directives).toBe(0)
    expect((await outcome()).phase).toBe('started')

    if (isListed) list()
    for (let at = 0; at < hour; at += minute) {
      await world.pass(minute)
      for (const one of [...good, ...bad]) await one.sees([])
    }
    expect(await world.store.readBeacon('prod', 'id-prod-web_0')).not.toHaveProperty('left')
    const ofSilence = world.sent.filter(({ body }) => /web_0.*silent|silent.*web_0/s.test(body))
    expect(ofSilence).toHaveLength(1)
  },
)

test.each([
  ['a report token says Completed', 'Completed'],
  ['a report token says Canceled', 'Canceled'],
  ['an onlooker lacks it', undefined],
] as const)('%s, as of 20 minutes ago: the next VM waits', async (_, status) => {
  const ageMs = 20 * minute
  const onlookers = some('liar', status === undefined ? 1 : 0)
  await goDown(scheduled, onlookers)
  const of = { ageMs, lastSeenAgeMs: ageMs + second, firstPoll: false, event: scheduled }
  const directives = await stayDown(async (turn) => {
    const changes = turn === firstLie ? [{ kind: 'gone' as const, ...of }] : []
    for (const one of onlookers) await one.sees(turn < firstLie ? [scheduled] : [], { changes })
    if (status !== undefined && turn === firstLie)
      await publish({ type, status, at: world.clock.now - ageMs })
  })
  expect(directives).toBe(0)
})
