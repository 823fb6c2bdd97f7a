// A beacon as a process, on Node or as the executable, with small servers for IMDS and the relay.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, vi } from 'vitest'
import type { Environment } from '../../beacon/variables.ts'
import { type Report, reportSchema } from '../../shared/report.ts'
import { beaconCommand, type Way } from '../support/beacon-ways.ts'
import { ofRun } from '../support/process.ts'
import { aDirective } from './agent-world.ts'
import { instanceOf } from './events.ts'
import { type Asked, type Entry, fleetKey, serve, temporaryDirectory } from './world.ts'

export const waitLimit = { timeout: 20_000, interval: 10 }

/** `environment` is all that it sees. */
export async function start(
  way: Way,
  environment: Environment,
  { cwd = temporaryDirectory(), words = [] as string[] } = {},
) {
  const [program = '', ...first] = await beaconCommand(way)
  const child = spawn(program, [...first, ...words], {
    cwd,
    env: { ...ofRun(), ...environment },
  })
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

/** Sends SIGTERM, and waits for the end. */
export async function endOf({ child, exited }: { child: ChildProcess; exited: Promise<number> }) {
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

/** An IMDS with one event. */
export function serveImds() {
  return serve(({ url, method }, response) => {
    if (method === 'POST') response.end()
    else if (url.startsWith('/metadata/instance')) response.end(instanceOf('vm1'))
    else response.end(JSON.stringify({ DocumentIncarnation: 1, Events: [event] }))
  })
}

/** An IMDS with one event, and a relay that directs to start it. */
export async function setUp(changes: Environment = {}) {
  const imds = await serveImds()
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
    FOGHORN_POLL_SECONDS: '0.3',
    FOGHORN_LOG_LEVEL: 'debug',
    ...changes,
  }
  return { imds, relay, environment }
}

export function reportOf({ body }: Asked): Report {
  return reportSchema.parse(JSON.parse(body))
}
