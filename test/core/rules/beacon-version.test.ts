// Which beacons a relay supports.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { supportedBeacons, unsupported } from '../../../functions/core/rules/beacon-version.ts'
import packageJson from '../../../package.json' with { type: 'json' }

test.each([
  ['0.4.9', 'older'],
  ['0.5.0', undefined],
  ['0.6.3', undefined],
  ['0.10.0', 'newer'],
  ['1.0.0', 'newer'],
  ['0.5', 'not a released version'],
  ['0.5.0-rc.1', 'not a released version'],
  ['', 'not a released version'],
])('of 0.5.0 to 0.6.3, "%s": %s', (version, reason) => {
  const found = unsupported(version, { oldest: '0.5.0', newest: '0.6.3' })
  if (reason === undefined) expect(found).toBeUndefined()
  else expect(found).toContain(reason)
})

test('the newest is this version, and each released one has recorded reports', () => {
  expect(supportedBeacons.newest).toBe(packageJson.version)
  const recorded = readdirSync(join(import.meta.dirname, '../../recorded'))
  expect(recorded).toContain(supportedBeacons.oldest)
})
