// The beacon as a process, on Node and as the executable: how it starts, what it prints, how it ends.
import { describe, expect, test, vi } from 'vitest'
import type { Environment } from '../../beacon/variables.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { ways } from '../support/beacon-ways.ts'
import * as beacons from './process.ts'
import { endOf, reportOf, setUp, waitLimit } from './process.ts'
import { fleetKey, serve } from './world.ts'

describe.each(ways)('$title', ({ way, isSkipped }) => {
  type Options = Parameters<typeof beacons.start>[2]
  const start = (environment: Environment, options: Options = {}) =>
    beacons.start(way, environment, options)

  test.skipIf(isSkipped)(
    'it polls, reports, carries out directives, and stops on a signal',
    async () => {
      const { imds, relay, environment } = await setUp()
      const beacon = await start(environment)
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
    },
  )

  test.skipIf(isSkipped)('it ends at once also while everybody hangs', async () => {
    const silent = await serve(() => {})
    const { environment } = await setUp({ FOGHORN_IMDS_URL: silent.origin })
    const beacon = await start(environment)
    await vi.waitFor(() => expect(silent.asked.length).toBeGreaterThan(1), waitLimit)
    const { code, tookMs } = await endOf(beacon)
    expect(code).toBe(0)
    expect(tookMs).toBeLessThan(1_000)
  })

  test.skipIf(isSkipped)('it reaches IMDS past every proxy, as itself', async () => {
    const proxy = await serve((_, response) => response.writeHead(502).end())
    const { imds, relay, environment } = await setUp({
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: proxy.origin,
      http_proxy: proxy.origin,
      ALL_PROXY: proxy.origin,
      HTTPS_PROXY: proxy.origin,
    })
    const beacon = await start(environment)
    await beacon.logged('start_requested')
    expect(proxy.asked).toEqual([])
    expect(relay.asked).not.toEqual([])
    for (const { headers } of imds.asked) {
      expect(headers).not.toHaveProperty('x-forwarded-for')
      expect(headers).not.toHaveProperty('via')
      expect(headers.metadata).toBe('true')
    }
  })

  test.skipIf(isSkipped)('a second one on the same state directory gives way', async () => {
    const { environment } = await setUp()
    const first = await start(environment)
    await first.logged('report_accepted')
    const second = await start(environment, { cwd: first.cwd })
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

  test.skipIf(isSkipped)(
    'with wrong settings it lists all mistakes, and exits with 2',
    async () => {
      const beacon = await start({
        FOGHORN_RELAY_URL: 'relay',
        FOGHORN_FLEET_KEY: 'whsec_hunter22',
      })
      expect(await beacon.exited).toBe(2)
      expect(beacon.output.stdout).toBe('')
      const lines = beacon.output.stderr.trim().split('\n')
      expect(lines.map((line) => line.split(' ')[0])).toEqual([
        'FOGHORN_RELAY_URL',
        'FOGHORN_FLEET',
        'FOGHORN_FLEET_KEY',
      ])
      expect(beacon.output.stderr).not.toContain('hunter22')
    },
  )

  test.skipIf(isSkipped)('the state directory of a beacon that was killed is free', async () => {
    const { environment } = await setUp()
    const first = await start(environment)
    await first.logged('report_accepted')
    first.child.kill('SIGKILL')
    await first.exited
    const second = await start(environment, { cwd: first.cwd })
    await second.logged('report_accepted')
  })

  test.skipIf(isSkipped)('--version, and a word that is no command', async () => {
    const known = await start({}, { words: ['--version'] })
    expect(await known.exited).toBe(0)
    expect(known.output).toEqual({ stdout: `foghorn-beacon ${packageJson.version}\n`, stderr: '' })
    // the runtime knows this one
    const unknown = await start({}, { words: ['-e'] })
    expect(await unknown.exited).toBe(2)
    expect(unknown.output).toEqual({ stdout: '', stderr: expect.stringContaining('"-e"') })
  })
})
