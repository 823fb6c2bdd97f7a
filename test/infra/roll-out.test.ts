// What installs the beacon on many VMs: cloud-init, Bicep, and the files of settings.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readEnvironment } from '../../beacon/settings.ts'
import { variables } from '../../beacon/variables.ts'
import { settingsFile } from '../../infra/vm/package/settings-file.ts'
import { has } from '../../infra/vm/package/tools.ts'

const root = join(import.meta.dirname, '../..')
const cloudInit = join(root, 'infra/vm/cloud-init.yaml')
const bicep = readFileSync(join(root, 'infra/azure/beacon.bicep'), 'utf8')
const settingsIn = (text: string) =>
  [...text.matchAll(/\b(FOGHORN_\w+)=/g)].map(([, name]) => name!)

test('cloud-init accepts the example', ({ skip }) => {
  skip(!has('cloud-init'), 'not installed: cloud-init')
  const words = ['schema', '--config-file', cloudInit]
  const { status, stdout, stderr } = spawnSync('cloud-init', words, { encoding: 'utf8' })
  expect(status, stdout + stderr).toBe(0)
})

test.for([
  ['cloud-init', readFileSync(cloudInit, 'utf8')],
  ['Bicep', bicep],
])('%s brings settings that suffice, and no secret', ([, text]) => {
  const names = settingsIn(text!)
  expect(Object.keys(variables)).toEqual(expect.arrayContaining(names))
  expect(names).not.toContain('FOGHORN_FLEET_KEY')
  expect(text).not.toMatch(/@secure|listKeys|SharedAccessSignature|[?&]sig=/i)
  const filled = Object.fromEntries(names.map((name) => [name, '']))
  const values = {
    FOGHORN_RELAY_URL: 'https://relay',
    FOGHORN_FLEET: 'prod',
    FOGHORN_AUDIENCE: 'api://x',
  }
  expect(readEnvironment({ ...filled, ...values })).not.toHaveProperty('problems')
})

test('the Bicep module uses every parameter', () => {
  for (const [, name] of bicep.matchAll(/^param (\w+)/gm)) {
    expect(bicep.match(new RegExp(`\\b${name}\\b`, 'g'))!.length, name).toBeGreaterThan(1)
  }
})

test.for(['linux', 'windows'] as const)(
  'the %s file of settings explains each, and sets none',
  (platform) => {
    const lines = settingsFile(platform).split(/\r?\n/)
    expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([])
    const offered = lines.flatMap((line) => /^#([A-Z_]+)=/.exec(line)?.[1] ?? [])
    const left = Object.keys(variables).filter((name) => !offered.includes(name))
    // the service sets the first; the others have paths of Linux
    const ofLinux = platform === 'windows' ? ['FOGHORN_HOOKS', 'FOGHORN_HOOK_SOCKET'] : []
    expect(left).toEqual(['FOGHORN_STATE_DIR', ...ofLinux])
  },
)
