// Bicep's own compiler. It is not an npm package, so it is looked for in FOGHORN_BICEP, and where NuGet keeps
// `Azure.Bicep.CommandLine.linux-x64`. Only those who change a Bicep file need it: the compiled templates
// are in the repository, for the portal and for tests.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const folder = join(import.meta.dirname, 'azure')
/** Their JSON is in the repository. */
export const compiled = ['main', 'beacon', 'events', 'ship', 'teams-bot']

export const noCompiler = 'the Bicep compiler is not here: set FOGHORN_BICEP to its path'

export function bicepHere(): string | undefined {
  const named = process.env.FOGHORN_BICEP
  if (named !== undefined) return named
  const versions = join(homedir(), '.nuget/packages/azure.bicep.commandline.linux-x64')
  const newest = existsSync(versions) ? readdirSync(versions).sort().at(-1) : undefined
  return newest === undefined ? undefined : join(versions, newest, 'tools/bicep')
}

/** Runs `bicep WORDS FILE`, where the file is in this folder. */
export function runBicep(compiler: string, words: string[], file: string) {
  const all = [...words, join(import.meta.dirname, file)]
  return spawnSync(compiler, all, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
}

/** The template as JSON, without the version of the compiler and its hash. Throws what the compiler says. */
export function templateOf(compiler: string, name: string): string {
  const { status, stdout, stderr } = runBicep(
    compiler,
    ['build', '--stdout'],
    `azure/${name}.bicep`,
  )
  if (status !== 0) throw new Error(`${name}.bicep does not compile: ${stderr}`)
  const keep = (key: string, value: unknown) => (key === '_generator' ? undefined : value)
  return `${JSON.stringify(JSON.parse(stdout), keep, 2)}\n`
}

export function templateFile(name: string): string {
  return join(folder, `${name}.json`)
}
