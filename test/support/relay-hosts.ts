// The places where the end-to-end tests run the relay, each as a process.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Azurite, startAzurite } from './azurite.ts'

const root = join(import.meta.dirname, '../..')

export const hosts = ['node', 'azure', 'cloudflare'] as const
export type HostName = (typeof hosts)[number]

export interface RelayHost {
  /** A path within the project, or a whole command. */
  file: string | readonly string[]
  environment: Record<string, string>
  /** What it logs once it answers. */
  started: string
  hasChildren?: boolean
  /** What keeps its rows, where that is a process of its own. */
  azurite?: Azurite
  stop(): Promise<void>
}

interface HostOptions {
  /** As for `startAzurite`. */
  azuriteDirectory?: string
  /** Of a PostgreSQL, for the relay on Node. */
  database?: string
  /** Bundles the relay for Azure into this folder. Otherwise, it runs from its sources. */
  bundleFolder?: string
}

export async function prepareHost(
  name: HostName,
  { azuriteDirectory, bundleFolder, database }: HostOptions,
): Promise<RelayHost> {
  if (name === 'node') {
    const environment = database === undefined ? {} : { FOGHORN_DATABASE: database }
    return { file: startCommand(), environment, started: 'relay_started', async stop() {} }
  }
  if (name === 'cloudflare') {
    const file = [process.execPath, 'infra/foghorn.mjs', 'dev:cloudflare']
    // wrangler keeps its own files in the home folder
    const environment = { HOME: process.env.HOME ?? tmpdir() }
    return { file, environment, started: 'worker_started', hasChildren: true, async stop() {} }
  }
  const azurite = await startAzurite(azuriteDirectory, 'relays')
  return {
    // a small Functions host around the app
    file: 'test/support/functions-main.ts',
    environment: {
      FUNCTIONS_ENTRY: bundleFolder ? bundled(bundleFolder) : 'infra/azure/main.ts',
      AzureWebJobsStorage: azurite.connection,
    },
    started: 'functions_host_started',
    azurite,
    stop: () => azurite.stop(),
  }
}

/** As `npm start` runs it, with its limits of memory. */
function startCommand(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const [, ...words] = scripts.start.split(' ')
  return [process.execPath, ...words]
}

function bundled(folder: string): string {
  const words = ['infra/foghorn.mjs', 'bundle', folder, '--without-config']
  const { status, stderr } = spawnSync(process.execPath, words, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`the bundle failed: ${stderr}`)
  return join(folder, 'azure/main.mjs')
}
