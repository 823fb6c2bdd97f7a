// Makes the rpm, by rpmbuild. It also builds for another processor: nothing is compiled.
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  about,
  change,
  documentsFolder,
  hooksFolder,
  script,
  settingsPath,
  writeContents,
} from './contents.ts'
import { buildTime, linuxVersion, runTool, type Source, stamp, type Tool } from './tools.ts'

export const rpmTools: Tool[] = [{ command: 'rpmbuild', debian: 'rpm' }]

const architectures = { x64: 'x86_64', arm64: 'aarch64' }

export function makeRpm(cpu: keyof typeof architectures) {
  return ({ executable, version, folder }: Source): string => {
    const stage = mkdtempSync(join(tmpdir(), 'foghorn-rpm-'))
    try {
      const paths = writeContents(join(stage, 'root'), executable)
      stamp(join(stage, 'root'))
      const spec = join(stage, 'foghorn-beacon.spec')
      writeFileSync(spec, specFile(linuxVersion(version), join(stage, 'root'), paths))
      const cpuName = architectures[cpu]
      runTool('rpmbuild', ['-bb', '--target', cpuName, '--define', `_topdir ${stage}/made`, spec])
      const name = `foghorn-beacon-${linuxVersion(version)}-1.${cpuName}.rpm`
      copyFileSync(join(stage, 'made/RPMS', cpuName, name), join(folder, name))
      return join(folder, name)
    } finally {
      rmSync(stage, { recursive: true })
    }
  }
}

/** The first lines keep rpmbuild from changing the executable, and from naming this machine or time. */
function specFile(version: string, contents: string, paths: string[]): string {
  const files = paths.filter((path) => path !== settingsPath)
  const [week, date, month, year] = new Date(buildTime() * 1_000).toUTCString().split(/,? /)
  const day = `${week} ${month} ${date} ${year}`
  return `%global __os_install_post %{nil}
%global debug_package %{nil}
%global _build_id_links none
%global _buildhost localhost
%global use_source_date_epoch_as_buildtime 1
%global _binary_payload w6.gzdio
Name: foghorn-beacon
Version: ${version}
Release: 1
Summary: ${about.summary}
License: MIT
URL: ${about.url}
Packager: ${about.maintainer}
AutoReqProv: no
Requires: glibc >= 2.17, systemd, util-linux
Requires(post): systemd, util-linux
Requires(preun): systemd, util-linux

%description
${about.description.join('\n')}

%install
cp -a ${contents}/. %{buildroot}

%post
${script('if [ "$1" -eq 1 ]; then installed; else upgraded; fi')}
%preun
${script('if [ "$1" -eq 0 ]; then removing; disable; fi')}
%postun
${script('if [ "$1" -eq 0 ]; then removed; fi')}
%files
%defattr(-,root,root)
${files.join('\n')}
%dir ${documentsFolder}
%dir /etc/foghorn
%dir ${hooksFolder}
%config(noreplace) ${settingsPath}

%changelog
* ${day} ${about.maintainer} - ${version}-1
- ${change}
`
}
