// `azure`: whose subscriptions, and as whom the relay asks.
import { describe, expect, test } from 'vitest'
import { readConfig, secretsOf } from '../../functions/config/config.ts'
import { mistakesOf, withValue } from '../support/config.ts'
import { baseConfig } from '../support/world.ts'

const id = '1E1E1E1E-0000-4000-8000-000000000001'
const app = { tenantId: id, clientId: id, clientSecret: 'hush-hush' }
const read = (azure: object) => readConfig(JSON.stringify({ ...baseConfig, azure }), {})

test('ids are in lower case, addresses are those of the public cloud, and the secret is a secret', () => {
  const config = read({ subscriptions: id, ...app })
  expect(config.azure).toMatchObject({
    subscriptions: [id.toLowerCase()],
    authority: 'https://login.microsoftonline.com',
    resourceManager: 'https://management.azure.com',
  })
  expect(secretsOf(config)).toContain('hush-hush')
  expect(secretsOf(read({ subscriptions: [id] }))).not.toContain('')
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
