// The programs that make packages. Each is missing on some machine, and has another name there than
// its Debian package.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, utimesSync } from 'node:fs'
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
  /** The version in package.json. */
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
  const env = { ...process.env, SOURCE_DATE_EPOCH: `${buildTime()}`, TZ: 'UTC', LC_ALL: 'C' }
  const ran = spawnSync(command, words, { cwd, encoding: 'utf8', env })
  const { status, stdout, stderr, error } = ran
  if (status === 0) return
  const said = error?.message ?? `${stdout}${stderr}`
  throw new FoghornError('tool_failed', `${command} failed:\n${said}`)
}

/**
 * The time of the last commit, in seconds since 1970, so that the same code makes the same packages.
 * SOURCE_DATE_EPOCH replaces it: https://reproducible-builds.org/specs/source-date-epoch/
 */
export function buildTime(): number {
  const given = Number(process.env.SOURCE_DATE_EPOCH)
  if (Number.isInteger(given) && given > 0) return given
  const words = ['log', '-1', '--format=%ct']
  const { stdout } = spawnSync('git', words, { cwd: import.meta.dirname, encoding: 'utf8' })
  // without git: the earliest time of a zip
  return Number(stdout) || Date.UTC(1980, 0, 1) / 1_000
}

/** Gives all files and folders below `folder` the time of the build. Returns the files, sorted. */
export function stamp(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name))
  for (const path of [...paths, folder]) utimesSync(path, buildTime(), buildTime())
  return paths.filter((_, i) => entries[i]!.isFile()).sort()
}

/** deb and rpm order 1.0.0~rc.1 before 1.0.0, and read "-" as the begin of a revision. */
export function linuxVersion(version: string): string {
  return version.replace('-', '~')
}
