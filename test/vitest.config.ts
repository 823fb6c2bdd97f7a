// What `npm test` runs, and, with `--mode all`, what `npm run test:all` runs: all of it.
import { availableParallelism } from 'node:os'
import { cloudflareTest } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { noPostgres } from './support/postgres-programs.ts'

/** The longest files come first. */
const longest = [/\/e2e\/main-job/, /\/e2e\//, /\/browser\//, /\/hosts\//, /\/sim\//, /crash\.test/]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = longest.findIndex((pattern) => pattern.test(moduleId))
      return found === -1 ? longest.length : found
    }
    return files.toSorted((a, b) => rank(a) - rank(b))
  }
}

/**
 * These wait for processes of the product and for its own times, and hardly use this process: there may be many
 * at once. All others compute: each core has one, as each worker loads the modules anew.
 */
const waiting = [
  'test/{e2e,hosts,browser}/**/*.test.ts',
  'test/attacks/{faults,floods,root}.test.ts',
  'test/beacon/{main,certificates,versions,hooks/process}.test.ts',
  'test/features/stream/listen.test.ts',
  'test/identity/entra.test.ts',
  'test/infra/{hooks,packages,units,image}.test.ts',
  'test/store/{azure,postgres}.test.ts',
  'test/cli/copy.test.ts',
]

/** `@azure/functions` keeps what is registered in the process: one app for each file. */
const oneAppEach = ['test/hosts/azure-{host,http,log}.test.ts']
const all = ['test/**/*.test.ts']
/** Needs what only developers and CI have, or tries on another host what Node shows: only in `test:all`. */
const further = [
  'test/infra/{bill,packages,units,image,bicep,azure,roll-out,runtimes,windows-service,chart}.test.ts',
  'test/e2e/{image,kubernetes,storm,memory,receivers}.test.ts',
  'test/hosts/{azure-shipped,cloudflare-shipped,bundle}.test.ts',
  ...['test/beacon/kubernetes/kubectl.test.ts', 'test/features/ship/table.test.ts'],
  ...['test/preview/pictures.test.ts', 'test/without/without.test.ts', 'test/sim/order.test.ts'],
]

/** Run in the real workerd. */
const inWorkerd = ['test/workerd/**/*.test.ts']
const workerd = cloudflareTest({
  main: './test/workerd/main.ts',
  miniflare: {
    compatibilityDate: '2026-10-15',
    compatibilityFlags: ['nodejs_compat'],
    bindings: {
      FOGHORN_LINK_KEY: `${'A'.repeat(43)}=`,
      FOGHORN_ADMIN_KEY: 'admin-key-admin-key-admin-key-32',
    },
    durableObjects: { RELAY: { className: 'RelayObject', useSQLite: true } },
  },
})

const onAzureRows = {
  name: 'azure-rows',
  include: ['test/{use-cases,http}/**/*.test.ts'],
  env: { FOGHORN_TESTS: 'all', FOGHORN_TEST_ROWS: 'azure' },
}

const onPostgresRows = {
  name: 'postgres-rows',
  include: noPostgres ? [] : ['test/use-cases/**/*.test.ts'],
  env: { FOGHORN_TESTS: 'all', FOGHORN_TEST_ROWS: 'postgres' },
}

export default defineConfig(({ mode }) => {
  const isWhole = mode === 'all'
  const env = isWhole ? { FOGHORN_TESTS: 'all' } : {}
  const exclude = [...oneAppEach, ...inWorkerd, ...(isWhole ? [] : further)]
  const cores = availableParallelism()
  // one group after the other
  const waits = { maxWorkers: cores + 7, sequence: { groupOrder: 0 } }
  const computes = { maxWorkers: cores, sequence: { groupOrder: 1 } }
  // nothing else keeps state in a module, and loading the modules takes longer than most files
  const shared = { isolate: false, env }
  const usual = { ...shared, ...computes, name: 'computes', include: all }
  return {
    test: {
      sequence: { sequencer: LongestFirst },
      globalSetup: 'test/support/test-folder.ts',
      testTimeout: 120_000,
      hookTimeout: 180_000,
      // the usual second is short on a busy machine
      expect: { poll: { timeout: 20_000 } },
      projects: [
        {
          extends: true,
          test: { ...shared, ...waits, name: 'waits', include: waiting, exclude },
        },
        { extends: true, test: { ...usual, exclude: [...exclude, ...waiting] } },
        { extends: true, test: { env, ...computes, name: 'apps', include: oneAppEach } },
        { plugins: [workerd], test: { ...computes, name: 'workerd', include: inWorkerd } },
        // what runs on SQLite above, on the rows of Azure Tables
        { extends: true, test: { ...usual, ...onAzureRows, ...(isWhole ? {} : { include: [] }) } },
        // and on PostgreSQL, where it is here
        {
          extends: true,
          test: { ...usual, ...onPostgresRows, ...(isWhole ? {} : { include: [] }) },
        },
      ],
    },
  }
})
