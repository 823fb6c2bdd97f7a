// What both Linux packages install, and the scripts that they run.
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { settingsFile } from './settings-file.ts'

const root = join(import.meta.dirname, '../../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const units = ['foghorn-beacon.service', 'foghorn-hooks.service']
/** Systems that enable nothing by themselves enable the beacon all the same; an owner may say no. */
const preset = 'enable foghorn-beacon.service\ndisable foghorn-hooks.service\n'
const mode = { folder: 0o755, program: 0o755, file: 0o644, secret: 0o600 }

export const settingsPath = '/etc/foghorn/beacon.env'
export const hooksFolder = '/etc/foghorn/hooks'
export const documentsFolder = '/usr/share/doc/foghorn-beacon'

export const about = {
  summary: 'Reports Azure Scheduled Events of this VM to Foghorn',
  description: [
    'Foghorn notifies people of Azure maintenance before it hits their VMs.',
    'The beacon polls the metadata service of one VM, reports to the relay,',
    'and starts events that were approved.',
  ],
  maintainer: 'The Foghorn project <foghorn@foghorn.invalid>',
  url: 'https://foghorn.invalid',
}
const changelogFile = 'CHANGELOG.md.gz'
export const change = `${changelogFile} in ${documentsFolder} lists all changes.`

/** Writes the files below `folder`. Returns their paths on the VM. */
export function writeContents(folder: string, executable: string): string[] {
  const paths: string[] = []
  const put = (path: string, bits: number, content: string | Buffer) => {
    mkdirSync(join(folder, dirname(path)), { recursive: true, mode: mode.folder })
    writeFileSync(join(folder, path), content)
    chmodSync(join(folder, path), bits)
    paths.push(path)
  }
  put('/usr/bin/foghorn-beacon', mode.program, '')
  copyFileSync(executable, join(folder, '/usr/bin/foghorn-beacon'))
  chmodSync(join(folder, '/usr/bin/foghorn-beacon'), mode.program)
  for (const unit of units) {
    put(`/usr/lib/systemd/system/${unit}`, mode.file, read(`infra/vm/${unit}`))
  }
  put('/usr/lib/systemd/system-preset/50-foghorn-beacon.preset', mode.file, preset)
  put('/usr/lib/sysusers.d/foghorn.conf', mode.file, read('infra/vm/package/sysusers.conf'))
  put(`${documentsFolder}/copyright`, mode.file, copyright())
  put(`${documentsFolder}/${changelogFile}`, mode.file, zipped(read('docs/CHANGELOG.md')))
  put(settingsPath, mode.secret, settingsFile('linux'))
  mkdirSync(join(folder, hooksFolder), { mode: mode.folder })
  return paths
}

export function zipped(text: string): Buffer {
  return gzipSync(text, { level: 9 })
}

/** A script of the packages: the shared functions, then `steps`. */
export function script(...steps: string[]): string {
  return ['set -e', read('infra/vm/package/common.sh'), ...steps, ''].join('\n')
}

/** Debian defines the format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/ */
function copyright(): string {
  const [, holder] = /^Copyright \(c\) (.+)$/m.exec(read('LICENSE'))!
  const terms = read('LICENSE').split('\n').slice(4).join('\n').trim()
  const indented = terms.replaceAll(/^(?=.)/gm, ' ').replaceAll(/^$/gm, ' .')
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Foghorn
Comment: The executable contains the Bun runtime (MIT) with parts under other licenses, among them
 JavaScriptCore (LGPL-2.0). See https://bun.com/docs/project/license

Files: *
Copyright: ${holder}
License: MIT
${indented}
`
}
