// A real Azurite for tests: on ports of its own, gone with the test run. Two in memory serve all test files
// of a run, since a start and the first requests cost most: each test has an account of its own there.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { TableClient } from '@azure/data-tables'
import { AzureTable } from '../../functions/store/azure/table.ts'

const root = join(import.meta.dirname, '..', '..')
const script = join(root, 'node_modules/azurite/dist/src/azurite.js')
const startMs = 30_000

/** The account and key that every Azurite has: https://learn.microsoft.com/azure/storage/common/storage-connect-azurite */
const usualAccount = 'devstoreaccount1'
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

/** Tests that count on the times of a relay do not wait behind those that write thousands of rows. */
type Users = 'tables' | 'relays'

/** Without a directory, an empty account in the Azurite of the test run; outside of tests, an Azurite in memory. */
export async function startAzurite(directory?: string, users: Users = 'tables'): Promise<Azurite> {
  const { FOGHORN_TEST_AZURITE } = process.env
  if (FOGHORN_TEST_AZURITE !== undefined && directory === undefined) {
    const connection = await accountFrom(`${FOGHORN_TEST_AZURITE}/${users}`)
    const refuse = () => Promise.reject(new Error('others use it too; give it a directory'))
    return { connection, halt: refuse, resume: refuse, stop: async () => {} }
  }
  const ports = await freePorts(3)
  let running = await run(ports, directory)
  return {
    connection: connectionTo(usualAccount, ports),
    // it writes its files when it is asked to end, and hardly before
    halt: () => running.end('SIGTERM'),
    async resume() {
      running = await run(ports, directory)
    },
    stop: () => running.end('SIGKILL'),
  }
}

async function accountFrom(url: string): Promise<string> {
  const response = await fetch(url)
  if (!response.ok) throw new Error('Azurite did not start, or all of its accounts are taken')
  return response.text()
}

/** Another program may take a port before Azurite does. */
const maxStarts = 3

const accounts = Array.from({ length: 500 }, (_, i) => `test${i}`)

/** Answers every request with the connection to an account that nobody has yet. Starts an Azurite for each path. */
export async function serveAccounts(): Promise<{ url: string; stop(): Promise<void> }> {
  const free = accounts.values()
  const start = async (tries = maxStarts): Promise<Running & { ports: number[] }> => {
    const ports = await freePorts(3)
    try {
      return { ports, ...(await run(ports)) }
    } catch (error) {
      if (tries <= 1) throw error
      return start(tries - 1)
    }
  }
  const started = new Map<string, ReturnType<typeof start>>()
  const server = createHttpServer(async ({ url = '' }, response) => {
    const starting = started.get(url) ?? start()
    started.set(url, starting)
    const running = await starting.catch(() => undefined)
    const account = free.next().value
    if (running === undefined || account === undefined) response.writeHead(500).end()
    else response.end(connectionTo(account, running.ports))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close()
      server.closeAllConnections()
      for (const one of await Promise.allSettled(started.values())) {
        if (one.status === 'fulfilled') await one.value.end('SIGKILL')
      }
    },
  }
}

function connectionTo(account: string, [blob, queue, table]: number[]): string {
  const endpoint = (port: number | undefined) => `http://127.0.0.1:${port}/${account}`
  return [
    'DefaultEndpointsProtocol=http',
    `AccountName=${account}`,
    `AccountKey=${key}`,
    `BlobEndpoint=${endpoint(blob)}`,
    `QueueEndpoint=${endpoint(queue)}`,
    `TableEndpoint=${endpoint(table)}`,
  ].join(';')
}

type Running = Awaited<ReturnType<typeof run>>

async function run(ports: number[], directory?: string) {
  const [blob, queue, table] = ports
  const places = directory ? ['--location', directory] : ['--inMemoryPersistence']
  const words = ['--blobPort', blob, '--queuePort', queue, '--tablePort', table].map(String)
  const args = [script, ...places, '--silent', '--disableTelemetry', ...words]
  const known = [usualAccount, ...accounts].map((account) => `${account}:${key}`)
  const env = { ...process.env, AZURITE_ACCOUNTS: known.join(';') }
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
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

/** A client of a table that does not exist yet. */
export function newClient({ connection }: Pick<Azurite, 'connection'>): TableClient {
  const name = `t${randomUUID().replaceAll('-', '')}`
  return TableClient.fromConnectionString(connection, name, { allowInsecureConnection: true })
}

export function newTable(azurite: Pick<Azurite, 'connection'>): AzureTable {
  return new AzureTable(newClient(azurite))
}
