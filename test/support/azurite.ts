// A real Azurite for tests: on ports of its own, gone with the test run.
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const script = join(root, 'node_modules/azurite/dist/src/azurite.js')
const startMs = 30_000

/** The account and key that every Azurite has: https://learn.microsoft.com/azure/storage/common/storage-connect-azurite */
const account = 'devstoreaccount1'
const key =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

export interface Azurite {
  connection: string
  /** Ends it as an outage; what was written is there again after `resume`, where it has a directory. */
  halt(): Promise<void>
  /** On the same ports. */
  resume(): Promise<void>
  stop(): Promise<void>
}

/** `directory`: where it keeps its files; in memory, where nothing is said. */
export async function startAzurite(directory?: string): Promise<Azurite> {
  const ports = await freePorts(3)
  const [blob, queue, table] = ports
  let running = await run(ports, directory)
  const endpoint = (port: number | undefined) => `http://127.0.0.1:${port}/${account}`
  return {
    connection: [
      'DefaultEndpointsProtocol=http',
      `AccountName=${account}`,
      `AccountKey=${key}`,
      `BlobEndpoint=${endpoint(blob)}`,
      `QueueEndpoint=${endpoint(queue)}`,
      `TableEndpoint=${endpoint(table)}`,
    ].join(';'),
    // it writes its files when it is asked to end, and hardly before
    halt: () => running.end('SIGTERM'),
    async resume() {
      running = await run(ports, directory)
    },
    stop: () => running.end('SIGKILL'),
  }
}

async function run(ports: number[], directory?: string) {
  const [blob, queue, table] = ports
  const places = directory ? ['--location', directory] : ['--inMemoryPersistence']
  const words = ['--blobPort', blob, '--queuePort', queue, '--tablePort', table].map(String)
  const args = [script, ...places, '--silent', '--disableTelemetry', ...words]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let said = ''
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`Azurite did not start: ${said}`)), startMs)
    const hear = (chunk: Buffer) => {
      said += chunk
      if (!said.includes('Table service is successfully listening')) return
      clearTimeout(late)
      resolve()
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.once('exit', () => reject(new Error(`Azurite ended: ${said}`)))
  })
  return {
    async end(signal: NodeJS.Signals) {
      child.kill(signal)
      await ended
    },
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
