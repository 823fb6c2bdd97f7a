// A beacon without a key: when it asks IMDS for a token, which one it sends, and what it does if
// the relay rejects one. The clock moves only when a test advances it.
import { describe, expect, onTestFinished, test } from 'vitest'
import { renewAfterMs, TokenCredential } from '../../beacon/credential.ts'
import type { Failed } from '../../beacon/imds.ts'
import { createRelay } from '../../beacon/relay-client.ts'
import { failing } from './agent-world.ts'
import { createFakeClock } from './fake-clock.ts'
import { createTestLog, serve } from './world.ts'

const forever = new AbortController().signal
const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const lifeMs = 24 * hour

type Given = { lifeMs?: number; token?: string } | Failed | 'hang'

/** A credential whose IMDS answers as `give` says: by default with another token each time. */
function setUp(give: (index: number) => Given = () => ({})) {
  const clock = createFakeClock()
  const log = createTestLog()
  const askedAt: number[] = []
  const asked: unknown[] = []
  const world = { give }
  const credential = new TokenCredential({
    source: {
      async token(audience, clientId, signal) {
        askedAt.push(clock.monotonic())
        asked.push([audience, clientId])
        const given = world.give(askedAt.length)
        if (given === 'hang') {
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          return failing()
        }
        if ('kind' in given) return given
        const expiresAt = clock.now() + (given.lifeMs ?? lifeMs)
        return { kind: 'token', token: given.token ?? tokenOf(askedAt.length), expiresAt }
      },
    },
    ...{ audience: 'api://foghorn', clientId: 'id-1', clock, log, random: () => 0.5 },
  })
  /** The number of the token that is shown now, or why none is. */
  const shown = async (signal = forever) => {
    const show = await credential.ready(signal)
    if (typeof show !== 'function') return show
    const { authorization = '' } = await show('body', 0)
    return numberIn(authorization)
  }
  return { clock, log, askedAt, asked, credential, shown, world }
}

/** Parts of a token that nothing may show. */
const marks = ['eyJoZWFkIjox', 'eyJjbGFpbXMi', 'c2lnbmF0dXJl']

function tokenOf(number: number): string {
  return `${marks[0]}.${marks[1]}.${marks[2]}${number}`
}

function numberIn(authorization: string): number {
  return Number(authorization.slice(`Bearer ${tokenOf(0)}`.length - 1))
}

function expectSilence(log: ReturnType<typeof createTestLog>, ...others: unknown[]): void {
  for (const mark of marks) expect(JSON.stringify([log.entries, others])).not.toContain(mark)
}

describe('a token', () => {
  test('is asked for once, for its audience and identity, and shown again and again', async () => {
    const { shown, asked, clock, log } = setUp()
    for (let i = 0; i < 40; i++) {
      expect(await shown()).toBe(1)
      await clock.advance(15 * minute)
    }
    expect(asked).toEqual([['api://foghorn', 'id-1']])
    expectSilence(log)
  })

  test.each([
    [24 * hour, 12 * hour],
    [hour, 30 * minute],
    [20 * minute, 10 * minute],
    [16 * minute, 6 * minute],
    [5 * minute, minute],
    [minute, minute],
  ])('with %i ms left is renewed after %i', (leftMs, expected) => {
    expect(renewAfterMs(leftMs)).toBe(expected)
  })

  test('is renewed when half of its life is over, and the report does not wait for that', async () => {
    const { shown, clock, askedAt } = setUp()
    await shown()
    await clock.advance(12 * hour - 1)
    expect(await shown()).toBe(1)
    await clock.advance(1)
    expect(await shown()).toBe(1)
    expect(await shown()).toBe(2)
    expect(askedAt).toEqual([0, 12 * hour])
  })

  test('that IMDS hands out again is asked for ever more often, a few times in all', async () => {
    const { shown, clock, askedAt, world } = setUp()
    world.give = () => ({ token: tokenOf(1), lifeMs: lifeMs - clock.monotonic() })
    for (let at = 0; at < lifeMs - 15 * minute; at += minute) {
      expect(await shown()).toBe(1)
      await clock.advance(minute)
    }
    expect(askedAt.length).toBeLessThan(12)
  })

  test('whose renewal hangs or fails is kept to its end', async () => {
    const { shown, clock, world, log } = setUp()
    await shown()
    await clock.advance(12 * hour)
    world.give = () => failing('transient')
    for (let at = 12 * hour; at < lifeMs; at += 15 * minute) {
      expect(await shown()).toBe(1)
      await clock.advance(15 * minute)
    }
    expect(await shown()).toMatchObject({ kind: 'unready' })
    expect(log.named('token_failing')).toHaveLength(1)
    world.give = () => ({})
    await clock.advance(minute)
    expect(await shown()).toBeGreaterThan(1)
    expect(log.named('token_recovered')).toHaveLength(1)
    expectSilence(log)
  })

  test('is not waited for twice while a request for it is under way', async () => {
    const { shown, clock, askedAt, world } = setUp()
    await shown()
    await clock.advance(12 * hour)
    world.give = () => 'hang'
    for (let i = 0; i < 5; i++) {
      expect(await shown()).toBe(1)
      await clock.advance(minute)
    }
    expect(askedAt).toHaveLength(2)
  })

  test('that is over by a wrong clock of ours is shown for a minute all the same', async () => {
    const { shown, clock, askedAt } = setUp(() => ({ lifeMs: -hour }))
    expect(await shown()).toBe(1)
    await clock.advance(minute - 1)
    expect(await shown()).toBe(1)
    await clock.advance(1)
    expect(await shown()).toBe(2)
    expect(askedAt).toEqual([0, minute])
  })
})

describe('an IMDS that gives no token', () => {
  test('is asked again ever more slowly, however often a report is due', async () => {
    const { shown, clock, askedAt } = setUp(() => ({ ...failing('absent'), status: 404 }))
    for (let at = 0; at < 10 * minute; at += second) {
      expect(await shown()).toMatchObject({ kind: 'unready', reason: expect.any(String) })
      await clock.advance(second)
    }
    expect(askedAt.length).toBeLessThan(20)
    expect(askedAt.at(-1)! - askedAt.at(-2)!).toBeGreaterThanOrEqual(45 * second)
  })

  test('is left alone for as long as it asks', async () => {
    const { shown, clock, askedAt } = setUp((index) =>
      index === 1 ? { ...failing('throttled'), status: 429, retryAfterMs: 30 * second } : {},
    )
    expect(await shown()).toMatchObject({ kind: 'unready', retryAfterMs: 30 * second })
    await clock.advance(29 * second)
    expect(await shown()).toMatchObject({ kind: 'unready', retryAfterMs: second })
    await clock.advance(second)
    expect(await shown()).toBe(2)
    expect(askedAt).toEqual([0, 30 * second])
  })

  test('for lack of an identity has a remedy', async () => {
    const { shown, log } = setUp(() => ({ ...failing('absent', 'IMDS answered 400'), status: 400 }))
    const want =
      /IMDS answered 400; assign a managed identity.*FOGHORN_IDENTITY_CLIENT_ID.*FOGHORN_AUDIENCE/
    expect(await shown()).toMatchObject({ reason: expect.stringMatching(want) })
    expect(log.named('token_failing')).toMatchObject([{ reason: expect.stringMatching(want) }])
  })

  test('does not keep the beacon from stopping', async () => {
    const stopping = new AbortController()
    const { shown, world } = setUp()
    world.give = () => 'hang'
    const waiting = shown(stopping.signal)
    stopping.abort()
    expect(await waiting).toMatchObject({ kind: 'unready' })
  })
})

describe('a relay that refuses the token', () => {
  const answer = { outcome: 'accepted', time: 1, paceMs: 2_000, directives: [] }
  const detail = 'the token is refused: its claim "exp" is over'

  /** A relay that takes the tokens whose number `takes` says yes to. */
  async function setUpRelay(takes: (number: number) => boolean, give?: (index: number) => Given) {
    const world = setUp(give)
    const { origin, asked } = await serve(({ headers }, response) => {
      const isTaken = takes(numberIn(headers.authorization ?? ''))
      const problem = { code: 'token_invalid', title: 'x', status: 401, detail }
      response.writeHead(isTaken ? 200 : 401).end(JSON.stringify(isTaken ? answer : problem))
    })
    const { clock, credential } = world
    const relay = createRelay({ url: origin, fleet: 'shop', environment: {}, clock, credential })
    onTestFinished(relay.close)
    let built = 0
    const send = () => relay.send(() => `{"built":${++built}}`, forever)
    const tokens = () => asked.map(({ headers }) => numberIn(headers.authorization ?? ''))
    return { ...world, send, asked, tokens }
  }

  test('is shown a new one at once, with a body of its own', async () => {
    const { send, tokens, asked, log } = await setUpRelay((number) => number > 1)
    expect(await send()).toMatchObject({ kind: 'accepted' })
    expect(tokens()).toEqual([1, 2])
    expect(asked.map(({ body }) => body)).toEqual(['{"built":1}', '{"built":2}'])
    expect(asked[0]?.headers).toMatchObject({ 'x-foghorn-fleet': 'shop' })
    expect(asked[0]?.headers).not.toHaveProperty('webhook-signature')
    expectSilence(log)
  })

  test('of every kind is reported with its reason, and IMDS is asked at most twice in 5 minutes', async () => {
    const { send, tokens, askedAt, clock } = await setUpRelay(() => false)
    const refused = {
      kind: 'refused',
      status: 401,
      code: 'token_invalid',
      reason: `the relay answered 401: ${detail}`,
    }
    for (let at = 0; at < 5 * minute; at += 10 * second) {
      expect(await send()).toEqual(refused)
      await clock.advance(10 * second)
    }
    expect(askedAt).toEqual([0, 0])
    expect(tokens().slice(0, 4)).toEqual([1, 2, 2, 2])
    expect(await send()).toEqual(refused)
    expect(askedAt).toEqual([0, 0, 5 * minute])
  })

  test('is not shown the same one again', async () => {
    const { send, tokens } = await setUpRelay(
      () => false,
      () => ({ token: tokenOf(1) }),
    )
    expect(await send()).toMatchObject({ kind: 'refused' })
    expect(tokens()).toEqual([1])
  })

  test('while IMDS gives no other has refused, and the next report has failed', async () => {
    const { send, tokens, world } = await setUpRelay(() => false)
    world.give = (index) => (index === 1 ? {} : failing())
    expect(await send()).toMatchObject({ kind: 'refused', reason: expect.stringContaining(detail) })
    expect(await send()).toMatchObject({
      kind: 'failed',
      reason: expect.stringMatching(/^no token to report with: IMDS answered 503/),
    })
    expect(tokens()).toEqual([1])
  })

  test('for another reason is shown no other token', async () => {
    const { origin } = await serve((_, response) =>
      response.writeHead(401).end(JSON.stringify({ code: 'fleet_unknown', detail: 'no' })),
    )
    const { clock, credential, askedAt } = setUp()
    const relay = createRelay({ url: origin, fleet: 'shop', environment: {}, clock, credential })
    onTestFinished(relay.close)
    expect(await relay.send(() => '{}', forever)).toMatchObject({ kind: 'refused' })
    expect(askedAt).toHaveLength(1)
  })
})
