// Bicep's own compiler. It is not an npm package, so it is looked for in FOGHORN_BICEP, and where NuGet keeps
// `Azure.Bicep.CommandLine.linux-x64`. Only those who change a Bicep file need it: the compiled templates
// are in the repository, for the portal and for tests.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = join(import.meta.dirname, 'azure')

export const noCompiler = 'the Bicep compiler is not here: set FOGHORN_BICEP to its path'

export function bicepHere(): string | undefined {
  const named = process.env.FOGHORN_BICEP
  if (named !== undefined) return named
  const versions = join(homedir(), '.nuget/packages/azure.bicep.commandline.linux-x64')
  const newest = existsSync(versions) ? readdirSync(versions).sort().at(-1) : undefined
  return newest === undefined ? undefined : join(versions, newest, 'tools/bicep')
}

/** Runs `bicep WORDS` beside the files. Returns what the compiler says, empty if all is well. */
export function runBicep(compiler: string, words: string[]): string {
  const { status, stdout, stderr } = spawnSync(compiler, words, { encoding: 'utf8', cwd: folder })
  const said = stdout + stderr
  return status === 0 || said !== '' ? said : `bicep ends with ${status}`
}

/** The templates as JSON, without the version of the compiler and its hash. Throws what the compiler says. */
export function listTemplates(compiler: string): { file: string; content: string }[] {
  const made = mkdtempSync(join(tmpdir(), 'foghorn-bicep-'))
  try {
    const said = runBicep(compiler, ['build', '--pattern', '*.bicep', '--outdir', made])
    if (said !== '') throw new Error(`the templates do not compile: ${said}`)
    const keep = (key: string, value: unknown) => (key === '_generator' ? undefined : value)
    return readdirSync(made).map((name) => {
      const template: unknown = JSON.parse(readFileSync(join(made, name), 'utf8'))
      return { file: join(folder, name), content: `${JSON.stringify(template, keep, 2)}\n` }
    })
  } finally {
    rmSync(made, { recursive: true })
  }
}
