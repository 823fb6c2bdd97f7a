// The systemd units: how little they leave to an attacker, and that relay and beacon work all the
// same. They run under a real systemd, with the filters of system calls and address families.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, type TestContext, test, vi } from 'vitest'
import { writeBundle } from '../../infra/bundle.ts'
import { writeRelay } from '../../infra/release/relay.ts'
import { has } from '../../infra/vm/package/tools.ts'
import { beaconCommand, hasExecutable } from '../support/beacon-ways.ts'
import { inMachine, machineProblem } from '../support/machine.ts'

// a machine starts and stops in each test
vi.setConfig({ testTimeout: 120_000 })

const cpu = process.arch === 'arm64' ? 'arm64' : 'x64'
const root = join(import.meta.dirname, '../..')
/** systemd's own measure, from 0 to 10. */
const mostExposure = 2

test.for(['beacon', 'relay'])('the unit of the %s leaves little exposed', (name, { skip }) => {
  skip(!has('systemd-analyze'), 'not installed: systemd-analyze')
  const unit = join(root, `infra/vm/foghorn-${name}.service`)
  const words = ['security', '--offline=true', '--no-pager', unit]
  const { stdout } = spawnSync('systemd-analyze', words, { encoding: 'utf8' })
  const [, exposure] = /exposure level for \S+: ([\d.]+)/.exec(stdout) ?? []
  expect(Number(exposure)).toBeLessThanOrEqual(mostExposure)
})

test('the relay and an executable beacon work under their units', async (context) => {
  context.skip(!hasExecutable, 'no runtime of the executable is installed')
  const [executable] = await beaconCommand('executable')
  await expectHeard(context, `cp ${executable} /usr/bin/foghorn-beacon`)
})

test('the relay and a beacon on Node work under their units', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'foghorn-units-'))
  try {
    const bundle = ['infra/foghorn.mjs', 'bundle', folder, '--without-config']
    expect(spawnSync(process.execPath, bundle, { cwd: root }).status).toBe(0)
    await expectHeard(
      context,
      `cp ${folder}/beacon.mjs /opt/beacon.mjs
      mkdir /etc/systemd/system/foghorn-beacon.service.d
      sed s,/opt/foghorn/beacon,/opt/beacon, ${root}/infra/vm/node.conf \\
        >/etc/systemd/system/foghorn-beacon.service.d/node.conf
      rm -f /usr/bin/node; touch /usr/bin/node
      mount --bind ${process.execPath} /usr/bin/node`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** Runs a relay, a beacon that `install` puts there, and one event. */
async function expectHeard({ skip }: TestContext, install: string): Promise<void> {
  const problem = await machineProblem()
  skip(problem !== undefined, problem)
  const release = mkdtempSync(join(tmpdir(), 'foghorn-release-'))
  onTestFinished(() => rmSync(release, { recursive: true }))
  await writeBundle(release, undefined)
  await writeRelay(join(release, 'node'), cpu, join(release, '1.0.0'))
  const output = await inMachine(`
    mkdir -p /opt/foghorn/1.0.0 /etc/foghorn
    mount --bind ${release}/1.0.0 /opt/foghorn/1.0.0
    ln -s 1.0.0 /opt/foghorn/current
    ln -s /opt/foghorn/current/foghorn /usr/local/bin/foghorn
    ${install}
    systemd-sysusers ${root}/infra/vm/package/sysusers.conf
    cp ${root}/infra/vm/foghorn-beacon.service /opt/foghorn/current/infra/vm/foghorn-relay.service /etc/systemd/system
    systemctl daemon-reload

    key=whsec_$(head -c 32 /dev/zero | base64)
    cat >/etc/foghorn/relay.env <<END
FOGHORN_LINK_KEY=$(head -c 32 /dev/zero | base64)
PROD_FLEET_KEY=$key
SLACK_WEBHOOK_URL=https://hooks.slack.com/services/T0/B0/x
END
    cp ${root}/infra/examples/minimal.config.json /etc/foghorn/foghorn.config.json
    (set -a; . /etc/foghorn/relay.env; foghorn check-config /etc/foghorn/foghorn.config.json)
    systemctl start foghorn-relay
    heard foghorn-relay relay_started
    cd ${root}
    ${process.execPath} infra/foghorn.mjs simulator --port 9100 --vms web_0 --first-get-ms 0 >/trial/ports &
    cat >/etc/foghorn/beacon.env <<END
FOGHORN_RELAY_URL=http://localhost:7071
FOGHORN_FLEET=prod
FOGHORN_FLEET_KEY=$key
FOGHORN_IMDS_URL=http://127.0.0.1:9101
END
    systemctl start foghorn-beacon
    heard foghorn-beacon relay_reached
    curl --silent --fail -X POST http://127.0.0.1:9100/events -H 'content-type: application/json' \\
      -d '{"EventType":"Reboot","Resources":["web_0"],"noticeSeconds":300,"impactSeconds":20}'
    heard foghorn-relay event_stepped
    for unit in foghorn-beacon foghorn-relay; do
      echo "$unit $(grep Seccomp: /proc/$(systemctl show -P MainPID $unit)/status)"
    done
    systemctl stop foghorn-beacon foghorn-relay
    heard foghorn-beacon beacon_stopped
    echo "failed: $(systemctl list-units --failed --no-legend)"
  `)
  const filtered = 'Seccomp:\t2'
  expect(output).toContain(`\nfoghorn-beacon ${filtered}\n`)
  expect(output).toContain(`\nfoghorn-relay ${filtered}\n`)
  expect(output).toContain('\nfailed: \n')
}
