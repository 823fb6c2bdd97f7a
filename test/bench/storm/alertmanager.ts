// Prometheus Alertmanager as the target of the same storm, where it is installed: each report is a POST
// of one alert, one group for each event, one webhook. It keeps alerts in memory only.
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { close, HOST, listen } from '../../simulator/http.ts'
import { postBytes } from './load.ts'
import type { Prepare } from './plan.ts'
import { type StormSink, startStormSink } from './sink.ts'
import { type Target, tieToThisProcess } from './target.ts'

export const alertmanagerName = 'prometheus-alertmanager'

const readyMs = 15_000
const askAgainMs = 50
const killAfterMs = 5_000
/** An alert has begun before it is told, or it could not have ended by then. */
const sinceMs = 60_000

/** Where it is, or undefined where it is not installed. */
export function findAlertmanager(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, alertmanagerName)).find(isExecutable)
}

export async function startAlertmanager(path: string): Promise<Target> {
  const sink = await startStormSink(({ groupLabels, status }) => ({
    eventId: groupLabels.event,
    moment: status,
  }))
  const directory = await mkdtemp(join(tmpdir(), 'foghorn-alertmanager-'))
  const folder = join(directory, 'data')
  let child: ChildProcess | undefined
  let untie = () => {}
  const stop = async () => {
    if (child !== undefined) await end(child)
    untie()
    await sink.stop()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const port = await freePort()
    const file = join(directory, 'alertmanager.json')
    await writeFile(file, JSON.stringify(configFor(sink)))
    child = run(path, file, folder, port)
    if (child.pid !== undefined) untie = tieToThisProcess(child.pid, directory)
    await ready(child, port)
    return {
      pid: child.pid!,
      port,
      folder,
      sink,
      prepare: preparation(port),
      stop,
      first: 'firing',
      moments: ['firing', 'resolved'],
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** JSON is YAML. It says an end within 10 s, as the relay does; what still fires is not repeated. */
function configFor(sink: StormSink) {
  const times = { group_wait: '0s', group_interval: '10s', repeat_interval: '24h' }
  const route = { receiver: 'sink', group_by: ['event'], ...times }
  const receiver = { name: 'sink', webhook_configs: [{ url: sink.url, send_resolved: true }] }
  return { route, receivers: [receiver] }
}

function run(path: string, file: string, folder: string, port: number): ChildProcess {
  const flags = [
    `--config.file=${file}`,
    `--storage.path=${folder}`,
    `--web.listen-address=${HOST}:${port}`,
    // alone: no gossip with others
    '--cluster.listen-address=',
    '--log.level=error',
  ]
  return spawn(path, flags, { stdio: ['ignore', 'ignore', 'inherit'] })
}

async function ready(child: ChildProcess, port: number): Promise<void> {
  const failed = new Promise<never>((_, reject) => child.once('error', reject))
  const deadline = Date.now() + readyMs
  const ask = () => fetch(`http://${HOST}:${port}/-/ready`).catch(() => undefined)
  while (!(await Promise.race([ask(), failed]))?.ok) {
    if (child.exitCode !== null) throw new Error(`${alertmanagerName} ended: ${child.exitCode}`)
    if (Date.now() > deadline) throw new Error(`${alertmanagerName} does not answer`)
    await sleep(askAgainMs)
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  await exited
  clearTimeout(timer)
}

/** All members of an event tell the same alert, so that it is one for Alertmanager too. */
function preparation(port: number): Prepare {
  const startsAt = new Date(Date.now() - sinceMs).toISOString()
  return (eventId, event, _member, change) => {
    const alert = {
      labels: { alertname: 'AzureMaintenance', event: eventId },
      annotations: {
        status: change === 'scheduled' ? 'Scheduled' : 'Started',
        summary: `Reboot of web${event}_0`,
        description: 'Virtual machine is going to be restarted as requested by authorized user.',
      },
      startsAt,
      ...(change === 'gone' ? { endsAt: new Date().toISOString() } : {}),
    }
    return postBytes(port, '/api/v2/alerts', {}, JSON.stringify([alert]))
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    // not in this folder
    return false
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listen(server, 0)
  await close(server)
  return port
}
