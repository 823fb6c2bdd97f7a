// Each feature can be taken out: everything else compiles, and its tests pass.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withoutFolder } from './lists.ts'
import { features } from './main.ts'

const root = join(import.meta.dirname, '../..')
const tests =
  'test/ground/features,test/ground/imports,test/features,test/http/openapi,test/cli/commands'

test.each(features)('%s can be taken out', { timeout: 600_000 }, (name) => {
  const words = ['infra/foghorn.mjs', 'without', name, '--tests', tests]
  const { stdout } = spawnSync(process.execPath, words, { cwd: root, encoding: 'utf8' })
  expect(stdout).toContain(`without ${name}, all else works`)
})

test('a list loses what it takes from the folder, and nothing else', () => {
  const list = (...lines: string[]) => `${lines.join('\n')}\n`
  const before = list(
    "import { a, ab } from './one/rule.ts'",
    "import { b } from './two/rule.ts'",
    'export const all = [a, b, ab]',
    'export const more = { ...b, ...a }',
  )
  const after = list(
    "import { b } from './two/rule.ts'",
    'export const all = [b, ]',
    'export const more = { ...b, }',
  )
  expect(withoutFolder(before, 'one')).toBe(after)
})
