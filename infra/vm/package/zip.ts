// Makes the zip for Windows: the executable, its service, and the scripts that install them.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { settingsFile } from './settings-file.ts'
import { runTool, type Source, type Tool } from './tools.ts'

const compiler = 'x86_64-w64-mingw32-gcc'
export const zipTools: Tool[] = [
  { command: compiler, debian: 'gcc-mingw-w64-x86-64-win32' },
  { command: 'zip', debian: 'zip' },
]

const windows = join(import.meta.dirname, '../windows')
const scripts = ['install.ps1', 'stop.ps1', 'uninstall.ps1']
const flags = ['-municode', '-Os', '-s', '-Wall', '-Wextra', '-Werror']

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
    runTool('zip', ['-q', '-X', '-r', file, basename(contents)], stage)
    return file
  } finally {
    rmSync(stage, { recursive: true })
  }
}

function withCrLf(file: string): string {
  return readFileSync(file, 'utf8').replaceAll('\n', '\r\n')
}
