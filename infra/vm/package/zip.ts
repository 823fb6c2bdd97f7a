// Makes the zip for Windows: the executable, its service, and the scripts that install them.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { settingsFile } from './settings-file.ts'
import { runTool, type Source, stamp, type Tool } from './tools.ts'

const compiler = 'x86_64-w64-mingw32-gcc'
export const zipTools: Tool[] = [
  { command: compiler, debian: 'gcc-mingw-w64-x86-64-win32' },
  { command: 'zip', debian: 'zip' },
]

const windows = join(import.meta.dirname, '../windows')
const scripts = ['install.ps1', 'stop.ps1', 'uninstall.ps1']
const flags = ['-municode', '-Os', '-s', '-Wall', '-Wextra', '-Werror', '-Wl,--no-insert-timestamp']

export function compileService(file: string): void {
  const source = join(windows, 'service.c')
  runTool(compiler, [...flags, '-o', file, source, '-ladvapi32', '-lshell32', '-lshlwapi'])
}

export function makeZip({ executable, version, folder }: Source): string {
  const stage = mkdtempSync(join(tmpdir(), 'foghorn-zip-'))
  try {
    const name = `foghorn-beacon-${version}-windows-x64`
    const contents = join(stage, name)
    mkdirSync(contents)
    copyFileSync(executable, join(contents, 'foghorn-beacon.exe'))
    compileService(join(contents, 'foghorn-service.exe'))
    for (const script of scripts) {
      writeFileSync(join(contents, script), withCrLf(join(windows, script)))
    }
    writeFileSync(join(contents, 'beacon.env'), settingsFile('windows'))
    const license = join(import.meta.dirname, '../../../LICENSE')
    writeFileSync(join(contents, 'LICENSE.txt'), withCrLf(license))
    const file = join(folder, `${name}.zip`)
    zip(stage, file)
    return file
  } finally {
    rmSync(stage, { recursive: true })
  }
}

/** Packs all files below `folder`. Replaces `file`. */
export function zip(folder: string, file: string): void {
  // zip would add to it
  rmSync(file, { force: true })
  const paths = stamp(folder).map((path) => relative(folder, path))
  runTool('zip', ['-q', '-X', '-D', file, ...paths], folder)
}

function withCrLf(file: string): string {
  return readFileSync(file, 'utf8').replaceAll('\n', '\r\n')
}
