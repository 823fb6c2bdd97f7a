// `npm run listen` as a process, beside a relay on Node: what it prints and forwards, and that a relay
// that comes back costs it nothing.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { serve } from '@hono/node-server'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { buildQuery, listenToEvents as command } from '../../../functions/features/stream/cli.ts'
import { serverSent } from '../../../functions/features/stream/cli-events.ts'
import { refusalOf } from '../../support/command.ts'
import { Program } from '../../support/process.ts'
import { startRelay, world } from '../../support/relay.ts'
import { adminKey, event, FakeBeacon, prodKey } from '../../support/world.ts'

let server: Server
let port = 0
let programs: Program[] = []

beforeEach(async () => {
  await startRelay()
  await open(0)
})

afterEach(async () => {
  for (const program of programs) await program.stop()
  programs = []
  await close()
})

async function open(on: number): Promise<void> {
  const fetch = (request: Request) => world.app.fetch(request)
  await new Promise<void>((resolve) => {
    server = serve({ fetch, port: on, hostname: '127.0.0.1' }, (info) => {
      port = info.port
      resolve()
    }) as Server
  })
}

function close(): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

function listen(words: string[], more: Record<string, string> = {}): Program {
  const environment = {
    FOGHORN_URL: `http://127.0.0.1:${port}`,
    FOGHORN_ADMIN_KEY: adminKey,
    ...more,
  }
  const program = new Program('listen', 'infra/foghorn.mjs', environment, undefined, [
    'listen',
    ...words,
  ])
  programs.push(program)
  return program
}

/** Entries are the CloudEvents that `--json` prints. */
const typesIn = ({ entries }: Program) => entries.map(({ type }) => type)
const got = async (program: Program, count: number) => {
  while (program.entries.length < count) await program.somethingHappens(program.entries.length)
  return typesIn(program)
}

const steps = async (beacon: FakeBeacon) => {
  await beacon.sees([event()])
  world.clock.now += 60_000
  await beacon.sees([event({ status: 'Started' })])
}

test('prints no control characters of a name', async () => {
  const resources = ['web\u001b]0;x\u0007_0']
  await new FakeBeacon(world, 'web_0').sees([event({ resources })])
  const program = listen(['--all'])
  await vi.waitFor(() => expect(program.output).toContain('Reboot of web'), 15_000)
  expect(program.output).not.toContain('\u001b')
})

test('nor in JSON, of any kind', async () => {
  const resources = ['web\u009b2J\u202e_0']
  await new FakeBeacon(world, 'web_0').sees([event({ resources })])
  const program = listen(['--json', '--all'])
  await got(program, 1)
  expect(program.output).not.toMatch(/[\u0080-\u009f\u202e]/)
  expect((program.entries[0] as { subject?: string }).subject).toBeDefined()
})

test('prints what the relay has, and then what happens', async () => {
  const beacon = new FakeBeacon(world, 'web_0')
  await beacon.sees([event()])
  const program = listen(['--json', '--all'])
  expect(await got(program, 1)).toEqual(['foghorn.event.scheduled'])
  world.clock.now += 60_000
  await beacon.sees([event({ status: 'Started' })])
  expect(await got(program, 2)).toEqual(['foghorn.event.scheduled', 'foghorn.event.started'])
})

test('misses nothing while the relay is away', async () => {
  const beacon = new FakeBeacon(world, 'web_0')
  await beacon.sees([event()])
  const program = listen(['--json', '--all'])
  await got(program, 1)
  await close()
  world.clock.now += 60_000
  await beacon.sees([event({ status: 'Started' })])
  await open(port)
  expect(await got(program, 2)).toEqual(['foghorn.event.scheduled', 'foghorn.event.started'])
})

test('polls a host that cannot hold a connection', async () => {
  world.relay.host.holdsConnections = false
  await steps(new FakeBeacon(world, 'web_0'))
  const program = listen(['--json', '--all', '--moment', 'started'])
  expect(await got(program, 1)).toEqual(['foghorn.event.started'])
})

test('forwards each step, signed', async () => {
  const received: { id: string; type: string }[] = []
  const webhook = new Webhook(prodKey)
  const receiver = createServer(async (request, response) => {
    const verified = webhook.verify(await text(request), request.headers as Record<string, string>)
    received.push(verified as { id: string; type: string })
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port: to } = receiver.address() as AddressInfo
  await steps(new FakeBeacon(world, 'web_0'))
  const words = ['--json', '--all', '--forward', `http://127.0.0.1:${to}/in`]
  const program = listen(words, { FOGHORN_WEBHOOK_SECRET: prodKey })
  await got(program, 2)
  await expect.poll(() => received.map(({ type }) => type)).toEqual(typesIn(program))
  receiver.close()
})

test.each([
  [[], { FOGHORN_ADMIN_KEY: 'wrong' }, /HTTP 401/],
  [[], { FOGHORN_ADMIN_KEY: '' }, /FOGHORN_TOKEN is not set/],
  [['--fleet', 'nowhere'], {}, /there is no fleet "nowhere"/],
])('%j with %o ends with code 2 and says why', async (words, more, says) => {
  const program = listen(words, more)
  expect(await program.exited).toEqual({ code: 2, signal: null })
  await program.ended
  expect(program.output.replaceAll('\n', ' ')).toMatch(says)
})

describe('arguments', () => {
  test('become a query', () => {
    const query = buildQuery({ fleet: ['a', 'b'], type: ['reboot'], resource: 'web_*' })
    expect(String(query)).toBe('fleet=a&fleet=b&type=Reboot&resource=web_*')
  })

  test.each([
    [['--type', 'Nap'], /there is no "Nap"; write Freeze/],
    [['--moment', 'start'], /there is no "start"; write scheduled/],
    [['--forward', 'http://example.com/in'], /write http:\/\/localhost/],
    [['web_0'], /"web_0" is one word too many/],
  ])('%j are refused', async (words, says) => {
    expect(await refusalOf(command, words)).toMatch(says)
  })
})

test('server-sent events are read however the chunks are cut', async () => {
  const body = Buffer.from(
    'retry: 1\nid: 0\n\n: heartbeat\nid: 1\n\nid: 2\ndata: {"ü":1}\n\nid: 3\nda',
  )
  for (const size of [1, 2, 7, body.length]) {
    const chunks = async function* () {
      for (let i = 0; i < body.length; i += size) yield body.subarray(i, i + size)
    }
    const read = []
    for await (const one of serverSent(chunks())) read.push(one)
    expect(read).toEqual([
      { id: '0', data: undefined },
      { id: '1', data: undefined },
      { id: '2', data: '{"ü":1}' },
    ])
  }
})
