// The beacon as a process: how it starts, what it prints, how it ends.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Environment } from '../../beacon/settings.ts'
import { reportSchema } from '../../shared/report.ts'
import { aDirective } from './agent-world.ts'
import { type Asked, type Entry, fleetKey, serve, temporaryDirectory } from './world.ts'

const main = join(import.meta.dirname, '../../beacon/main.ts')

function start(environment: Environment, cwd = temporaryDirectory()) {
  const child = spawn(process.execPath, [main], { cwd, env: environment })
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += chunk))
  child.stderr.on('data', (chunk) => (output.stderr += chunk))
  const exited = once(child, 'close').then(([code]) => code as number)
  const entries = () =>
    output.stdout
      .split('\n')
      .slice(0, -1)
      .map((line): Entry => JSON.parse(line))
  const logged = (event: string) =>
    vi.waitFor(() => {
      const found = entries().filter((entry) => entry.event === event)
      expect(found, `${event} in ${output.stdout}${output.stderr}`).not.toEqual([])
      return found
    }, waitLimit)
  return { child, cwd, output, exited, entries, logged }
}

const waitLimit = { timeout: 10_000, interval: 10 }

async function endOf({ child, exited }: { child: ChildProcess; exited: Promise<number> }) {
  const askedAt = performance.now()
  child.kill('SIGTERM')
  return { code: await exited, tookMs: performance.now() - askedAt }
}

const event = {
  EventId: 'ABC-1',
  EventType: 'Reboot',
  EventStatus: 'Scheduled',
  Resources: ['vm1'],
  NotBefore: 'Thu, 01 Jan 2026 01:00:00 GMT',
}

/** An IMDS with one event and a relay that directs to start it. */
async function setUp(changes: Environment = {}) {
  const imds = await serve(({ url, method }, response) => {
    if (method === 'POST') response.end()
    else if (url.startsWith('/metadata/instance')) response.end('{"compute":{"name":"vm1"}}')
    else response.end(JSON.stringify({ DocumentIncarnation: 1, Events: [event] }))
  })
  const relay = await serve((asked, response) => {
    const shown = reportOf(asked).document?.events ?? []
    const directives = shown.map(({ eventId }) => aDirective({ eventId }))
    response.end(JSON.stringify({ outcome: 'accepted', time: 1, paceMs: 500, directives }))
  })
  const environment = {
    FOGHORN_RELAY_URL: relay.origin,
    FOGHORN_IMDS_URL: imds.origin,
    FOGHORN_FLEET: 'shop',
    FOGHORN_FLEET_KEY: fleetKey,
    FOGHORN_POLL_SECONDS: '0.2',
    FOGHORN_LOG_LEVEL: 'debug',
    ...changes,
  }
  return { imds, relay, environment }
}

function reportOf({ body }: Asked) {
  return reportSchema.parse(JSON.parse(body))
}

test('it polls, reports, carries out directives, and stops on a signal', async () => {
  const { imds, relay, environment } = await setUp()
  const beacon = start(environment)
  const [requested] = await beacon.logged('start_requested')
  expect(requested).toMatchObject({ eventId: 'abc-1', outcome: 'accepted', status: 200 })
  await vi.waitFor(() => {
    const starts = relay.asked.flatMap((asked) => reportOf(asked).starts)
    expect(starts[0]).toMatchObject({ eventId: 'abc-1', outcome: 'accepted' })
  }, waitLimit)
  const approval = imds.asked.find(({ method }) => method === 'POST')
  expect(approval?.body).toBe('{"StartRequests":[{"EventId":"ABC-1"}]}')

  const { code, tookMs } = await endOf(beacon)
  expect(code).toBe(0)
  expect(tookMs).toBeLessThan(5_000)
  const said = relay.asked.map((asked) => reportOf(asked).goodbye)
  expect(said.filter((goodbye) => goodbye !== undefined)).toEqual(['stopped'])
  expect(said.at(-1)).toBe('stopped')
  const events = beacon.entries().map((entry) => entry.event)
  expect(events[0]).toMatch(/beacon_started|event_seen|hook_runner_absent/)
  expect(events).toEqual(expect.arrayContaining(['directive_received', 'report_accepted']))
  expect(events.at(-1)).toBe('beacon_stopped')
  const [started] = beacon.entries().filter((entry) => entry.event === 'beacon_started')
  expect(started).toMatchObject({
    vm: 'vm1',
    fleet: 'shop',
    imds: imds.origin,
    relay: relay.origin,
  })
  expect(beacon.output.stdout).not.toContain(fleetKey.slice(6))
  expect(beacon.output.stderr).toBe('')
})

test('it ends at once also while everybody hangs', async () => {
  const silent = await serve(() => {})
  const { environment } = await setUp({ FOGHORN_IMDS_URL: silent.origin })
  const beacon = start(environment)
  await vi.waitFor(() => expect(silent.asked.length).toBeGreaterThan(1), waitLimit)
  const { code, tookMs } = await endOf(beacon)
  expect(code).toBe(0)
  expect(tookMs).toBeLessThan(1_000)
})

test('it reaches IMDS past every proxy, as itself', async () => {
  const proxy = await serve((_, response) => response.writeHead(502).end())
  const { imds, relay, environment } = await setUp({
    NODE_USE_ENV_PROXY: '1',
    HTTP_PROXY: proxy.origin,
    http_proxy: proxy.origin,
    ALL_PROXY: proxy.origin,
    HTTPS_PROXY: proxy.origin,
  })
  const beacon = start(environment)
  await beacon.logged('start_requested')
  expect(proxy.asked).toEqual([])
  expect(relay.asked).not.toEqual([])
  for (const { headers } of imds.asked) {
    expect(headers).not.toHaveProperty('x-forwarded-for')
    expect(headers).not.toHaveProperty('via')
    expect(headers.metadata).toBe('true')
  }
})

test('a second one on the same state directory gives way', async () => {
  const { environment } = await setUp()
  const first = start(environment)
  await first.logged('report_accepted')
  const second = start(environment, first.cwd)
  expect(await second.exited).toBe(1)
  expect(second.entries()).toMatchObject([
    {
      event: 'beacon_failed',
      code: 'state_dir_in_use',
      error: expect.stringContaining('.foghorn-beacon is in use by another beacon'),
    },
  ])
  expect(first.child.exitCode).toBeNull()
})

test('with wrong settings it lists all mistakes, and exits with 2', async () => {
  const beacon = start({ FOGHORN_RELAY_URL: 'relay', FOGHORN_FLEET_KEY: 'whsec_hunter22' })
  expect(await beacon.exited).toBe(2)
  expect(beacon.output.stdout).toBe('')
  const lines = beacon.output.stderr.trim().split('\n')
  expect(lines.map((line) => line.split(' ')[0])).toEqual([
    'FOGHORN_RELAY_URL',
    'FOGHORN_FLEET',
    'FOGHORN_FLEET_KEY',
  ])
  expect(beacon.output.stderr).not.toContain('hunter22')
})
