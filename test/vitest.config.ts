import { cloudflareTest } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that wait long for the product's own times, or compute long, come first and beside each other. */
const longest = [
  /\/e2e\/main-job/,
  /\/sim\//,
  /\/e2e\//,
  /crash\.test/,
  /\/hosts\/azure/,
  /\/store\//,
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = longest.findIndex((pattern) => pattern.test(moduleId))
      return found === -1 ? longest.length : found
    }
    return files.toSorted((a, b) => rank(a) - rank(b))
  }
}

/** `@azure/functions` keeps what is registered in the process: one app for each file. */
const oneAppEach = ['test/hosts/azure-{host,http,log}.test.ts']
const all = ['test/**/*.test.ts']

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

export default defineConfig({
  test: {
    // many tests wait for the times of the product itself: more files at once than cores
    maxWorkers: 6,
    sequence: { sequencer: LongestFirst },
    globalSetup: 'test/support/test-folder.ts',
    testTimeout: 40_000,
    hookTimeout: 60_000,
    // the usual second is short on a busy machine
    expect: { poll: { timeout: 20_000 } },
    projects: [
      // nothing else keeps state in a module, and loading the modules takes longer than most files
      {
        extends: true,
        test: { name: 'all', include: all, exclude: [...oneAppEach, ...inWorkerd], isolate: false },
      },
      { extends: true, test: { name: 'apps', include: oneAppEach } },
      { plugins: [workerd], test: { name: 'workerd', include: inWorkerd } },
    ],
  },
})
