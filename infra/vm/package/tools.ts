// The programs that make packages. Each is missing on some machine, and has another name there than
// its Debian package.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { FoghornError } from '../../../shared/errors.ts'

export interface Tool {
  command: string
  /** The Debian package that has it. */
  debian: string
}

/** What one package is made of. */
export interface Source {
  executable: string
  /** As in package.json. */
  version: string
  /** Where the package goes. */
  folder: string
}

/** Throws FoghornError `tool_missing`, which names all that are missing. */
export function assertTools(tools: readonly Tool[]): void {
  const missing = tools.filter(({ command }) => !has(command))
  if (missing.length === 0) return
  const names = [...new Set(missing.map(({ command }) => command))]
  const packages = [...new Set(missing.map(({ debian }) => debian))]
  throw new FoghornError(
    'tool_missing',
    `Not found: ${names.join(', ')}. On Debian run: apt-get install ${packages.join(' ')}`,
  )
}

export function has(command: string): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.some((folder) => existsSync(join(folder, command)))
}

/** Throws FoghornError `tool_failed` with what the program printed. */
export function runTool(command: string, words: readonly string[], cwd?: string): void {
  const { status, stdout, stderr, error } = spawnSync(command, words, { cwd, encoding: 'utf8' })
  if (status === 0) return
  const said = error?.message ?? `${stdout}${stderr}`
  throw new FoghornError('tool_failed', `${command} failed:\n${said}`)
}

/** deb and rpm order 1.0.0~rc.1 before 1.0.0, and read "-" as the begin of a revision. */
export function linuxVersion(version: string): string {
  return version.replace('-', '~')
}
