// Shipping: services of Azure get every step of every event, and what they refuse is sent again.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { jobs } from '../../../functions/use-cases/jobs.ts'
import { replay } from '../../../functions/use-cases/replay.ts'
import { FoghornError } from '../../../shared/errors.ts'
import { shipRule } from '../../simulator/sinks/ship.ts'
import { has } from '../../support/features.ts'
import { askApi, makeToken } from '../../support/tokens.ts'
import {
  createWorld,
  event,
  eventId,
  FakeBeacon,
  startAt,
  type World,
} from '../../support/world.ts'

const minute = 60_000
const endpoint = 'https://logs.example'
const ship = { logs: { kind: 'logs', endpoint, rule: shipRule } }
const admin = { by: 'admin' } as const

let world: World
let beacon: FakeBeacon

async function start(config: object = {}) {
  world = await createWorld({ config: { ship, ...config }, paced: true })
  beacon = new FakeBeacon(world, 'web_0')
}

beforeEach(() => start())
afterEach(() => world.store.close())

async function sees(...events: ReturnType<typeof event>[]) {
  await beacon.sees(events)
  await world.drain()
}

/** Of each request: the moments of its rows. */
function requests(): string[][] {
  return world.sent
    .filter(({ url }) => url.startsWith(endpoint))
    .map(({ json }) => json.map(({ Moment }: { Moment: string }) => Moment))
}

function answer(status: number, text?: string) {
  world.channels.answer = ({ url }) =>
    url.startsWith(endpoint) ? new Response(text ?? null, { status }) : new Response('ok')
}

/** The relay tries again, and looks after itself. */
async function failFor(minutes: number) {
  for (let i = 0; i < minutes; i++) {
    await world.pass(minute)
    for (const job of jobs) await job.run(world.relay)
  }
  await world.drain()
}

const stateOf = async () => {
  const { body } = await world.getEvent(eventId)
  return body.deliveries.find(({ channel }: { channel: string }) => channel === 'ship:logs')?.state
}

test('every step arrives, also of an event that a rule ignores', async () => {
  await start({ policy: [{ match: {}, decide: 'ignore' }] })
  await sees(event())
  await sees({ ...event(), status: 'Started' })
  await sees()
  await world.pass(11_000)
  expect(requests().flat()).toEqual(['scheduled', 'started', 'completed'])
})

test('a reminder arrives without a route that names it', async () => {
  await start({ routes: [{ match: {}, channels: ['chat'], remindBeforeSeconds: [300] }] })
  await sees(event())
  await world.pass(11 * minute)
  expect(requests().flat()).toContain('reminder')
})

test('what waits goes out in one request', async () => {
  answer(503)
  await sees(event(), event({ eventId: 'second' }), event({ eventId: 'third' }))
  answer(204)
  await world.pass(minute)
  expect(requests().at(-1)).toEqual(['scheduled', 'scheduled', 'scheduled'])
})

test.runIf(has('problems'))(
  'if the role is missing, owners get the command, and it is sent once the role is there',
  async () => {
    await start({ owners: ['team'] })
    answer(403, '{"error":{"code":"OperationFailed"}}')
    await sees(event())
    await failFor(3)
    const alert = world.sent.find(({ body }) => body.includes('az role assignment create'))
    expect(alert?.body).toContain('--role 3913510d-42f4-4e42-8a64-420c390055eb')
    expect(alert?.body).toContain(shipRule)
    expect(await stateOf()).toBe('pending')
    answer(204)
    await world.pass(30 * minute)
    expect(await stateOf()).toBe('delivered')
  },
)

test.runIf(has('problems')).each([
  ['event-grid', 'https://topic.westeurope-1.eventgrid.azure.net/api/events', 'topic'],
  ['event-hubs', 'https://space.servicebus.windows.net/hub', 'space'],
])(
  'the command for %s finds the service by its name, in a mail and in Teams',
  async (kind, address, name) => {
    await start({ owners: ['team'], ship: { it: { kind, endpoint: address } } })
    world.channels.answer = ({ url }) =>
      new Response(null, { status: url.startsWith(address) ? 403 : 200 })
    await sees(event())
    await failFor(3)
    const alert = world.sent.find(({ body }) => body.includes('az role assignment create'))
    expect(alert?.body).toContain(`name=='${name}'`)
  },
)

test('after a day it is given up, and a replay sends it', async () => {
  answer(404)
  await sees(event())
  for (let hour = 0; hour < 26; hour++) await world.pass(60 * minute)
  expect(await stateOf()).toBe('given_up')
  answer(204)
  expect(
    await replay(world.relay, admin, { since: startAt, channel: 'ship:logs' }),
  ).toBeGreaterThan(0)
  await world.drain()
  expect(await stateOf()).toBe('delivered')
})

test.runIf(has('problems'))('if the relay gets no token, owners learn why', async () => {
  await start({ owners: ['team'] })
  world.relay.outside.tokens.read = async () => {
    throw new FoghornError('azure_token_missing', 'there is no token of the host')
  }
  await sees(event())
  await failFor(3)
  expect(world.sent.some(({ body }) => body.includes('there is no token of the host'))).toBe(true)
})

test('of a target that is removed, nothing goes to the channels of people', async () => {
  await start({ policy: [{ match: {}, decide: 'ignore' }] })
  answer(503)
  await sees(event())
  delete world.relay.config.channels['ship:logs']
  await world.pass(minute)
  expect(world.sent.filter(({ url }) => !url.startsWith(endpoint))).toEqual([])
})

test('one that is refused in a list is sent by itself, and the others arrive', async () => {
  world.channels.answer = ({ url, json }) => {
    if (!url.startsWith(endpoint)) return new Response('ok')
    const isBad = json.some(({ EventId }: { EventId: string }) => EventId === 'second')
    return new Response(null, { status: isBad ? 400 : 204 })
  }
  await sees(event(), event({ eventId: 'second' }), event({ eventId: 'third' }))
  await world.pass(minute)
  await world.pass(minute)
  const states = await Promise.all(
    [eventId, 'second', 'third'].map(async (id) => {
      const { body } = await world.getEvent(id)
      return body.deliveries.find(({ channel }: { channel: string }) => channel === 'ship:logs')
        .state
    }),
  )
  expect(states).toEqual(['delivered', 'pending', 'delivered'])
})

test('a token that is bound to fleets does not see where events are shipped', async () => {
  await sees(event())
  const { token } = await makeToken(world, { fleets: ['prod'] })
  const seen = await askApi(world, token, `/v1/events/prod/${eventId}`)
  const { deliveries } = (await seen.json()) as { deliveries: { channel: string }[] }
  expect(deliveries.map(({ channel }) => channel)).not.toContain('ship:logs')
})

test('after an entry is removed, an event that a rule ignores is still told to nobody', async () => {
  await start({ policy: [{ match: {}, decide: 'ignore' }] })
  await sees(event())
  delete world.relay.config.channels['ship:logs']
  await sees({ ...event(), status: 'Started' })
  await sees()
  await world.pass(11_000)
  expect(world.sent.filter(({ url }) => !url.startsWith(endpoint))).toEqual([])
})

test('people are told first: shipping is no first message', async () => {
  await start({ policy: [{ match: {}, decide: 'ignore' }] })
  await sees(event())
  const { counts } = await world.store.readCounts({ now: world.clock.now, fleets: ['prod'] })
  expect(counts.filter(({ what }) => what.startsWith('first'))).toEqual([])
})
