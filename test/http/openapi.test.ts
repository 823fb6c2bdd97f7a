// The description of the API: complete, accepted by an independent linter, true of real answers,
// and enough for an independent generator to make a client that works.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm, symlink, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { serve } from '@hono/node-server'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { generateSource } from 'oazapfts'
import { beforeEach, describe, expect, test } from 'vitest'
import { openapi } from '../../functions/http/openapi.ts'
import { openapiPath } from '../../functions/http/route.ts'
import { routes } from '../../functions/http/routes.ts'
import { checkPath } from '../../shared/check.ts'
import { apiFeatures } from '../features/api.ts'
import { postDrill } from '../support/drills.ts'
import { newFolder } from '../support/folder.ts'
import { checkIn, checkOf } from '../support/json-schema.ts'
import { linkOf } from '../support/people.ts'
import { report, startRelay, world } from '../support/relay.ts'
import { makeToken } from '../support/tokens.ts'
import { adminKey, event, eventId, FakeBeacon } from '../support/world.ts'

const root = join(import.meta.dirname, '../..')
const publicUrl = 'https://foghorn.example'
const descriptions = routes.map((one) => ({ ...one, path: openapiPath(one) }))
const document = openapi(routes, publicUrl)

beforeEach(() => startRelay())

type Paths = Record<string, { get?: { parameters?: Parameter[] } }>
interface Parameter {
  name: string
  in: string
  schema: { type?: string }
}

const authorization = `Bearer ${adminKey}`
const ask = (path: string, init: RequestInit = {}) =>
  world.app.request(path, { headers: { authorization }, ...init })
const send = (path: string, body: object) =>
  ask(path, { method: 'POST', body: JSON.stringify(body) })

describe('the document', () => {
  test('is served without a credential', async () => {
    world.relay.credentials.adminKey = undefined
    const response = await world.app.request('/openapi.json')
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(document)))
  })

  test('has no mistakes for a linter that we did not write', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] })
    const source = JSON.stringify(document)
    const problems = await lintFromString({ source, config, absoluteRef: 'openapi.json' })
    const found = problems.map(({ ruleId, message, location }) => {
      return [ruleId, message, location[0]?.pointer]
    })
    expect(found).toEqual([])
  })

  test('describes every route except the console, and no other', () => {
    const served = world.app.routes
      // `/` leads to the console
      .filter(({ method, path }) => method !== 'ALL' && !/^\/(console|$)/.test(path))
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)(\{[^}]+\})?/g, '{$1}')}`)
    const described = descriptions.map(({ method, path }) => `${method.toUpperCase()} ${path}`)
    expect(new Set(described)).toEqual(new Set(served))
    expect(new Set(described).size).toBe(described.length)
  })
})

describe('a parameter that no route knows', () => {
  const address = (path: string) => path.replace(/\{\w+\}/g, 'some%2Fthing')
  const strict = descriptions.filter(({ query }) => query !== 'any')
  const calendarToken = async () => (await makeToken(world, { scopes: ['calendar'] })).token

  test.each(strict.map(({ method, path }) => [method.toUpperCase(), path]))(
    'is refused: %s %s',
    async (method, path) => {
      for (const query of ['fleets=prod', 'limit=1&__proto__=2', 'constructor=']) {
        // its token is in the address
        const own = path === '/calendar.ics' ? `token=${await calendarToken()}&` : ''
        const response = await ask(`${address(path)}?${own}${query}`, { method })
        expect([response.status, await response.json()]).toMatchObject([
          400,
          { code: 'query_invalid' },
        ])
      }
    },
  )

  test.each(['/v1/events?limit=1&limit=2', '/v1/beacons?fleet=prod&fleet=prod'])(
    'nor is one that is there twice: %s',
    async (path) => {
      expect((await ask(path)).status).toBe(400)
      expect((await ask(path.split('&')[0]!)).status).toBe(200)
    },
  )

  test('does not close a link, to which mail programs add their own', async () => {
    await report(event())
    expect((await world.app.request(`${linkOf(world)}?utm_source=mail`)).status).toBe(200)
  })
})

describe('a parameter with a schema', () => {
  const values = ['0', '1', '200', '201', '1000', '1001', '-1', '1.5', 'x', 'heard', 'Heard']
  const times = ['2026-11-21', '2026-11-21T00:00:00Z', '2026-11-21T00:00:00+01:00', '2026-13-01']
  const special = Object.assign({}, ...apiFeatures.map(({ query }) => query)) as Record<
    string,
    { usual: string; untried: string[] }
  >
  const given = Object.entries(document.paths as Paths).flatMap(([path, { get }]) =>
    (get?.parameters ?? [])
      .filter((one) => one.in === 'query' && one.name !== 'fleet')
      .filter(({ name }) => !special[path]?.untried.includes(name))
      // a cursor is no text of a reader's
      .filter(({ name }) => path === '/v1/beacons' || name !== 'cursor')
      .filter(() => !path.includes('{') && path !== '/calendar.ics')
      .map(({ name, schema }) => ({ path, name, schema })),
  )

  test.each(given)(
    'accepts what the schema allows: $path $name',
    async ({ path, name, schema }) => {
      const check = checkOf(schema, 'as_published')
      for (const value of [...values, ...times]) {
        const read = schema.type === 'integer' && /^\d+$/.test(value) ? Number(value) : value
        const more = path === '/v1/beacons' ? '&fleet=prod' : (special[path]?.usual ?? '')
        const { status } = await ask(`${path}?${name}=${encodeURIComponent(value)}${more}`)
        const isAllowed = check(schema.type === 'array' ? [read] : read) === undefined
        expect([value, status]).toEqual([value, isAllowed ? 200 : 400])
      }
    },
  )
})

describe('answers', () => {
  const seen: string[] = []
  const expectDescribed = async (name: string, response: Response) => {
    const { method, path } = descriptions.find((one) => one.name === name)!
    const status = String(response.status)
    const type = response.headers.get('content-type')!.split(';')[0]!
    const isProblem = type === 'application/problem+json'
    const at = isProblem
      ? ['components', 'responses', 'Problem', 'content', type, 'schema']
      : ['paths', path, method, 'responses', status, 'content', type, 'schema']
    expect((document.paths as never)[path]![method]!).toHaveProperty(`responses.${status}`)
    const body = await response.json()
    expect(checkIn(document, at, 'no_further_fields')(body), name).toBeUndefined()
    seen.push(name)
    return body as ReturnType<typeof JSON.parse>
  }

  beforeEach(async () => {
    await report(event({ resources: ['web_0', 'web_9'] }))
    await new FakeBeacon(world, 'web_0', { vm: { tags: { role: 'web' } } }).runs(
      [event({ resources: ['web_0', 'web_9'] })],
      'failed',
      { exitCode: 3, note: 'busy' },
    )
    await world.drain()
  })

  test('about events', async () => {
    const { events } = await expectDescribed('listEvents', await ask('/v1/events?limit=5'))
    expect(events).toHaveLength(1)
    await expectDescribed('getEvent', await ask(`/v1/events/prod/${eventId}`))
    const decision = `/v1/events/prod/${eventId}/decision`
    await expectDescribed('decideEvent', await send(decision, { decision: 'approve' }))
    await expectDescribed('decideEvent', await send(decision, { decision: 'approve' }))
    await expectDescribed('getEvent', await ask('/v1/events/prod/unknown'))
    await expectDescribed('listEvents', await ask('/v1/events?limit=0'))
    await expectDescribed('listEvents', await world.app.request('/v1/events'))
    await world.pass(30 * 60_000)
    await expectDescribed('getEvent', await ask(`/v1/events/prod/${eventId}`))
  })

  test('about beacons, channels, deliveries and drills', async () => {
    const { beacons } = await expectDescribed('listBeacons', await ask('/v1/beacons?fleet=prod'))
    await expectDescribed('listBeacons', await ask('/v1/beacons'))
    const path = `/v1/beacons/prod/${encodeURIComponent(beacons[0].beacon)}`
    await expectDescribed('dismissBeacon', await ask(path, { method: 'DELETE' }))
    world.channels.answer = () => new Response('no_service', { status: 404 })
    const drill = { fleet: 'prod', type: 'Reboot', tags: { a: 'b' }, resourceGroup: 'rg' }
    await expectDescribed('startDrill', await postDrill(world, drill))
    await expectDescribed('startDrill', await postDrill(world, { ...drill, fleet: 'nope' }))
    await world.drain()
    const { channels } = await expectDescribed('listChannels', await ask('/v1/channels'))
    expect(channels.map(({ state }: { state: string }) => state)).toContain('refusing')
    await expectDescribed('testChannel', await send('/v1/channels/hook/test', {}))
    await expectDescribed('testChannel', await send('/v1/channels/hook/test', {}))
    await expectDescribed('testChannel', await send('/v1/channels/none/test', {}))
    const since = '2026-11-21T00:00:00Z'
    await expectDescribed('replayDeliveries', await send('/v1/deliveries/replay', { since }))
    await expectDescribed('replayDeliveries', await send('/v1/deliveries/replay', {}))
  })

  test('about tokens and the stream', async () => {
    const wish = { name: 'robot', scopes: ['read'], fleets: ['prod'], expiresInDays: 1 }
    const { id, token } = await expectDescribed('createToken', await send('/v1/tokens', wish))
    await expectDescribed('createToken', await send('/v1/tokens', { name: 'robot' }))
    const own = { headers: { authorization: `Bearer ${token}` } }
    await world.app.request('/v1/events', own)
    await expectDescribed('getToken', await ask(`/v1/tokens/${id}`))
    await expectDescribed('listTokens', await ask('/v1/tokens'))
    expect((await ask(`/v1/tokens/${id}`, { method: 'DELETE' })).status).toBe(204)
    await expectDescribed('revokeToken', await ask(`/v1/tokens/${id}`, { method: 'DELETE' }))
  })

  test('about features', async () => {
    for (const { answers } of apiFeatures) {
      await answers?.(async (name, asked) => {
        const { path, method = 'GET', body } = asked
        const text = body === undefined ? {} : { body: JSON.stringify(body) }
        const response = await ask(path, { method, ...text })
        return response.status === 204 ? undefined : expectDescribed(name, response)
      })
    }
  })

  test('to beacons and to anyone', async () => {
    const beacon = new FakeBeacon(world, 'web_1')
    await expectDescribed('postReport', await beacon.post(beacon.body([event()])))
    await expectDescribed('postReport', await beacon.post({}))
    const { vm } = beacon.body([])
    const headers = { 'x-foghorn-fleet': 'prod' }
    const body = JSON.stringify({ version: 1, vm })
    const unsigned = await world.app.request(checkPath, { method: 'POST', body, headers })
    await expectDescribed('checkBeacon', unsigned)
    await expectDescribed('getHealth', await world.app.request('/healthz'))
    await expectDescribed('getHealth', await ask('/healthz'))
  })

  test('of every other route are documents or pages', () => {
    const known = [...seen, ...apiFeatures.flatMap(({ documents = [] }) => documents)]
    const others = descriptions.map(({ name }) => name).filter((name) => !known.includes(name))
    expect(others).toEqual([
      ...['takeAzureEvents', 'admitEventGrid', 'showAzure'],
      ...['showApprovePage', 'submitApprovePage', 'approvePageMethods'],
      ...['slackInteraction', 'teamsActivity'],
      ...['getEventSchema', 'getAlertSchema', 'getOpenapi'],
    ])
  })
})

const program = `
import { defaults, getEvent, listEvents } from './client.ts'
const [, , baseUrl = '', key] = process.argv
Object.assign(defaults, { baseUrl, headers: { authorization: 'Bearer ' + key } })
const answer = await listEvents({ limit: 5 })
if (answer.status !== 200) throw new Error(answer.data.detail)
for (const { fleet, eventId } of answer.data.events) {
  const one = await getEvent(fleet, eventId)
  if (one.status !== 200) throw new Error(one.data.detail)
  const named: string[] = one.data.vms.map(({ name }) => name)
  process.stdout.write(JSON.stringify([one.data.eventId, one.data.phase, named]))
}
`

test('a client that another generator makes of it compiles, and lists events', async () => {
  await report(event())
  const folder = newFolder('client')
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(document))
  await writeFile(join(folder, 'client.ts'), await generateSource(join(folder, 'openapi.json')))
  await writeFile(join(folder, 'list.ts'), program)
  const strict = ['--strict', '--noEmit', '--skipLibCheck', '--types', 'node']
  const esm = ['--module', 'nodenext', '--target', 'es2024', '--allowImportingTsExtensions']
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  expect(await run(folder, compiler, ...strict, ...esm, 'list.ts')).toEqual(['', 0])

  const server = serve({ fetch: world.app.fetch, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const listed = await run(folder, 'list.ts', `http://127.0.0.1:${port}`, adminKey)
  server.close()
  await rm(folder, { recursive: true })
  expect(listed).toEqual([JSON.stringify([eventId, 'scheduled', ['web_0']]), 0])
})

/** What it printed, and its exit code. */
async function run(cwd: string, file: string, ...words: string[]): Promise<[string, number]> {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [file, ...words], { cwd, env: { PATH }, stdio: 'pipe' })
  const ended = once(child, 'close')
  const printed = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await ended
  return [printed.join(''), code as number]
}
