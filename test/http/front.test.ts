// The Worker's front: it answers junk as the relay would, and passes all else on unchanged.
import { beforeEach, describe, expect, test } from 'vitest'
import { createFront } from '../../functions/http/front.ts'
import { createSlackPresses } from '../../functions/notify/slack/presses.ts'
import { webHmac } from '../../shared/signature.ts'
import { forge, press } from '../support/people.ts'
import {
  formOf,
  payloadOf,
  postSigned,
  signingSecret,
  slackDecides,
} from '../support/slack-press.ts'
import {
  adminKey,
  createWorld,
  event,
  eventId,
  FakeBeacon,
  testKey,
  type World,
} from '../support/world.ts'

let world: World
let passed: Request[]
/** The relay, behind the front. */
let behind: World

beforeEach(async () => {
  behind = await createWorld({ config: slackDecides })
  passed = []
  const parts = { ...behind.relay, slackPresses: createSlackPresses(webHmac) }
  const front = createFront(parts, async (request) => {
    passed.push(request.clone())
    return behind.app.fetch(request)
  })
  world = { ...behind, app: front }
})

const get = (path: string, headers = {}) => world.app.request(path, { headers })
const key = { authorization: `Bearer ${adminKey}` }

describe('goes on to the relay', () => {
  test('a report, with its body', async () => {
    const beacon = new FakeBeacon(world, 'web_0')
    const report = beacon.body([event()])
    expect((await beacon.post(report)).status).toBe(200)
    expect(await passed[0]!.json()).toEqual(report)
    expect((await world.getEvent(eventId)).status).toBe(200)
  })

  test.each([
    ['/healthz', {}],
    ['/v1/events', key],
    [`/v1/events/prod/${eventId}`, key],
    ['/v1/beacons', key],
    ['/console', {}],
    ['/console/assets/x.js', {}],
    ['/', {}],
  ])('GET %s', async (path, headers) => {
    const answer = await get(path, headers)
    expect(passed).toHaveLength(1)
    const own = await behind.app.request(path, { headers })
    expect(answer.status).toBe(own.status)
    await answer.body?.cancel()
    await own.body?.cancel()
  })

  test('a body only after a key', async () => {
    const body = new ReadableStream({ start: (one) => one.enqueue(new Uint8Array([91])) })
    const init = { method: 'POST', body, duplex: 'half' } as RequestInit
    expect((await world.app.request('/v1/azure/events', init)).status).toBe(401)
    expect(passed).toHaveLength(0)
  })

  test('DELETE of a beacon whose id has a slash', async () => {
    await world.app.request('/v1/beacons/prod/rg/web_0', { method: 'DELETE', headers: key })
    expect(passed).toHaveLength(1)
  })

  test('a link, and the form that decides', async () => {
    await new FakeBeacon(world, 'web_0').sees([event()])
    const path = await forge(behind)
    expect((await get(path)).status).toBe(200)
    const pressed = await press(world, path, 'approve', { origin: 'https://foghorn.example' })
    expect(pressed.status).toBe(200)
    const { body } = await world.getEvent(eventId)
    expect(body.approvals).toHaveLength(1)
  })

  test('a press in Slack', async () => {
    const { response } = await postSigned(world, formOf(payloadOf('stale')))
    expect(response.status).toBe(200)
    expect(passed).toHaveLength(1)
  })
})

describe('stays at the front', () => {
  const beacon = (options = {}) => new FakeBeacon(world, 'web_0', options)
  const junk: Record<string, [number, () => unknown]> = {
    'a report of an unknown fleet': [401, () => send({ fleet: 'nobody' })],
    "a report with another fleet's key": [401, () => send({ key: testKey })],
    'a report that is too large': [413, () => beacon().post(' '.repeat(300_000))],
    'a check that nobody signed': [401, () => post('/v1/beacons/check', '{}')],
    'a request without a key': [401, () => get('/v1/events')],
    'a forged link': [403, () => get('/approve/abc.def')],
    'a form of a forged link': [403, () => post('/approve/abc.def', 'decision=approve')],
    'a press that Slack did not sign': [401, () => post('/slack/interactions', 'payload=x')],
    'a press with another secret': [
      401,
      async () => (await signedBy(`${signingSecret}0`)).response,
    ],
    'an unknown address': [404, () => get('/wp-login.php')],
    'an unknown parameter': [400, () => get('/v1/events?fleeet=prod', key)],
  }
  const send = (options: object) => beacon(options).post(beacon(options).body([event()]))
  const post = (path: string, body: string) => world.app.request(path, { method: 'POST', body })
  const signedBy = (secret: string) => postSigned(world, formOf({}), { secret })

  test.each(Object.entries(junk))('%s', async (_name, [status, ask]) => {
    const answer = (await ask()) as Response
    expect(answer.status).toBe(status)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(passed).toEqual([])
  })

  test('what everybody may read', async () => {
    for (const path of ['/openapi.json', '/schemas/event.json']) {
      expect((await get(path)).status).toBe(200)
    }
    expect(passed).toEqual([])
  })
})

test('a report is answered alike with and without the front', async () => {
  const at = behind.clock.now - 3_600_000
  const late = (of: World) => new FakeBeacon(of, 'web_0')
  const [through, direct] = await Promise.all(
    [world, behind].map(async (of) => {
      const one = late(of)
      return (await one.post(one.body([event()]), { at })).text()
    }),
  )
  expect(through).toBe(direct)
})

test('if the relay does not answer, people get a page, others a problem, and the log a line', async () => {
  const parts = { ...behind.relay, slackPresses: createSlackPresses(webHmac) }
  const front = createFront(parts, async () => {
    throw new Error('the object was reset')
  })
  const page = await front.request('/console')
  expect([page.status, await page.text()]).toEqual([
    500,
    expect.stringContaining('The relay failed'),
  ])
  const api = await front.request('/v1/events', {
    headers: { authorization: `Bearer ${adminKey}` },
  })
  expect(await api.json()).toMatchObject({ status: 500, code: 'internal' })
  expect(behind.lines.filter((line) => line.includes('the object was reset'))).toHaveLength(2)
})
