// What a beacon costs its VM: memory by kind, processor time, start, growth. The executable, the same
// just installed and at two polls a second, and the bundle on Node run side by side, for an hour or as
// long as is said, with an event every few minutes. They report to a relay process by https.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { copyFile, open } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer } from 'node:tls'
import { promisify } from 'node:util'
import { type BuildOptions, build } from 'esbuild'
import { buildBeacon } from '../../infra/vm/executable.ts'
import { ownTarget } from '../../infra/vm/runtimes.ts'
import { createAuthority } from '../support/certificate.ts'
import type { Program } from '../support/process.ts'
import { type Stage, startStage } from '../support/stage.ts'
import { type Figure, percentile } from './figures.ts'
import { cpuSeconds, memoryByKind } from './usage.ts'

/** A cycle has a time without events, then a time with one. Short runs have shorter cycles. */
const longestCycleMs = 5 * 60_000
const leastCycles = 3
/** Of a cycle. */
const idleShare = 0.6
/** After a change, before processor time is counted. */
const settleMs = 3_000
const starts = 30

/** As infra/vm/foghorn-beacon.service sets it. Without it, the executable starts itself again. */
const serviceEnvironment = { BUN_JSC_useJIT: '0' }
const bundling: BuildOptions = {
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
}

interface Runner {
  name: string
  command: string[]
  environment: Record<string, string>
}

interface Measured {
  runner: Runner
  program: Program
  /** Processor seconds and wall seconds. */
  idle: { cpu: number; wall: number }
  busy: { cpu: number; wall: number }
  privateMb: number[]
}

export async function beacon(minutes: number): Promise<Figure[]> {
  const stage = await startStage({ vms: [['exe'], ['fast'], ['node']], way: 'node' })
  try {
    await stage.startRelay()
    const tls = await serveTls(stage)
    const runners = await prepare(stage.directory)
    const measured = runners.map((runner): Measured => {
      const environment = { ...tls.environment, ...runner.environment }
      const program = stage.startBeacon(runner.name, environment, runner.command)
      const none = () => ({ cpu: 0, wall: 0 })
      return { runner, program, idle: none(), busy: none(), privateMb: [] }
    })
    await Promise.all(measured.map(({ program }) => program.waitFor('relay_reached')))
    await runCycles(stage, measured, minutes * 60_000)
    const figures = measured.flatMap((one) => figuresOf(one, minutes))
    tls.close()
    return [...figures, ...(await startFigures(runners))]
  } finally {
    await stage.stop()
  }
}

async function prepare(directory: string): Promise<Runner[]> {
  const target = ownTarget()
  if (target === undefined) throw new Error('the executable is built and measured on Linux')
  const installed = join(directory, 'foghorn-beacon-installed')
  await buildBeacon(target, installed)
  const executable = join(directory, 'foghorn-beacon')
  await copyFile(installed, executable)
  for (const file of [installed, executable]) await flush(file)
  await forgetPages(executable)
  const bundle = join(directory, 'beacon.mjs')
  const entry = join(import.meta.dirname, '../../beacon/main.ts')
  await build({ entryPoints: [entry], outfile: bundle, ...bundling })
  const onNode = { NODE_COMPILE_CACHE: join(directory, 'cache') }
  return [
    { name: 'exe', command: [executable], environment: serviceEnvironment },
    {
      name: 'fast',
      command: [installed],
      environment: { ...serviceEnvironment, FOGHORN_POLL_SECONDS: '0.5' },
    },
    {
      name: 'node',
      command: [process.execPath, '--max-semi-space-size=1', bundle],
      environment: onNode,
    },
  ]
}

/** Pages of a file that are not on the disk yet would count as memory that the process has written. */
async function flush(file: string): Promise<void> {
  const handle = await open(file, 'r+')
  await handle.sync()
  await handle.close()
}

/**
 * As after a boot: the program is read from the disk as it is needed. Of a file that was just
 * written, the system maps pages that nobody needs.
 */
async function forgetPages(file: string): Promise<void> {
  await promisify(execFile)('dd', [`if=${file}`, 'iflag=nocache', 'count=0'])
}

/** An https address of the relay. */
async function serveTls(stage: Stage) {
  const authority = createAuthority()
  const file = join(stage.directory, 'authority.pem')
  writeFileSync(file, authority.certificate)
  const { certificate, key } = authority.issue()
  const server = createServer({ cert: certificate, key }, (socket) => {
    const relay = connect(Number(new URL(stage.relayUrl).port), '127.0.0.1')
    for (const end of [socket, relay]) end.on('error', () => end.destroy())
    socket.pipe(relay).pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return {
    environment: {
      FOGHORN_RELAY_URL: `https://127.0.0.1:${port}`,
      NODE_EXTRA_CA_CERTS: file,
      // as a VM runs it, where the log is written to the journal
      FOGHORN_LOG_LEVEL: 'info',
    },
    close: () => void server.close(),
  }
}

async function runCycles(stage: Stage, measured: Measured[], totalMs: number): Promise<void> {
  const cycles = Math.max(leastCycles, Math.round(totalMs / longestCycleMs))
  const cycleMs = totalMs / cycles
  for (let i = 0; i < cycles; i++) {
    await watch(measured, 'idle', cycleMs * idleShare)
    for (const one of measured) one.privateMb.push(memoryByKind(one.program.pid).privateDirtyMb)
    const events = measured.map(({ runner }) =>
      stage.simulator.createEvent({ EventType: 'Reboot', Resources: [runner.name] }),
    )
    await watch(measured, 'busy', cycleMs * (1 - idleShare))
    for (const eventId of events) stage.simulator.cancelEvent(eventId)
  }
}

async function watch(measured: Measured[], phase: 'idle' | 'busy', ms: number): Promise<void> {
  await sleep(settleMs)
  const before = measured.map(({ program }) => cpuSeconds(program.pid))
  const since = performance.now()
  await sleep(Math.max(0, ms - settleMs))
  for (const [i, one] of measured.entries()) {
    one[phase].cpu += cpuSeconds(one.program.pid) - before[i]!
    one[phase].wall += (performance.now() - since) / 1_000
  }
}

const titles: Record<string, string> = {
  exe: 'executable',
  fast: 'executable, just installed, two polls a second,',
  node: 'on Node',
}

function figuresOf(
  { runner, program, idle, busy, privateMb }: Measured,
  minutes: number,
): Figure[] {
  const { residentMb, privateDirtyMb, fileMb } = memoryByKind(program.pid)
  const percent = ({ cpu, wall }: { cpu: number; wall: number }) => (100 * cpu) / wall
  const growth = privateMb.at(-1)! - privateMb[0]!
  const figure = (name: string, value: number, unit: string) => {
    return { name: `beacon ${titles[runner.name]} ${name}`, value, unit }
  }
  return [
    figure('resident', residentMb, 'MB'),
    figure('private dirty', privateDirtyMb, 'MB'),
    figure('file-backed', fileMb, 'MB'),
    figure(`growth of private dirty in ${minutes} min`, growth, 'MB'),
    figure('processor, idle', percent(idle), '% of a core'),
    figure('processor, with an event open', percent(busy), '% of a core'),
  ]
}

/** From the start of the process to its end, because a setting is missing. */
async function startFigures(runners: Runner[]): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const { name, command, environment } of runners.filter(({ name }) => name !== 'fast')) {
    const times: number[] = []
    for (let i = 0; i < starts; i++) {
      const [program = '', ...words] = command
      const at = performance.now()
      const child = spawn(program, words, { env: environment, stdio: 'ignore' })
      await once(child, 'exit')
      times.push(performance.now() - at)
    }
    const value = percentile(times, 0.5)
    figures.push({ name: `beacon ${titles[name]} start to exit 2, p50`, value, unit: 'ms' })
  }
  return figures
}
