// Somebody sends more than the relay can answer: a stranger, or the holder of a token that may only read or
// report. Honest beacons, on new connections, go first.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createApp } from '../../functions/app.ts'
import { fewAtOnce } from '../../functions/host/node/pipelines.ts'
import { listen } from '../../functions/host/node/server.ts'
import { consoleRoutes } from '../../functions/http/console/routes.ts'
import { createDoor } from '../../functions/http/door.ts'
import { parseFields } from '../../functions/http/form.ts'
import { cloudEvent } from '../simulator/event-grid.ts'
import { publication, send, startWithAzure } from '../support/azure.ts'
import { FakeBeacon } from '../support/fake-beacon.ts'
import { startRelay, world } from '../support/relay.ts'
import { slackDecides } from '../support/slack-press.ts'
import { fleetName, type Stage, startStage } from '../support/stage.ts'
import { askApi, makeToken } from '../support/tokens.ts'
import { adminKey, event, testKey } from '../support/world.ts'

describe('lists', () => {
  let stage: Stage
  /** With a name of the longest kind for each of 190 VMs. */
  const largeEvent = (vm: string) => {
    const names = Array.from({ length: 190 }, (_, i) => `${i}${'x'.repeat(180)}`)
    const notBeforeAt = Date.now() + 3_600_000
    return event({ eventId: randomUUID(), resources: [vm, ...names], notBeforeAt })
  }
  const beaconOn = (name: string) => {
    const app = {
      request: (path: string, init: RequestInit) =>
        fetch(`${stage.relayUrl}${path}`, {
          ...init,
          headers: { ...(init.headers as object), connection: 'close' },
        }),
    }
    const clock = {
      get now() {
        return Date.now()
      },
    }
    return new FakeBeacon({ app, clock }, name, { fleet: fleetName, key: stage.secrets.fleetKey })
  }

  beforeAll(async () => {
    stage = await startStage({
      vms: [['web_0']],
      config: ({ webhookUrl }) => ({
        channels: { system: { kind: 'webhook', url: webhookUrl, secret: 'env:HOOK_SECRET' } },
        routes: [{ match: { eventType: 'Terminate' }, channels: ['system'] }],
      }),
    })
    await stage.startRelay({ environment: { FOGHORN_LOG_LEVEL: 'info' } })
    for (let n = 0; n < 10; n++) {
      const vm = `vm_${n}`
      await beaconOn(vm).sees(Array.from({ length: 6 }, () => largeEvent(vm)))
    }
  })
  afterAll(() => stage.stop())

  test('while 100 of them wait, a report on a new connection waits for few', async () => {
    const token = await stage.makeToken(['read'])
    const port = Number(new URL(stage.relayUrl).port)
    let answered = 0
    const list = () =>
      new Promise<void>((resolve) => {
        const socket = connect({ port, host: '127.0.0.1' }, () => {
          socket.write(
            `GET /v1/events?limit=200 HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${token}\r\n\r\n`,
          )
        })
        socket.once('data', () => {
          answered += 1
        })
        socket.on('data', () => {})
        socket.on('close', () => resolve())
        socket.on('error', () => resolve())
      })
    const beacon = beaconOn('web_0')
    const all = Promise.all(Array.from({ length: 100 }, list))
    await expect.poll(() => answered, { interval: 5 }).toBeGreaterThan(3)
    const before = answered
    await beacon.sees([event({ eventId: randomUUID() })])
    // of the 100 that wait, the one in work and those that end in the turns of the report
    expect(answered - before).toBeLessThan(5)
    await all
  }, 240_000)
})

test('a connection that sends many requests in one piece is ended', async () => {
  let taken = 0
  const server = createServer(
    fewAtOnce((_request, response) => {
      taken += 1
      setTimeout(() => response.end('ok'), 50)
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const get = (more = '') => `GET / HTTP/1.1\r\nhost: x\r\n${more}\r\n`
  const closed = (count: number) =>
    new Promise<string>((resolve) => {
      let text = ''
      const socket = connect({ port, host: '127.0.0.1' }, () =>
        socket.write(get().repeat(count - 1) + get('connection: close\r\n')),
      )
      socket.on('data', (part) => {
        text += part
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(text))
    })
  expect((await closed(8)).match(/200 OK/g)).toHaveLength(8)
  taken = 0
  expect(await closed(3_000)).toBe('')
  expect(taken).toBe(8)
  server.close()
})

test.each([
  ['expect something', 'host: x\r\nexpect: x'],
  ['have no host', 'accept: x'],
])(
  'a connection whose requests %s, which Node would answer by itself, is ended, too',
  async (_, head) => {
    let taken = 0
    const fetch = async () => {
      taken += 1
      await new Promise((resolve) => setTimeout(resolve, 50))
      return new Response('ok')
    }
    const server = await listen(() => ({ app: { fetch } }) as never, 0, '127.0.0.1')
    const text = await new Promise<string>((resolve) => {
      let all = ''
      const socket = connect({ port: server.port, host: '127.0.0.1' }, () =>
        socket.write(`GET / HTTP/1.1\r\n${head}\r\n\r\n`.repeat(1_000)),
      )
      socket.on('data', (part) => {
        all += part
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve(all))
    })
    expect(text.match(/HTTP\/1.1 /g) ?? []).toHaveLength(0)
    expect(taken).toBeLessThanOrEqual(8)
    await server.close()
  },
)

describe('the address for Event Grid', () => {
  beforeEach(() => startWithAzure())

  const handshake = { authorization: '', 'aeg-event-type': 'SubscriptionValidation' }

  test('a stranger gets nothing read but a handshake', async () => {
    const junk = [{ id: '1', data: Array.from({ length: 100_000 }, () => [1]) }]
    expect((await send(junk, handshake)).status).toBe(413)
    expect((await send(junk, { authorization: '' })).status).toBe(401)
    const two = Array.from({ length: 2 }, () => ({
      eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent',
      data: { validationCode: 'x' },
    }))
    expect((await send(two, handshake)).status).toBe(400)
  })

  test('what is deeper than any body of ours is not parsed', async () => {
    const { token } = await makeToken(world, { name: 'deep', scopes: ['report'] })
    const headers = { authorization: `Bearer ${token}` }
    const post = async (body: string) =>
      (await world.app.request('/v1/azure/events', { method: 'POST', headers, body })).text()
    expect(await post('['.repeat(65) + ']'.repeat(65))).toContain('the body is not JSON')
    expect(await post('['.repeat(64) + ']'.repeat(64))).not.toContain('the body is not JSON')
    const text = JSON.stringify(`"${'['.repeat(99)}\\`)
    expect(await post(`[${text}]`)).not.toContain('the body is not JSON')
  })

  test('a batch is decided in parts, and others go first between them', async () => {
    let pauses = 0
    world.relay.host.pause = async () => {
      pauses += 1
    }
    world.app = createApp(world.relay)
    const batch = Array.from({ length: 110 }, () =>
      cloudEvent(publication({ eventId: randomUUID() })),
    )
    expect((await send(batch)).status).toBe(204)
    // the batch is read, then 110 events are joined in 14 parts: each takes a turn at the door
    expect(pauses).toBe(15)
    const counts = await world.store.countOpen('prod', 'azure')
    expect(counts.ofFleet).toBe(110)
  })

  test('a small report of a beacon that sees many events: the first three wait for nobody, the others take turns', async () => {
    const seer = new FakeBeacon(world, 'web_0')
    const seen = Array.from({ length: 20 }, () => event({ eventId: randomUUID() }))
    await seer.sees(seen)
    const countTurns = turnsTaken()
    await seer.sees(null)
    // one pause after each five events, and one for each turn
    expect(countTurns()).toBeGreaterThanOrEqual(17)
    const few = new FakeBeacon(world, 'web_1')
    await few.sees(seen.slice(0, 3))
    countTurns()
    await few.sees(null)
    expect(countTurns()).toBe(0)
  })

  test('many small reports of one fleet at once: sixteen joins wait for nobody, the others take turns', async () => {
    const countTurns = turnsTaken()
    // all are under way before the first one is stored
    const { commit } = world.store
    Object.assign(world.store, {
      commit: async (...of: Parameters<typeof commit>) => {
        await new Promise((resolve) => setTimeout(resolve, 50))
        return commit(...of)
      },
    })
    const sent = (count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, i) =>
          new FakeBeacon(world, `vm_${i}`).sees([event({ eventId: randomUUID() })]),
        ),
      )
    await sent(16)
    expect(countTurns()).toBe(0)
    await sent(40)
    expect(countTurns()).toBeGreaterThanOrEqual(24)
    Object.assign(world.store, { commit })
  })

  test('bodies that never end keep nobody else waiting', async () => {
    const { token } = await makeToken(world, { name: 'slow', scopes: ['report'] })
    const headers = { authorization: `Bearer ${token}`, 'content-length': '1000' }
    for (let i = 0; i < 5; i++) {
      const body = new ReadableStream({ start: (one) => one.enqueue(new Uint8Array([91])) })
      const init = { method: 'POST', headers, body, duplex: 'half' }
      void world.app.request('/v1/azure/events', init as RequestInit)
    }
    expect((await askApi(world, adminKey, '/v1/events')).status).toBe(200)
  })

  test('a form with thousands of fields is not read', async () => {
    const body = `ssl_check=1&${'a&'.repeat(30_000)}`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    await startRelay(slackDecides)
    const pressed = await world.app.request('/slack/interactions', {
      method: 'POST',
      body,
      headers,
    })
    expect(pressed.status).toBe(401)
    expect([...parseFields('a=1&'.repeat(2_000))]).toEqual([])
    expect([...parseFields('a=1&b=2')]).toEqual([
      ['a', '1'],
      ['b', '2'],
    ])
  })

  test('too many entries are refused before one is looked at', async () => {
    const answer = await send(Array.from({ length: 5_001 }, () => 1))
    const { detail } = (await answer.json()) as { detail: string }
    expect(answer.status).toBe(400)
    expect(detail.split('\n')).toHaveLength(1)
  })
})

describe('those who wait on purpose', () => {
  beforeEach(() => startRelay())

  test('read only when it is their turn', async () => {
    let open = () => {}
    const closed = new Promise<void>((resolve) => {
      open = resolve
    })
    const key = (await makeToken(world, {})).token
    await new FakeBeacon(world, 'web_0').sees([event()])
    const reads = vi.spyOn(world.store, 'readMoments')
    world.relay.host.pause = () => closed
    world.app = createApp(world.relay)
    const polls = Array.from({ length: 60 }, () =>
      askApi(world, key, '/v1/events/stream?after=0&wait=1'),
    )
    const { directives } = await new FakeBeacon(world, 'web_1').sees([event()])
    expect(directives).toEqual([])
    expect(reads).not.toHaveBeenCalled()
    open()
    for (const poll of await Promise.all(polls)) expect(poll.status).toBe(200)
  })

  test('a form that may not decide reads nothing', async () => {
    const page = await world.app.request('/console')
    const cookies = (answer: Response) =>
      answer.headers.getSetCookie().map((one) => one.split(';')[0]!)
    const form = /name="form" value="([^"]+)"/.exec(await page.text())![1]!
    const { token } = await makeToken(world, {})
    const signIn = await world.app.request('/console/sign-in', {
      ...{ method: 'POST', body: new URLSearchParams({ form, key: token }) },
      headers: { cookie: cookies(page).join('; ') },
    })
    expect(signIn.status).toBe(303)
    const reads = vi.spyOn(world.store, 'listOpen')
    const cookie = [...cookies(page), ...cookies(signIn)].join('; ')
    const init = { method: 'POST', headers: { cookie }, body: new URLSearchParams({ x: '1' }) }
    expect((await world.app.request('/console?q=a', init)).status).toBe(403)
    expect(reads).not.toHaveBeenCalled()
  })

  test('a form of the console that sends waits its turn, one that decides waits for no list', () => {
    const door = createDoor(world.relay.host)
    const { decisions, posts } = consoleRoutes(world.relay, { door, eventDoor: door })
    expect(Object.keys(decisions)).toEqual(['/', '/events/:fleet/:eventId'])
    expect(Object.keys(posts)).toContain('/replay-all')
  })
})

test('large reports take turns, event by event: another fleet gets its own in between', async () => {
  // as on Node with a file
  await startRelay()
  world.relay.host.readPlaces = 1
  world.relay.host.pause = () => new Promise((resolve) => setImmediate(resolve))
  world.app = createApp(world.relay)
  const names = Array.from({ length: 150 }, (_, i) => `${i}${'x'.repeat(60)}`)
  const large = (vm: string, i: number) =>
    event({ eventId: `${vm}-${i}`, resources: [vm, ...names] })
  const order: string[] = []
  const report = async (name: string, fleet: 'prod' | 'test', count: number) => {
    const key = fleet === 'prod' ? undefined : testKey
    const beacon = new FakeBeacon(world, name, { fleet, ...(key && { key }) })
    const some = Array.from({ length: count }, (_, i) => large(name, i))
    await beacon.sees(some)
    order.push(name)
  }
  const flood = Array.from({ length: 6 }, (_, i) => report(`evil_${i}`, 'test', 5))
  await Promise.all([...flood, report('good', 'prod', 5)])
  // 36 turns of the one fleet, and 6 of the other
  expect(order.indexOf('good')).toBeLessThan(2)
})

/** Counts the pauses of the relay since the last call. */
function turnsTaken(): () => number {
  let turns = 0
  const { pause } = world.relay.host
  world.relay.host.pause = async () => {
    turns += 1
    await pause()
  }
  world.app = createApp(world.relay)
  return () => {
    const counted = turns
    turns = 0
    return counted
  }
}
