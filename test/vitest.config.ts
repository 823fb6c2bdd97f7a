import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that wait long for the product's own times come first, so that none is left over at the end. */
const longest = [
  /\/e2e\/main-job/,
  /\/e2e\//,
  /\/sim\//,
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

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // many tests wait for the times of the product itself: more files at once than cores
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    testTimeout: 40_000,
    hookTimeout: 60_000,
  },
})
