// The headers of every answer, errors included: no caching, no indexing, no foreign script. People
// get a page, programs get problem+json.
import { beforeEach, describe, expect, test } from 'vitest'
import { createParts } from '../../functions/app.ts'
import { httpHandler } from '../../functions/host/azure/http.ts'
import { misconfigured } from '../../functions/host/misconfigured.ts'
import { createDirectReports } from '../../functions/http/beacons/direct.ts'
import { refusalFor } from '../../functions/http/problem.ts'
import { createReportCounts } from '../../functions/http/report-counts.ts'
import { postDrill } from '../support/drills.ts'
import { formType, linkOf, press, watch } from '../support/people.ts'
import { signIn } from '../support/record-form.ts'
import { startWithEvent, world } from '../support/relay.ts'
import { adminKey, createWorld, eventId } from '../support/world.ts'

beforeEach(() => startWithEvent())

function expectPrivate({ headers }: Response) {
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('referrer-policy')).toBe('no-referrer')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('x-frame-options')).toBe('DENY')
  expect(headers.get('x-robots-tag')).toBe('noindex')
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  expect(headers.get('content-security-policy')).not.toContain('unsafe')
  expect(headers.get('strict-transport-security')).toMatch(/^max-age=31536000$/)
}

type Answered = Response | Promise<Response>
const ask = (path: string, init?: RequestInit): Answered => world.app.request(path, init)
const breakStore = () => {
  world.store.readEvent = () => Promise.reject(new Error('disk on fire'))
}
const big: RequestInit = {
  method: 'POST',
  body: 'x'.repeat(5_000),
  headers: { 'content-type': formType },
}

const form: RequestInit = { method: 'POST', body: 'x=y', headers: { 'content-type': formType } }
const brokenOff = (): RequestInit => {
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error('aborted')) })
  return { method: 'POST', body, duplex: 'half' } as RequestInit
}

describe('under /approve and /console every error is a page for people', () => {
  const cases: [string, number, () => Answered][] = [
    ['a form that is too long', 413, () => ask(linkOf(world), big)],
    ['a method that is not taken', 404, () => ask(linkOf(world), { method: 'PUT' })],
    ['a slash at the end', 404, () => ask(`${linkOf(world)}/`)],
    ['no token', 404, () => ask('/approve')],
    ['a path that is not there', 404, () => ask('/console/nope')],
    ['a sign-in that is too long', 413, () => ask('/console/sign-in', big)],
    ['a link that is not ours', 403, () => ask('/approve/forged')],
    [
      'a relay that fails',
      500,
      () => {
        breakStore()
        return ask(linkOf(world))
      },
    ],
    [
      'a relay that fails while somebody decides',
      500,
      async () => {
        const link = linkOf(world)
        const shown = await ask(link)
        const form = /name="form" value="([^"]*)"/.exec(await shown.text())![1]!
        breakStore()
        const body = new URLSearchParams({ form, decision: 'approve' }).toString()
        return ask(link, { method: 'POST', body, headers: { 'content-type': formType } })
      },
    ],
  ]

  test.each(cases)('%s: %i', async (_, status, send) => {
    const response = await send()
    expect(response.status).toBe(status)
    expectPrivate(response)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const html = await response.text()
    expect(html).toContain('<html lang="en">')
    expect(html).not.toContain('disk on fire')
  })
})

describe('everything has the headers', () => {
  const bearer = { headers: { authorization: `Bearer ${adminKey}` } }
  const cases: [string, number, () => Answered][] = [
    ['OPTIONS of a link', 204, () => ask(linkOf(world), { method: 'OPTIONS' })],
    ['HEAD of a link', 200, () => ask(linkOf(world), { method: 'HEAD' })],
    ['the page', 200, () => ask(linkOf(world))],
    ['news for an open page', 200, () => watch(world, linkOf(world))],
    ['a decision', 200, () => press(world, linkOf(world), 'approve')],
    ['the way to the form of the record', 303, () => ask('/console/events')],
    ['the form of the record', 200, () => ask('/console')],
    ['the events API', 200, () => ask('/v1/events', bearer)],
    ['one event of it', 200, () => ask(`/v1/events/prod/${eventId}`, bearer)],
    ['the channels', 200, () => ask('/v1/channels', bearer)],
    ['a wrong key', 401, () => ask('/v1/events')],
    ['an unknown event', 404, () => ask('/v1/events/prod/nope', bearer)],
    ['a drill that is malformed', 400, () => ask('/v1/drills', { ...bearer, method: 'POST' })],
    ['a report without a fleet', 401, () => ask('/v1/reports', { method: 'POST', body: '{}' })],
    ['a path that is not there', 404, () => ask('/nope')],
    ['Slack, where it is off', 404, () => ask('/slack/interactions', { method: 'POST' })],
    ['the state of the relay', 200, () => ask('/healthz')],
    ['its details', 200, () => ask('/healthz', bearer)],
    ['the sign-in of the record', 303, () => signIn(world)],
    ['a form that is not of our page', 403, () => ask('/console/sign-out', form)],
    ['a body that breaks off', 400, () => ask('/v1/reports', brokenOff())],
  ]

  test.each(cases)('%s: %i', async (_, status, send) => {
    const response = await send()
    expect(response.status).toBe(status)
    expectPrivate(response)
  })

  test('programs get problem+json', async () => {
    breakStore()
    const answers = [await ask('/nope'), await ask(`/v1/events/prod/${eventId}`, bearer)]
    expect(answers.map(({ status }) => status)).toEqual([404, 500])
    for (const answer of answers) {
      expectPrivate(answer)
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
    }
  })

  test("the page's own policy is not replaced by one that forbids its script", async () => {
    const policy = (await ask(linkOf(world))).headers.get('content-security-policy')
    expect(policy).toContain("script-src 'sha256-")
  })

  test('a failure before the relay is called, on Azure Functions', async () => {
    const request = { url: 'https://[no url', method: 'GET', headers: {}, body: null }
    const handle = httpHandler(world.app.fetch, world.relay.log)
    const answer = (await handle(request as never, {} as never)) as {
      status: number
      headers: Record<string, string>
    }
    expect(answer.status).toBe(500)
    expectPrivate(new Response(null, { headers: answer.headers }))
  })
})

describe('Strict-Transport-Security', () => {
  const hsts = async (url: string, publicUrl = 'https://foghorn.example') => {
    const { app } = await createWorld({ config: { publicUrl } })
    return (await app.request(url)).headers.get('strict-transport-security')
  }

  test('if people reach the relay by https, or a request came by it', async () => {
    expect(await hsts('http://127.0.0.1:7071/nope')).not.toBeNull()
    expect(await hsts('https://127.0.0.1:7071/healthz', 'http://127.0.0.1:7071')).not.toBeNull()
  })

  test('not over http on the own machine', async () => {
    for (const path of ['/', '/healthz', '/console', '/v1/events']) {
      expect(await hsts(`http://127.0.0.1:7071${path}`, 'http://127.0.0.1:7071')).toBeNull()
    }
  })

  test.each([
    ['https://foghorn.example/x', true],
    ['http://127.0.0.1/x', false],
  ])('what Azure Functions answers to %s without the relay: %j', async (url, has) => {
    const handle = httpHandler(() => new Response('misconfigured'), world.relay.log)
    const request = { url, method: 'GET', headers: {}, body: null }
    const answer = (await handle(request as never, {} as never)) as { headers: Headers }
    expect(new Headers(answer.headers).has('strict-transport-security')).toBe(has)
  })
})

describe('every 503 says when to come back:', () => {
  const fails = () => {
    world.store.nextDueAt = () => Promise.reject(new Error('disk on fire'))
    return ask('/healthz')
  }
  const cases: [string, string, () => Answered][] = [
    ['a store that does not answer', '2', fails],
    ['a host with wrong settings', '2', () => misconfigured({ url: 'https://foghorn.example/' })],
  ]

  test.each(cases)('%s, after %s s', async (_, seconds, send) => {
    const response = await send()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, seconds])
    expectPrivate(response)
  })

  test('a report, where the host takes it from its own server', async () => {
    const { relay } = world
    const refusal = { status: 503, code: 'busy', detail: 'report again' }
    const take = async () => ({ refusal })
    const { answerReport } = createDirectReports(relay, take, createReportCounts(relay))
    const { status, headers } = await answerReport({ header: () => undefined, text: '{}' })
    expect([status, headers['retry-after']]).toEqual([503, '2'])
  })
})

test('the answer of a failed disk is the one of the app', async () => {
  const { refused } = createParts(world.relay)
  const { status, headers, body } = refused(refusalFor(new Error('odd')))
  expect([status, headers['content-type']]).toEqual([500, 'application/problem+json'])
  expect(JSON.parse(body)).toMatchObject({ code: 'internal', status })
  expectPrivate(new Response(body, { headers }))
})

describe('every 429 says when to come back', () => {
  const wait = (response: Response) => [response.status, response.headers.get('retry-after')]

  test('drills: when the first of the open ones ends', async () => {
    const drill = (noticeSeconds: number) =>
      postDrill(world, { fleet: 'prod', type: 'Reboot', noticeSeconds, impactSeconds: 10 })
    for (const notice of [300, 100, 200]) expect((await drill(notice)).status).toBe(201)
    expect(wait(await drill(1))).toEqual([429, '110'])
    world.clock.now += 30_500
    expect(wait(await drill(1))).toEqual([429, '80'])
    await world.pass(79_500)
    await world.pass(10_000)
    expect((await drill(1)).status).toBe(201)
  })

  test('links: as soon as one more is answered', async () => {
    const asked = Array.from({ length: 100 }, () => ask(linkOf(world)))
    const busy = (await Promise.all(asked)).filter(({ status }) => status === 429)
    expect(busy.map(wait)).toEqual(busy.map(() => [429, '1']))
    expect(busy.length).toBeGreaterThan(0)
  })
})
