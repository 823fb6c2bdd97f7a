// Beacon and runner as processes, with real hooks: who gets what, and what a crash leaves.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Environment } from '../../../beacon/variables.ts'
import { type Hook, type HookRun, reportSchema } from '../../../shared/report.ts'
import { beaconCommand, usualWay } from '../../support/beacon-ways.ts'
import { ofRun } from '../../support/process.ts'
import { instanceOf } from '../events.ts'
import { type Entry, fleetKey, serve } from '../world.ts'
import { hookFolder, isAlive, waitLimit } from './folder.ts'

/** A VM with an event in five minutes, a relay, and a folder for everything that is written. */
async function aVm(programs: Partial<Record<Hook, string>>) {
  const place = hookFolder(programs)
  const event = {
    ...{ EventId: 'ABC-1', EventType: 'Reboot', EventStatus: 'Scheduled', Resources: ['vm1'] },
    NotBefore: new Date(Date.now() + 300_000).toUTCString(),
  }
  const world = { events: [event] }
  const imds = await serve(({ url }, response) => {
    if (url.startsWith('/metadata/instance')) response.end(instanceOf('vm1'))
    else response.end(JSON.stringify({ DocumentIncarnation: 1, Events: world.events }))
  })
  const relay = await serve((_, response) => {
    response.end(JSON.stringify({ outcome: 'accepted', time: 1, paceMs: 300, directives: [] }))
  })
  const reports = () =>
    relay.asked
      .filter(({ method }) => method === 'POST')
      .map(({ body }) => reportSchema.parse(JSON.parse(body)))
  const state = (hook: Hook) =>
    reports()
      .at(-1)
      ?.hooks?.runs.find((run) => run.hook === hook)
  const reported = (hook: Hook, expected: HookRun['state']) =>
    vi.waitFor(() => {
      expect(state(hook)?.state).toBe(expected)
      return state(hook)
    }, waitLimit)
  const runFolder = join(place.directory, 'run')
  const socket = join(runFolder, 'hooks.sock')
  const forHooks = {
    ...{ FOGHORN_HOOKS: place.folder, FOGHORN_HOOK_SOCKET: socket, PATH: process.env.PATH },
  }
  const forBeacon = {
    ...{ FOGHORN_RELAY_URL: relay.origin, FOGHORN_IMDS_URL: imds.origin, FOGHORN_FLEET: 'shop' },
    ...{ FOGHORN_FLEET_KEY: fleetKey, FOGHORN_POLL_SECONDS: '0.3', ...forHooks },
    FOGHORN_STATE_DIR: join(place.directory, 'state'),
  }
  const run = (words: string[], environment: Environment) =>
    start(words, environment, place.directory)
  return {
    ...{ ...place, world, reports, reported, socket, forHooks },
    startRunner: (environment: Environment = forHooks) => run(['hooks'], environment),
    startBeacon: (...words: string[]) => run(words, forBeacon),
  }
}

async function start(words: string[], environment: Environment, cwd: string) {
  const [program = '', ...first] = await beaconCommand(usualWay)
  const env = { ...ofRun(), ...environment }
  const child = spawn(program, [...first, ...words], { cwd, env })
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk
  })
  const exited = once(child, 'close').then(([code]) => code as number | null)
  const named = (event: string) =>
    output.stdout
      .split('\n')
      .slice(0, -1)
      .map((line): Entry => JSON.parse(line))
      .filter((entry) => entry.event === event)
  const logged = (event: string) =>
    vi.waitFor(() => {
      expect(named(event), `${event} in ${output.stdout}${output.stderr}`).not.toEqual([])
      return named(event)[0]!
    }, waitLimit)
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    return exited
  }
  return { output, exited, named, logged, end }
}

test('a VM prepares, is restored after the event, and its reports say so', async () => {
  const vm = await aVm({
    prepare: 'env >> $NOTES; cat >> $NOTES; echo drained',
    restore: 'echo restore >> $NOTES; exit 4',
  })
  const runner = await vm.startRunner()
  await runner.logged('hook_runner_started')
  const beacon = await vm.startBeacon()
  expect(await vm.reported('prepare', 'succeeded')).toMatchObject({ note: 'drained' })
  const states = vm.reports().flatMap(({ hooks }) => hooks?.runs.map(({ state }) => state) ?? [])
  expect(states[0]).toBe('planned')
  expect(vm.reports().at(-1)?.hooks?.available).toEqual(['prepare', 'restore'])

  vm.world.events = []
  expect(await vm.reported('restore', 'failed')).toMatchObject({ exitCode: 4 })
  expect(vm.noted().at(-1)).toBe('restore')
  const json = vm.noted().find((line) => line.startsWith('{'))!
  expect(JSON.parse(json)).toMatchObject({ eventId: 'abc-1', vm: 'vm1', eventType: 'Reboot' })

  expect(await beacon.end('SIGTERM')).toBe(0)
  expect(await runner.end('SIGTERM')).toBe(0)
  expect(runner.named('hook_runner_stopped')).toHaveLength(1)
  expect(existsSync(vm.socket)).toBe(false)
  expect(runner.output.stderr + beacon.output.stderr).toBe('')
})

test('no setting of the beacon reaches a hook, even if both are one process', async () => {
  const vm = await aVm({
    prepare: 'env >> $NOTES; cat /proc/self/environ >> $NOTES; cat >> $NOTES',
  })
  const beacon = await vm.startBeacon('--with-hooks')
  await vm.reported('prepare', 'succeeded')
  const all = vm.noted().join('\n')
  expect(all).toContain('FOGHORN_EVENT_ID=abc-1')
  expect(all).not.toMatch(/FOGHORN_(?!EVENT_)/)
  expect(all).not.toContain(fleetKey.slice(6))
  expect(all).not.toContain('shop')
  expect(await beacon.end('SIGTERM')).toBe(0)
})

test('a runner with a wrong setting names it, and exits with 2', async () => {
  const vm = await aVm({})
  const runner = await vm.startRunner({
    ...vm.forHooks,
    FOGHORN_HOOKS: 'hooks',
    FOGHORN_LOG_LEVEL: 'x',
  })
  expect(await runner.exited).toBe(2)
  const lines = runner.output.stderr.trim().split('\n')
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['FOGHORN_HOOKS', 'FOGHORN_LOG_LEVEL'])
})

/** Begins slowly, and ends at once when it runs again. */
const slowOnce =
  'if [ -e $NOTES.again ]; then go=true; else touch $NOTES.again; go="sleep 60"; fi; echo $$ >> $NOTES; $go; echo done'

test('a hook runs again if its runner was killed in the middle', async () => {
  const vm = await aVm({ prepare: slowOnce })
  const runner = await vm.startRunner()
  const beacon = await vm.startBeacon()
  await vm.reported('prepare', 'running')
  await vi.waitFor(() => expect(vm.noted()).toHaveLength(1), waitLimit)
  await runner.end('SIGKILL')
  // as systemd does when the main process of a service ends
  process.kill(-Number(vm.noted()[0]), 'SIGKILL')
  await vm.startRunner()
  await vm.reported('prepare', 'succeeded')
  expect(vm.noted()).toHaveLength(2)
  expect(beacon.named('hook_runner_lost')).toHaveLength(1)
})

test('a runner that is stopped in the middle ends its hook, which runs again', async () => {
  const vm = await aVm({ prepare: `trap "" TERM; ${slowOnce}` })
  const runner = await vm.startRunner()
  await vm.startBeacon()
  await vi.waitFor(() => expect(vm.noted()).toHaveLength(1), waitLimit)
  expect(await runner.end('SIGTERM')).toBe(0)
  expect(isAlive(Number(vm.noted()[0]))).toBe(false)
  await vm.startRunner()
  await vm.reported('prepare', 'succeeded')
  const states = vm.reports().flatMap(({ hooks }) => hooks?.runs.map(({ state }) => state) ?? [])
  expect(states).not.toContain('failed')
})

test('a beacon that is killed in the middle finds the hook running, and no second one starts', async () => {
  const vm = await aVm({
    prepare: 'echo $$ >> $NOTES; while [ ! -e $NOTES.go ]; do sleep 0.1; done; touch $NOTES.end',
  })
  await vm.startRunner()
  const beacon = await vm.startBeacon()
  await vm.reported('prepare', 'running')
  await beacon.end('SIGKILL')
  const next = await vm.startBeacon()
  await next.logged('hook_runner_reached')
  await vm.reported('prepare', 'running')
  writeFileSync(`${vm.notes}.go`, '')
  await vm.reported('prepare', 'succeeded')
  expect(vm.noted()).toHaveLength(1)
})
