// `azure`: whose subscriptions, and as whom the relay asks.
import { describe, expect, test } from 'vitest'
import { listSecrets, readConfig } from '../../functions/config/config.ts'
import { findFleet } from '../../functions/core/rules/config.ts'
import { mistakesOf, withValue } from '../support/config.ts'
import { baseConfig } from '../support/world.ts'

const id = '1e1e1e1e-0000-4000-8000-000000000001'
const app = { tenantId: id, clientId: id, clientSecret: 'hush-hush' }
const read = (azure: object) => readConfig(JSON.stringify({ ...baseConfig, azure }), {})

test('ids are in lower case, addresses are those of the public cloud, and the secret is a secret', () => {
  const config = read({ subscriptions: id, ...app })
  expect(config.azure).toMatchObject({
    subscriptions: [id.toLowerCase()],
    authority: 'https://login.microsoftonline.com',
    resourceManager: 'https://management.azure.com',
  })
  expect(listSecrets(config)).toContain('hush-hush')
  expect(listSecrets(read({ subscriptions: [id] }))).not.toContain('')
})

describe('a mistake', () => {
  test.each([
    [{ subscriptions: 'prod' }, 'azure.subscriptions', 'write the GUID of a subscription'],
    [{ subscriptions: id, tenantId: id }, 'azure.tenantId', 'an app registration needs'],
    [
      { subscriptions: id, clientSecret: 'hush-hush' },
      'azure.tenantId',
      'an app registration needs',
    ],
    [
      { subscriptions: id, ...app, federatedTokenFile: '/token' },
      'azure.clientSecret',
      'and not both',
    ],
    [
      { subscriptions: id, resourceManager: 'http://arm.example' },
      'azure.resourceManager',
      'https://',
    ],
  ])('%o', (azure, path, said) => {
    const text = mistakesOf(JSON.stringify(withValue('azure', azure)))
    expect(text).toContain(path)
    expect(text).toContain(said)
    expect(text).not.toContain('hush')
  })
})

describe('the fleet that takes events of a subscription', () => {
  const other = '2e2e2e2e-0000-4000-8000-000000000002'
  const with2 = (fleets: object) =>
    JSON.stringify({ ...baseConfig, fleets, azure: { subscriptions: [id, other] } })
  const key = Object.values(baseConfig.fleets as Record<string, { key: string }>)[0]!.key

  test('the one that names it, also if there is only one', () => {
    expect(findFleet(readConfig(with2({ prod: { key } }), {}), id)).toBeUndefined()
    const two = readConfig(with2({ a: { key, azureSubscriptions: [id] }, b: { key } }), {})
    expect([findFleet(two, id), findFleet(two, other)]).toEqual(['a', undefined])
  })

  test('a fleet without beacons needs no key', () => {
    const { fleets } = readConfig(with2({ prod: { azureSubscriptions: id.toUpperCase() } }), {})
    expect(fleets).toEqual({ prod: { azureSubscriptions: [id] } })
  })

  test('a subscription that azure lacks, or that two fleets name', () => {
    const third = '3e3e3e3e-0000-4000-8000-000000000003'
    const text = mistakesOf(
      with2({
        a: { key, azureSubscriptions: [id, third] },
        b: { key, azureSubscriptions: [id] },
      }),
    )
    expect(text).toContain(`fleets.a.azureSubscriptions[1]: "azure.subscriptions" lacks ${third}`)
    expect(text).toContain('fleets.b.azureSubscriptions[0]: fleets.a.azureSubscriptions has')
  })
})
