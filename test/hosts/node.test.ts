// The relay on plain Node as a process: how it starts, what it prints if it can't, and how it ends.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readConfig } from '../../functions/config/config.ts'
import { readSettings } from '../../functions/host/node/settings.ts'
import { maxReportBytes } from '../../shared/report.ts'
import { WaitingBeacon } from '../support/held.ts'
import { Program } from '../support/process.ts'
import { freePort } from '../support/stage.ts'
import { adminKey, baseConfig, event, prodKey } from '../support/world.ts'

let directory: string
let configFile: string
const linkKey = Buffer.alloc(32, 1).toString('base64')

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'foghorn-node-'))
  configFile = join(directory, 'foghorn.config.json')
  writeFileSync(configFile, JSON.stringify(baseConfig))
})

afterAll(() => rmSync(directory, { recursive: true, force: true }))

function environment(changes: Record<string, string> = {}) {
  const data = join(directory, randomUUID())
  const usual = { FOGHORN_CONFIG: configFile, FOGHORN_LINK_KEY: linkKey, FOGHORN_DATA: data }
  return { ...usual, PORT: '0', ...changes }
}

function refusal(changes: Record<string, string>): Promise<string> {
  return readSettings(environment(changes)).then(
    () => 'accepted',
    (error: Error) => error.message,
  )
}

test.skipIf(process.platform === 'win32')(
  'a relay that npm started ends with npm, which passes no signal on',
  { timeout: 60_000 },
  async () => {
    const own = environment({
      FOGHORN_DATA: join(directory, 'by-npm'),
      npm_lifecycle_event: 'start',
    })
    const script = `"${process.execPath}" infra/foghorn.mjs start; true`
    const shell = new Program('sh', ['sh', '-c', script], own)
    await shell.waitFor('relay_started')
    shell.kill('SIGTERM')
    // the relay has the other end of its output
    await shell.ended
    expect(shell.entries.map(({ event: name }) => name)).toContain('relay_stopped')
  },
)

describe('settings', () => {
  test('the minimum', async () => {
    const settings = await readSettings({ FOGHORN_CONFIG: configFile, FOGHORN_LINK_KEY: linkKey })
    expect(settings).toMatchObject({ port: 7071, address: '127.0.0.1', level: 'info' })
    expect(settings.dataDirectory).toBe('.foghorn')
    expect(settings.adminKey).toBeUndefined()
  })

  test('several link keys: the first signs', async () => {
    const other = Buffer.alloc(40, 2).toString('base64')
    const changes = environment({ FOGHORN_LINK_KEY: `${other}, ${linkKey}` })
    const { linkKeys } = await readSettings(changes)
    expect(linkKeys.map((key) => key.length)).toEqual([40, 32])
  })

  test('each variable may end with a line break, as one from a file does', async () => {
    const given = {
      ...environment({ FOGHORN_ADMIN_KEY: adminKey, HOST: '127.0.0.2', FOGHORN_LOG_LEVEL: 'warn' }),
      ...{ FOGHORN_DATA: '/var/lib/foghorn-relay' },
    }
    const lines = Object.entries(given).map(([name, value]) => [name, `${value}\r\n`])
    const { config: _, ...read } = await readSettings(Object.fromEntries(lines))
    expect(read).toMatchObject({
      ...{ adminKey, address: '127.0.0.2', level: 'warn' },
      dataDirectory: '/var/lib/foghorn-relay',
    })
  })

  test.each([
    [{ PORT: 'http' }, 'PORT is "http"'],
    [{ PORT: '70000' }, 'PORT is "70000"'],
    [{ HOST: 'web-1.example' }, 'HOST is "web-1.example"; write the address to listen on'],
    [{ FOGHORN_LINK_KEY: '' }, 'FOGHORN_LINK_KEY is not set'],
    [{ FOGHORN_LINK_KEY: 'c2hvcnQ=' }, 'FOGHORN_LINK_KEY is not valid'],
    [{ FOGHORN_LINK_KEY: `${linkKey},?` }, 'FOGHORN_LINK_KEY is not valid'],
    [{ FOGHORN_ADMIN_KEY: 'short' }, 'FOGHORN_ADMIN_KEY has 5 characters'],
    [{ FOGHORN_ADMIN_KEY: `two words ${'x'.repeat(32)}` }, 'FOGHORN_ADMIN_KEY has characters that'],
    [{ FOGHORN_LOG_LEVEL: 'loud' }, 'FOGHORN_LOG_LEVEL is "loud"'],
    [
      { FOGHORN_CONFIG: '/nowhere.json' },
      'there is no configuration at "/nowhere.json"; set FOGHORN_CONFIG, or copy infra/examples/full.config.json to this path',
    ],
  ])('%o is refused', async (changes, said) => {
    const message = await refusal(changes as Record<string, string>)
    expect(message).toContain(said)
    expect(message).not.toContain('c2hvcnQ=')
  })

  test('signIn is refused if the host has no sign-in: anybody could send its header', async () => {
    const file = join(directory, 'sign-in.json')
    const signIn = { tenantId: '1e6d2f1c-0a4b-4c57-9b1e-5c2f0d9a7e11' }
    writeFileSync(file, JSON.stringify({ ...baseConfig, signIn }))
    const message = (value: Record<string, string>) => refusal({ FOGHORN_CONFIG: file, ...value })
    expect(await message({})).toContain('signIn: App Service Authentication is off')
    expect(await message({})).toContain('(WEBSITE_AUTH_ENABLED is not set)')
    expect(await message({})).toMatch(/switch it on .+, or remove "signIn"/)
    for (const off of ['False', 'no', 'yes?']) {
      expect(await message({ WEBSITE_AUTH_ENABLED: off })).toContain(`is "${off}"`)
    }
    for (const on of ['True', 'true', '1']) {
      expect(await message({ WEBSITE_AUTH_ENABLED: on })).toBe('accepted')
    }
  })

  test('one error lists all mistakes', async () => {
    const message = await refusal({ PORT: 'x', FOGHORN_LOG_LEVEL: 'y', FOGHORN_CONFIG: '/nowhere' })
    expect(message.split('\n')).toHaveLength(3)
  })
})

describe('HTTPS_PROXY', () => {
  test('that is no address is refused, and not shown', async () => {
    const message = await refusal({ HTTPS_PROXY: 'me:hunter22@proxy:3128' })
    expect(message).toMatch(/HTTPS_PROXY is not the address of a proxy .* write http:/)
    expect(message).not.toContain('hunter22')
  })

  test('is named at the start, without its password', async () => {
    const proxied = environment({
      HTTPS_PROXY: 'http://me:hunter22@127.0.0.1:9',
      NO_PROXY:
        'localhost, .corp.example *.svc 10.1.2.3:8443,::1,[::1]:443 *:80,10.0.0.0/8 10. https://a.example',
    })
    const relay = new Program('relay', 'functions/host/node/main.ts', proxied)
    expect(await relay.waitFor('relay_started')).toMatchObject({ proxy: '127.0.0.1:9' })
    // what the relay does not understand is said
    const ignored = relay.entries.filter(({ event }) => event === 'proxy_entry_ignored')
    expect(ignored.map(({ entry }) => entry)).toEqual(['10.0.0.0/8', '10.', 'https://a.example'])
    await relay.stop()
  })
})

// most wait for a process
describe.concurrent('the process', () => {
  test('answers, and ends on SIGTERM with code 0', async () => {
    const relay = new Program('relay', 'functions/host/node/main.ts', environment())
    const { port } = await relay.waitFor('relay_started')
    const response = await fetch(`http://127.0.0.1:${port}/healthz`)
    expect([response.status, await response.json()]).toMatchObject([200, { status: 'ok' }])
    // longer than a proxy in front keeps its connections
    expect(response.headers.get('keep-alive')).toBe('timeout=130')
    expect(await relay.stop()).toEqual({ code: 0, signal: null })
    expect(relay.entries.at(-1)?.event).toBe('relay_stopped')
  })

  test('only its own user can read its folder and files', async () => {
    const FOGHORN_DATA = join(directory, 'new', 'data')
    const relay = new Program('relay', 'functions/host/node/main.ts', environment({ FOGHORN_DATA }))
    await relay.waitFor('relay_started')
    const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)
    expect(modeOf(FOGHORN_DATA)).toBe('700')
    const files = readdirSync(FOGHORN_DATA).map((name) => join(FOGHORN_DATA, name))
    expect(files.map(modeOf)).toEqual(files.map(() => '600'))
    expect(files).toContain(join(FOGHORN_DATA, 'foghorn.sqlite'))
    await relay.stop()
  })

  test.each([
    [{}, '127.0.0.1'],
    [{ HOST: '127.0.0.2' }, '127.0.0.2'],
  ])('%o: listens on %s only', async (changes, address) => {
    // nobody else listens there, on whatever address
    const PORT = String(await freePort())
    const own = environment({ ...changes, PORT })
    const relay = new Program('relay', 'functions/host/node/main.ts', own)
    const { port } = await relay.waitFor('relay_started')
    const heard = ['127.0.0.1', '127.0.0.2'].map((one) =>
      fetch(`http://${one}:${port}/healthz`).then(
        () => one,
        () => 'nobody',
      ),
    )
    expect((await Promise.all(heard)).filter((one) => one !== 'nobody')).toEqual([address])
    await relay.stop()
  })

  test('the error for a port in use names the setting', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const PORT = String((taken.address() as AddressInfo).port)
    const relay = new Program('relay', 'functions/host/node/main.ts', environment({ PORT }))
    expect(await relay.exited).toEqual({ code: 2, signal: null })
    await relay.ended
    expect(relay.output).toContain(`Port ${PORT} on 127.0.0.1 is in use`)
    expect(relay.output).toContain('set PORT to another port')
    taken.close()
  })

  test('a new database is said in the log, with its place', async () => {
    const FOGHORN_DATA = join(directory, 'fresh')
    const start = async () => {
      const changes = environment({ FOGHORN_DATA })
      const relay = new Program('relay', 'functions/host/node/main.ts', changes)
      await relay.waitFor('relay_started')
      await relay.stop()
      return relay.entries.filter(({ event }) => event === 'database_created')
    }
    expect(await start()).toMatchObject([{ path: join(FOGHORN_DATA, 'foghorn.sqlite') }])
    expect(await start()).toEqual([])
  })

  test('a second relay on the same folder is refused, and the first goes on', async () => {
    const own = environment()
    const first = new Program('first', 'functions/host/node/main.ts', own)
    await first.waitFor('relay_started')
    const second = new Program('second', 'functions/host/node/main.ts', own)
    expect(await second.exited).toEqual({ code: 2, signal: null })
    await second.ended
    expect(second.output).toContain('Another relay is using')
    expect(await first.stop()).toEqual({ code: 0, signal: null })
  })

  test('a request that never ends does not prevent the end', async () => {
    const relay = new Program('relay', 'functions/host/node/main.ts', environment())
    const { port } = await relay.waitFor('relay_started')
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write('POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc')
    relay.kill('SIGTERM')
    expect(await relay.exited).toEqual({ code: 0, signal: null })
  })

  test('an open stream does not prevent the end', async () => {
    const key = { FOGHORN_ADMIN_KEY: adminKey }
    const relay = new Program('relay', 'functions/host/node/main.ts', environment(key))
    const { port } = await relay.waitFor('relay_started')
    const headers = { authorization: `Bearer ${adminKey}` }
    const stream = await fetch(`http://127.0.0.1:${port}/v1/events/stream`, { headers })
    relay.kill('SIGTERM')
    expect(await stream.text()).toMatch(/^retry: 2000\nid: .*\n\n$/)
    expect(await relay.exited).toEqual({ code: 0, signal: null })
  })

  test('held answers are given before the end', async () => {
    const relay = new Program('relay', 'functions/host/node/main.ts', environment())
    const { port } = await relay.waitFor('relay_started')
    const request = (path: string, init: RequestInit) =>
      fetch(`http://127.0.0.1:${port}${path}`, init)
    const beacon = new WaitingBeacon({ app: { request }, clock: { now: Date.now() } }, 'web_0')
    const events = [event({ notBeforeAt: Date.now() + 600_000 })]
    expect((await beacon.sees(events)).waitMs).toBeGreaterThan(0)
    const before = relay.entries.length
    const held = beacon.waits(events)
    // it is answered after the one that is held
    const other = new WaitingBeacon({ app: { request }, clock: { now: Date.now() } }, 'web_1')
    await other.sees([])
    expect(relay.entries.slice(before).map(({ event: name }) => name)).toContain(
      'beacon_first_heard',
    )
    relay.kill('SIGTERM')
    expect(await held).toMatchObject({ outcome: 'accepted', paceMs: 2_000 })
    expect((await held).waitMs).toBeUndefined()
    expect(await relay.exited).toEqual({ code: 0, signal: null })
  })

  test('a body that is too large breaks no other request on its connection', async () => {
    const relay = new Program('relay', 'functions/host/node/main.ts', environment())
    const { port } = await relay.waitFor('relay_started')
    const socket = connect(Number(port), '127.0.0.1')
    const answers = text(socket)
    socket.write('POST /v1/reports HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    const piece = `4000\r\n${'a'.repeat(0x4000)}\r\n`
    for (let sent = 0; sent < 4 * maxReportBytes; sent += 0x4000) {
      if (!socket.write(piece)) await once(socket, 'drain')
    }
    socket.write('0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const statuses = [...(await answers).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code)
    expect(statuses).toEqual(['413', '200'])
    await relay.stop()
  })

  test('a wrong configuration ends it with code 2 and a sentence, without the secret', async () => {
    const file = join(directory, 'wrong.json')
    const routes = [{ match: {}, channels: ['nowhere'] }]
    writeFileSync(file, JSON.stringify({ ...baseConfig, routes }))
    const settings = environment({ FOGHORN_CONFIG: file })
    const relay = new Program('relay', 'functions/host/node/main.ts', settings)
    expect(await relay.exited).toEqual({ code: 2, signal: null })
    await relay.ended
    expect(relay.output).toContain('routes[0].channels[0]: there is no channel "nowhere"')
    expect(relay.output).not.toContain(prodKey)
  })
})

describe.skipIf(process.platform === 'win32')('a new configuration', () => {
  const own = () => join(directory, 'reloaded.config.json')
  const writeOwn = (changes: object) =>
    writeFileSync(own(), JSON.stringify({ ...baseConfig, ...changes }))
  let relay: Program
  let url: string

  beforeEach(async () => {
    writeOwn({})
    const settings = environment({
      FOGHORN_CONFIG: own(),
      FOGHORN_DATA: join(directory, `reload-${Math.random()}`),
      FOGHORN_ADMIN_KEY: adminKey,
    })
    relay = new Program('relay', 'functions/host/node/main.ts', settings)
    const started = await relay.waitFor('relay_started')
    url = `http://127.0.0.1:${started.port}`
  })
  afterEach(() => relay.stop())

  const ask = (path: string, method = 'GET') =>
    fetch(url + path, { method, headers: { authorization: `Bearer ${adminKey}` } })
  const channelNames = async () => {
    const { channels } = (await (await ask('/v1/channels')).json()) as {
      channels: { name: string }[]
    }
    return channels.map(({ name }) => name)
  }
  const other = {
    channels: { other: (baseConfig.channels as { hook: object }).hook },
    owners: undefined,
    routes: [{ match: {}, channels: ['other'] }],
  }

  test.each(['SIGHUP', 'the API'])('is taken after %s, on the same port', async (way) => {
    writeOwn(other)
    if (way === 'SIGHUP') relay.kill('SIGHUP')
    else expect((await ask('/v1/reload', 'POST')).status).toBe(202)
    await relay.waitFor('config_reloaded')
    expect(await channelNames()).toEqual(['other'])
  })

  test('is taken without a gap: each request meanwhile is answered, also on new connections', async () => {
    const statuses: number[] = []
    let isOver = false
    const asking = (async () => {
      while (!isOver) {
        const headers = { authorization: `Bearer ${adminKey}`, connection: 'close' }
        statuses.push((await fetch(`${url}/v1/channels`, { headers })).status)
      }
    })()
    for (let times = 0; times < 3; times++) {
      const six = await Promise.all(Array.from({ length: 6 }, () => ask('/v1/reload', 'POST')))
      expect(six.map(({ status }) => status)).toEqual(Array(6).fill(202))
    }
    isOver = true
    await asking
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(relay.entries.filter(({ event }) => event === 'relay_stopped')).toEqual([])
  })

  test('with a mistake changes nothing, and the mistake is named', async () => {
    const before = await channelNames()
    writeOwn({ ...other, publicUrl: 'x' })
    const answer = await ask('/v1/reload', 'POST')
    expect([answer.status, await answer.json()]).toMatchObject([
      409,
      { code: 'config_refused', detail: expect.stringContaining('publicUrl: write an https://') },
    ])
    relay.kill('SIGHUP')
    await expect
      .poll(() => relay.entries.filter(({ event }) => event === 'config_refused').length)
      .toBe(2)
    expect(await channelNames()).toEqual(before)
  })
})

test('the example configuration is complete and valid', () => {
  const file = new URL('../../infra/examples/full.config.json', import.meta.url)
  const config = readConfig(readFileSync(file, 'utf8'), {
    PROD_FLEET_KEY: prodKey,
    PAGERDUTY_ROUTING_KEY: 'a'.repeat(32),
    SLACK_WEBHOOK_URL: 'https://slack.example/x',
    SLACK_BOT_TOKEN: 'xoxb-not-a-token',
    TEAMS_WORKFLOW_URL: 'https://teams.example/x',
    INVENTORY_WEBHOOK_SECRET: prodKey,
  })
  expect(config.policy.map(({ decide }) => decide)).toEqual(['approve', 'approve', 'notify', 'ask'])
  expect(
    Object.values(config.channels)
      .map(({ kind }) => kind)
      .sort(),
  ).toEqual(['pagerduty', 'slack', 'slack_bot', 'teams', 'webhook'])
})
