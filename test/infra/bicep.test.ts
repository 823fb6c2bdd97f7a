// The Bicep files, compiled and linted by Bicep's own compiler. It is not an npm package: this looks for it
// in FOGHORN_BICEP, and where NuGet keeps `Azure.Bicep.CommandLine.linux-x64`.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const infra = join(import.meta.dirname, '../../infra')
const files = readdirSync(infra, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.bicep(param)?$/.test(name),
)

function compilerHere(): string | undefined {
  const named = process.env.FOGHORN_BICEP
  if (named !== undefined) return named
  const versions = join(homedir(), '.nuget/packages/azure.bicep.commandline.linux-x64')
  const newest = existsSync(versions) ? readdirSync(versions).sort().at(-1) : undefined
  return newest === undefined ? undefined : join(versions, newest, 'tools/bicep')
}

test('there is a file to compile', () => expect(files).toContain('azure/main.bicep'))

test.for(files)(
  '%s compiles, and the linter has nothing to say',
  {
    timeout: 60_000,
  },
  (name, { skip }) => {
    const compiler = compilerHere()
    if (compiler === undefined)
      skip('the Bicep compiler is not here: set FOGHORN_BICEP to its path')
    const run = (...words: string[]) => {
      const { status, stdout, stderr } = spawnSync(compiler!, [...words, join(infra, name)], {
        encoding: 'utf8',
      })
      return { status, said: words[0] === 'lint' ? stdout + stderr : stderr }
    }
    const isParameters = name.endsWith('param')
    const build = isParameters ? 'build-params' : 'build'
    expect(run(build, '--stdout')).toEqual({ status: 0, said: '' })
    if (!isParameters) expect(run('lint')).toEqual({ status: 0, said: '' })
  },
)
