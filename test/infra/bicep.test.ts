// The Bicep files, compiled and linted by Bicep's own compiler. Where it is not, this is skipped, and the
// promises of the templates are checked in the JSON that is in the repository (azure.test.ts).
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  bicepHere,
  compiled,
  noCompiler,
  runBicep,
  templateFile,
  templateOf,
} from '../../infra/bicep.ts'

const infra = join(import.meta.dirname, '../../infra')
const files = readdirSync(infra, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.bicep(param)?$/.test(name),
)
const timeout = 60_000

test('there is a file to compile', () => expect(files).toContain('azure/main.bicep'))

test.for(files)('%s compiles, and the linter has nothing to say', { timeout }, (name, { skip }) => {
  const compiler = bicepHere() ?? skip(noCompiler)
  const run = (...words: string[]) => {
    const { status, stdout, stderr } = runBicep(compiler, words, name)
    return { status, said: words[0] === 'lint' ? stdout + stderr : stderr }
  }
  const isParameters = name.endsWith('param')
  const build = isParameters ? 'build-params' : 'build'
  expect(run(build, '--stdout')).toEqual({ status: 0, said: '' })
  if (!isParameters) expect(run('lint')).toEqual({ status: 0, said: '' })
})

test.for(compiled)('%s.json is what the compiler makes of it', { timeout }, (name, { skip }) => {
  const compiler = bicepHere() ?? skip(noCompiler)
  expect(readFileSync(templateFile(name), 'utf8')).toBe(templateOf(compiler, name))
})
