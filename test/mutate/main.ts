// `npm run mutate`: whether the tests of the core see small mistakes in it. It works in a copy.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { command, exitCodes, text, wrong } from '../../functions/cli/command.ts'
import { copyOfProject } from '../support/project-copy.ts'
import { type Mutation, mutationsOf, sampleOf } from './mutations.ts'

const root = join(import.meta.dirname, '../..')
const usualTests = ['test/core', 'test/use-cases']
const limitMs = 300_000

export const mutate = command({
  usage: 'FILE... [--most N] [--tests FOLDERS]',
  about: `
Makes small mistakes in each FILE, one at a time, in a copy of the project, and says which of them
no test sees. The last line counts them.

  --most N          mistakes in a file, spread over it (default: 60)
  --tests FOLDERS   by commas (default: ${usualTests.join(',')})

Exit codes: 0 if each mistake was seen, otherwise 1.

Example:
  npm run mutate -- functions/core/event/is-over.ts`,
  options: { most: text, tests: text },
  words: { least: 1, most: 100 },
  run({ options, words: files, io }) {
    const most = Number(options.most ?? 60)
    if (!Number.isInteger(most) || most < 1)
      throw wrong(`--most is "${options.most}"; write a number`)
    const tests = options.tests?.split(',') ?? usualTests
    const copy = copyOfProject()
    let tried = 0
    const survivors: string[] = []
    try {
      if (!passes(copy, tests)) throw wrong('the tests fail before any mistake; mend them first')
      for (const file of files) {
        const original = readFileSync(join(copy, file), 'utf8')
        for (const one of sampleOf(mutationsOf(original), most)) {
          io.progress(`${file}:${one.line}, ${++tried} tried, ${survivors.length} not seen`)
          if (isSeen(copy, file, one, tests)) continue
          const what = `${file}:${one.line}: ${one.from} → ${one.to}`
          survivors.push(what)
          io.print(what)
        }
        writeFileSync(join(copy, file), original)
      }
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
    io.print(`tried=${tried} survived=${survivors.length}`)
    return survivors.length === 0 ? exitCodes.fine : exitCodes.broken
  },
})

function isSeen(copy: string, file: string, mutation: Mutation, tests: string[]): boolean {
  writeFileSync(join(copy, file), mutation.text)
  return !passes(copy, tests)
}

/** The first test that fails ends them. */
function passes(copy: string, tests: string[]): boolean {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const words = ['run', '--config', 'test/vitest.config.ts', '--root', '.', '--bail', '1', ...tests]
  const { status } = spawnSync(process.execPath, [vitest, ...words], {
    ...{ cwd: copy, stdio: 'ignore', timeout: limitMs },
  })
  return status === 0
}
