// Makes the deb, by dpkg-deb.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  about,
  change,
  documentsFolder,
  script,
  settingsPath,
  writeContents,
  zipped,
} from './contents.ts'
import { buildTime, linuxVersion, runTool, type Source, stamp, type Tool } from './tools.ts'

export const debTools: Tool[] = [{ command: 'dpkg-deb', debian: 'dpkg' }]

const architectures = { x64: 'amd64', arm64: 'arm64' }
/** Every dpkg reads gzip (Debian 11 reads no zstd), and xz takes ten times as long for 10 % less. */
const compression = ['-Zgzip', '-z6']
const kilobyte = 1024

// after a removal without purge, dpkg configures as in an upgrade: only preinst learns that it was none
const scripts = {
  preinst: script('if [ "$1" = install ] && [ -n "$2" ]; then note_removal; fi'),
  postinst: script(
    '[ "$1" = configure ] || exit 0',
    'if [ -z "$2" ]; then installed; elif was_removed; then installed_again; else upgraded; fi',
  ),
  prerm: script('if [ "$1" = remove ]; then removing; fi'),
  postrm: script('case "$1" in', '  remove) removed ;;', '  purge) purged ;;', 'esac'),
}

export function makeDeb(cpu: keyof typeof architectures) {
  return ({ executable, version, folder }: Source): string => {
    const stage = mkdtempSync(join(tmpdir(), 'foghorn-deb-'))
    try {
      chmodSync(stage, 0o755)
      writeContents(stage, executable)
      const changelog = join(stage, documentsFolder, 'changelog.gz')
      writeFileSync(changelog, zipped(composeChangelog(linuxVersion(version))))
      const kilobytes = Math.ceil(statSync(executable).size / kilobyte)
      mkdirSync(join(stage, 'DEBIAN'), { mode: 0o755 })
      const control = controlFile(linuxVersion(version), architectures[cpu], kilobytes)
      writeFileSync(join(stage, 'DEBIAN/control'), control)
      writeFileSync(join(stage, 'DEBIAN/conffiles'), `${settingsPath}\n`)
      for (const [name, text] of Object.entries(scripts)) {
        writeFileSync(join(stage, 'DEBIAN', name), `#!/bin/sh\n${text}`)
        chmodSync(join(stage, 'DEBIAN', name), 0o755)
      }
      stamp(stage)
      const name = `foghorn-beacon_${linuxVersion(version)}_${architectures[cpu]}.deb`
      const file = join(folder, name)
      runTool('dpkg-deb', ['--root-owner-group', ...compression, '--build', stage, file])
      return file
    } finally {
      rmSync(stage, { recursive: true })
    }
  }
}

/**
 * Debian defines the format:
 * https://www.debian.org/doc/debian-policy/ch-source.html#debian-changelog-debian-changelog
 */
function composeChangelog(version: string): string {
  const day = new Date(buildTime() * 1_000).toUTCString().replace('GMT', '+0000')
  return `foghorn-beacon (${version}) stable; urgency=medium

  * ${change}

 -- ${about.maintainer}  ${day}
`
}

function controlFile(version: string, architecture: string, kilobytes: number): string {
  return `Package: foghorn-beacon
Version: ${version}
Architecture: ${architecture}
Maintainer: ${about.maintainer}
Homepage: ${about.url}
Installed-Size: ${kilobytes}
Depends: libc6 (>= 2.17), systemd
Section: admin
Priority: optional
Description: ${about.summary}
${about.description.map((line) => ` ${line}`).join('\n')}
`
}
