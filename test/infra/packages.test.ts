// The deb and the rpm, really installed, upgraded and removed where systemd runs. A small program
// stands in for the executable.
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, type TestContext, test, vi } from 'vitest'
import { makeDeb } from '../../infra/vm/package/deb.ts'
import { makeRpm } from '../../infra/vm/package/rpm.ts'
import { assertTools, has, linuxVersion, type Source } from '../../infra/vm/package/tools.ts'
import { zip } from '../../infra/vm/package/zip.ts'
import { inMachine, machineProblem } from '../support/machine.ts'

// a machine starts and stops in each test
vi.setConfig({ testTimeout: 120_000 })

const cpu = process.arch === 'arm64' ? 'arm64' : 'x64'
const versions = ['1.0.0', '1.1.0']
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'foghorn-packages-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Prints its version, and when it stops the reason that it finds. */
const standIn = (version: string) => `#!/bin/sh
cd "$FOGHORN_STATE_DIR"
stop() { read -r why <stopping; echo "${version} stops: $why"; rm -f stopping; exit 0; }
trap stop TERM
echo "${version} starts, $FOGHORN_FLEET"
[ "$FOGHORN_FLEET" != wrong ] || exit 2
while :; do sleep 0.1 & wait $!; done
`

function sources(kind: string): Source[] {
  return versions.map((version) => {
    const executable = join(folder, `${kind}-${version}`)
    writeFileSync(executable, standIn(version))
    chmodSync(executable, 0o755)
    const made = join(folder, kind)
    mkdirSync(made, { recursive: true })
    return { executable, version, folder: made }
  })
}

async function skipWithout({ skip }: TestContext, ...commands: string[]): Promise<void> {
  const missing = commands.filter((command) => !has(command))
  if (missing.length > 0) skip(`not installed: ${missing.join(', ')}`)
  const problem = await machineProblem()
  if (problem !== undefined) skip(problem)
}

/** An image of a container forbids that packages start services. */
const allowed = 'rm -f /usr/sbin/policy-rc.d\n'
const say = 'say() { name=$1; shift; echo "@$name"; "$@" 2>&1 || true; echo "@"; }\n'

/** What a script printed with `say NAME …`, by name. */
async function sayings(script: string): Promise<Record<string, string>> {
  const output = await inMachine(allowed + say + script)
  const said = [...output.matchAll(/^@(\w+)\n([\s\S]*?)^@$/gm)]
  return Object.fromEntries(
    said.map(([, name, text]) => [name, text!.replaceAll(/^\+.*\n/gm, '').trim()]),
  )
}

const leftAs = (name: string) =>
  `say ${name} find /etc /run /var/lib /usr/bin /usr/lib/systemd /usr/lib/sysusers.d /usr/share/doc -path '*foghorn*' -not -path '/var/lib/containers/*'`
const dpkg = 'dpkg --force-depends'
const env = '/etc/foghorn/beacon.env'
/** The service is enabled: a deb keeps that for the next installation. */
const link = '/etc/systemd/system/multi-user.target.wants/foghorn-beacon.service'
/** What two packages have in common: only the commands differ. */
const life = (install: string, upgrade: string, remove: string) => `
say installed ${install}
say unconfigured systemctl status foghorn-beacon
say failed systemctl is-failed foghorn-beacon
say enabled systemctl is-enabled foghorn-beacon foghorn-hooks
say mode stat -c '%a %U %n' ${env} /etc/foghorn/hooks
printf 'FOGHORN_RELAY_URL=https://foghorn.example.com\\nFOGHORN_FLEET=prod\\n' >>${env}
systemctl enable --now foghorn-beacon
heard foghorn-beacon '1.0.0 starts'
say user stat -c %U /proc/$(systemctl show -P MainPID foghorn-beacon)
${upgrade}
say settings grep FLEET=prod ${env}
heard foghorn-beacon '1.1.0 starts'
${remove}
say journal journalctl -u foghorn-beacon -o cat
${leftAs('left')}
say users getent passwd foghorn
`

test('a deb: installed, configured, upgraded, removed, purged', async (context) => {
  await skipWithout(context, 'dpkg-deb', 'dpkg')
  const [older, newer] = sources('deb').map(makeDeb(cpu))
  // a database of nothing but this package: reading the real one takes seconds each time
  const said = await sayings(`
    mount -t tmpfs tmpfs /var/lib/dpkg
    mkdir /var/lib/dpkg/info /var/lib/dpkg/updates
    : >/var/lib/dpkg/status
    ${life(`${dpkg} -i ${older}`, `${dpkg} -i ${newer}`, `${dpkg} -r foghorn-beacon`)}
    ${dpkg} -P foghorn-beacon
    ${leftAs('purged')}
    say nobody getent passwd foghorn
  `)
  expectLife(said)
  expect(leftIn(said)).toEqual(['/etc/foghorn', env, link, '/var/lib/foghorn'])
  expect(said.purged).toBe('')
  expect(said.nobody).toBe('')
})

test('an rpm: installed, configured, upgraded, removed', async (context) => {
  await skipWithout(context, 'rpmbuild', 'rpm')
  const [older, newer] = sources('rpm').map(makeRpm(cpu))
  // On Debian, rpm wants to be told that this is meant, and knows none of the packages installed.
  const rpm = 'rpm --nodeps --force-debian'
  const said = await sayings(
    life(`${rpm} -i ${older}`, `${rpm} -U ${newer}`, `${rpm} -e foghorn-beacon`),
  )
  expectLife(said)
  expect(leftIn(said)).toEqual(['/etc/foghorn', `${env}.rpmsave`, '/var/lib/foghorn'])
})

test('the service stays as its owner had it, whatever the order of commands', async (context) => {
  await skipWithout(context, 'dpkg-deb', 'dpkg')
  const [older, newer] = sources('order').map(makeDeb(cpu))
  const state = (name: string) =>
    `say ${name} systemctl show --property ActiveState,UnitFileState --value foghorn-beacon`
  const said = await sayings(`
    mount -t tmpfs tmpfs /var/lib/dpkg
    mkdir /var/lib/dpkg/info /var/lib/dpkg/updates
    : >/var/lib/dpkg/status
    ${dpkg} -i ${older}
    printf 'FOGHORN_RELAY_URL=https://foghorn.example.com\\nFOGHORN_FLEET=prod\\n' >>${env}
    systemctl start foghorn-beacon
    ${dpkg} -r foghorn-beacon
    ${dpkg} -i ${older}
    ${state('again')}
    systemctl stop foghorn-beacon
    ${dpkg} -i ${newer}
    ${state('stopped')}
    echo FOGHORN_FLEET=wrong >>${env}
    systemctl start foghorn-beacon
    heard foghorn-beacon 'starts, wrong'
    say wrong ${dpkg} -i ${older}
    sed -i /wrong/d ${env}
    ${dpkg} -i ${newer}
    ${state('mended')}
    systemctl disable --now foghorn-beacon
    ${dpkg} -r foghorn-beacon
    ${dpkg} -i ${newer}
    ${state('disabled')}
    systemctl enable --now foghorn-beacon
    printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d
    chmod +x /usr/sbin/policy-rc.d
    ${dpkg} -r foghorn-beacon
    ${dpkg} -i ${older}
    ${state('forbidden')}
    rm /usr/sbin/policy-rc.d
    ${dpkg} -P foghorn-beacon
    ${leftAs('purged')}
    ${dpkg} -i ${newer}
    ${state('fresh')}
    ${dpkg} -P foghorn-beacon
    say image unshare --mount sh -c 'mount -t tmpfs tmpfs /run && ${dpkg} -i ${older}'
    say inImage systemctl is-enabled foghorn-beacon
  `)
  expect(said).toMatchObject({
    again: 'active\nenabled',
    stopped: 'inactive\nenabled',
    wrong: expect.stringContaining('cannot start: systemctl status foghorn-beacon says why'),
    mended: 'active\nenabled',
    disabled: 'inactive\ndisabled',
    forbidden: 'inactive\nenabled',
    purged: '',
    fresh: 'inactive\nenabled',
    image: expect.stringContaining('starts with the VM, if /etc/foghorn/beacon.env has settings'),
    inImage: 'enabled',
  })
})

test.for([
  ['deb', makeDeb(cpu), 'dpkg-deb'],
  ['rpm', makeRpm(cpu), 'rpmbuild'],
  ['zip', zipOf, 'zip'],
] as const)(
  'a %s has the same bytes, whenever it is made',
  async ([kind, make, tool], { skip }) => {
    skip(!has(tool), `not installed: ${tool}`)
    const [source] = sources(`${kind}-again`)
    const first = readFileSync(make(source!))
    utimesSync(source!.executable, 1, 1)
    // the times in a zip are even seconds, those of a package whole ones
    await sleep(2_000)
    expect(readFileSync(make(source!)).equals(first)).toBe(true)
  },
)

/** As the zips of a release are made. */
function zipOf({ executable, folder }: Source): string {
  const stage = mkdtempSync(join(tmpdir(), 'foghorn-zip-'))
  copyFileSync(executable, join(stage, 'a'))
  mkdirSync(join(stage, 'b'))
  copyFileSync(executable, join(stage, 'b/c'))
  zip(stage, join(folder, 'made.zip'))
  rmSync(stage, { recursive: true })
  return join(folder, 'made.zip')
}

/** What a removal left, without what is in the state folder. */
function leftIn({ left = '' }: Record<string, string>): string[] {
  const others = ['/var/lib/dpkg/', '/var/lib/foghorn/']
  const isOurs = (path: string) => !others.some((folder) => path.startsWith(folder))
  return left.split('\n').filter(isOurs).sort()
}

function expectLife(said: Record<string, string>): void {
  expect(said.installed).toContain('systemctl enable --now foghorn-beacon')
  // the state says what to do, and is no failure
  expect(said.unconfigured).toContain('systemctl enable --now foghorn-beacon')
  expect(said.failed).toBe('inactive')
  expect(said.enabled).toBe('enabled\ndisabled')
  expect(said.mode).toBe(`600 root ${env}\n755 root /etc/foghorn/hooks`)
  expect(said.user).toBe('foghorn')
  expect(said.settings).toBe('FOGHORN_FLEET=prod')
  const story = said.journal!.split('\n').filter((line) => /^1\.\d\.0 /.test(line))
  expect(story).toEqual([
    '1.0.0 starts, prod',
    '1.0.0 stops: upgrade',
    '1.1.0 starts, prod',
    '1.1.0 stops: removed',
  ])
  expect(said.users).toContain('foghorn')
}

test('a missing tool is named with the package that has it', () => {
  const tools = [
    { command: 'sh', debian: 'dash' },
    { command: 'no-such-tool', debian: 'such-tools' },
  ]
  expect(() => assertTools(tools)).toThrow(/no-such-tool.*such-tools/)
  expect(() => assertTools(tools.slice(0, 1))).not.toThrow()
})

test('a version before a release is lower for dpkg and rpm', () => {
  expect(linuxVersion('1.2.0-rc.1')).toBe('1.2.0~rc.1')
  expect(linuxVersion('1.2.0')).toBe('1.2.0')
})
