import { expect, test } from 'vitest'
import { limitsOfBeaconless } from '../../functions/check/beaconless.ts'
import { readConfig } from '../../functions/config/config.ts'
import { baseConfig } from '../support/world.ts'
import { all, testRows } from './advice-on.ts'

const id = '1e1e1e1e-0000-4000-8000-000000000001'
const azure = { subscriptions: id }
const fleets = { prod: { azureSubscriptions: id } }
const rule = { match: {}, decide: 'approve', whenReady: true }

testRows('fleets without beacons', [
  [
    'a rule that waits for hooks',
    { azure, fleets, policy: [rule] },
    'policy[0].whenReady: its fleets have no beacons',
  ],
  [
    'expected beacons',
    { azure, fleets: { prod: { ...fleets.prod, expectedBeacons: 3 } } },
    'fleets.prod.expectedBeacons: the fleet has no "key"',
  ],
  [
    'a subscription of no fleet',
    { azure: { subscriptions: [id, id.replace('1e', '2e')] }, fleets },
    'azure.subscriptions[1]: no fleet has it',
  ],
])

test('what such a fleet lacks is said', () => {
  const config = readConfig(JSON.stringify({ ...baseConfig, azure, fleets, routes: [all] }), {})
  expect(limitsOfBeaconless(config)).toEqual([expect.stringContaining('Fleet prod has no beacons')])
})
