// The schemas of requests in /openapi.json say what the relay accepts: it refuses a body exactly if
// an independent validator does.
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { openapi } from '../../functions/http/openapi.ts'
import { routes } from '../../functions/http/routes.ts'
import { checkPath } from '../../shared/check.ts'
import { fleetHeader, reportPath } from '../../shared/report.ts'
import { sign } from '../../shared/signature.ts'
import { apiFeatures } from '../features/api.ts'
import type { ApiFeature } from '../support/api-feature.ts'
import { allowedBy, nearly } from '../support/from-schema.ts'
import { checkOf } from '../support/json-schema.ts'
import { startRelay, world } from '../support/relay.ts'
import { adminKey, eventId, prodKey } from '../support/world.ts'

fc.configureGlobal({ seed: 1 })

type Json = ReturnType<typeof JSON.parse>

const { paths } = openapi(routes, 'https://foghorn.example') as Json
const byKey = async (body: string) => ({
  ...(await sign([prodKey], 'an-id', world.clock.now, body)),
  [fleetHeader]: 'prod',
})
const byAdmin = async () => ({ authorization: `Bearer ${adminKey}` })

interface Case {
  path: string
  /** Default: POST. */
  method?: 'patch' | 'put'
  /** Of the answer to a wrong body. Default: by the name of the case. */
  code?: string
  /** Default: the description's path. */
  address?: string
  headers: (body: string) => Promise<Record<string, string>>
  /** Bodies at a limit and beyond it, which chance does not make. */
  limits?: Json[]
  /** Replaces texts of which chance makes too few that are allowed. */
  fill?: (body: Json) => Json
  /** What JSON Schema cannot say, but the description does. */
  also?: (body: Json) => boolean
  things?: ApiFeature['things']
}

const many = (count: number) => [...Array(count).keys()].map((i) => `entry ${i}`)
const tags = (count: number) => Object.fromEntries(many(count).map((name) => [name, 'x']))
const drill = { fleet: 'nowhere', type: 'Reboot' }
const report = {
  version: 1,
  vm: { name: 'web_0' },
  beacon: { version: '1', bootId: 'boot-of-web_0', counter: 1, uptimeMs: 0 },
  ...{ document: null, changes: [], starts: [] },
}
const listing = (hidden: string[]) => ({
  ...report,
  document: { ageMs: 0, apiVersion: '2020-07-01', events: [], hidden },
})

const cases: Record<string, Case> = {
  report: {
    path: reportPath,
    headers: byKey,
    limits: [
      ...[50, 51].map((count) => ({ ...report, vm: { name: 'web_0', tags: tags(count) } })),
      ...[500, 501].map((count) => listing(many(count))),
    ],
  },
  check: { path: checkPath, headers: byKey },
  decision: {
    path: '/v1/events/{fleet}/{eventId}/decision',
    address: `/v1/events/prod/${eventId}/decision`,
    headers: byAdmin,
    also: ({ decision, reason }) =>
      !['take', 'give_back'].includes(decision as string) || reason === undefined,
  },
  replay: { path: '/v1/deliveries/replay', headers: byAdmin },
  drill: {
    path: '/v1/drills',
    headers: byAdmin,
    limits: [
      ...[50, 51].map((count) => ({ ...drill, tags: tags(count) })),
      ...[10, 11].map((count) => ({ ...drill, resources: many(count) })),
    ],
    also: ({ changeAfterSeconds = -1, noticeSeconds = 120 }) => changeAfterSeconds < noticeSeconds,
  },
  ...Object.fromEntries(
    apiFeatures.flatMap(({ bodies = {}, things }) =>
      Object.entries(bodies).map(([name, body]) => [name, { ...body, things, headers: byAdmin }]),
    ),
  ),
  token: {
    path: '/v1/tokens',
    headers: byAdmin,
    limits: [`${'maintenance '.repeat(5)}last`, 'a b', 'a  b', '', 'a/b'].map((name) => ({
      name,
      scopes: ['read'],
    })),
    also: ({ name, scopes }) =>
      name.length <= 64 &&
      /^[\p{L}\p{N}._-]+(?: [\p{L}\p{N}._-]+)*$/u.test(name) &&
      (!scopes.includes('calendar') || scopes.every((one: string) => one === 'calendar')),
  },
}

test('each body in JSON is tried', () => {
  const isInJson = ({ json, body }: (typeof routes)[number]) =>
    json !== undefined || (body !== undefined && body.type === undefined)
  // what Azure sends has no schema of ours
  const inJson = routes.filter(
    (one) => isInJson(one) && one.caller !== 'report' && one.caller !== 'service',
  )
  expect(new Set(Object.values(cases).map(({ path }) => path))).toEqual(
    new Set(inJson.map(({ path }) => path)),
  )
})

describe.each(Object.entries(cases))('the schema of a %s', (name, one) => {
  const { schema } = paths[one.path][one.method ?? 'post'].requestBody.content['application/json']
  const check = checkOf(schema, 'as_published')
  const count = { allowed: 0, forbidden: 0 }

  let id = ''
  beforeAll(async () => {
    await startRelay()
    id = (await one.things?.make(world, adminKey, 'prod'))?.id ?? ''
    await world.drain()
  })

  const agree = async (value: Json) => {
    const body = JSON.stringify(value)
    // as the relay reads it
    const read = JSON.parse(body)
    const mistake = check(read)
    const isAllowed = mistake === undefined && (one.also?.(read) ?? true)
    // so that no rate refuses it
    world.clock.now += 60_000
    const headers = await one.headers(body)
    const init = { method: one.method?.toUpperCase() ?? 'POST', body, headers }
    const address = one.address ?? one.path.replace('{id}', id)
    const response = await world.app.request(address, init)
    const answer = await response.text()
    const isRefused =
      response.status === 400 && JSON.parse(answer).code === (one.code ?? `${name}_malformed`)
    count[isAllowed ? 'allowed' : 'forbidden'] += 1
    expect(isRefused, `${response.status} ${answer} · ${mistake} · ${body}`).toBe(!isAllowed)
    expect([200, 201, 202, 400, 404, 409, 422, 429]).toContain(response.status)
  }

  test('allows what the relay accepts, and no more', { timeout: 120_000 }, async () => {
    const allowed = allowedBy(schema).map((body) => one.fill?.(body) ?? body)
    const examples = (one.limits ?? []).map((body): [Json] => [body])
    const property = fc.asyncProperty(fc.oneof(allowed, nearly(allowed)), agree)
    await fc.assert(property, { numRuns: 120, examples })
    expect(Math.min(count.allowed, count.forbidden)).toBeGreaterThan(10)
  })
})
