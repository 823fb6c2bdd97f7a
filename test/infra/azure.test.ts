// The promises of the infrastructure, checked in the compiled template. `bicep.test.ts` compares it with the
// Bicep files.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const azure = join(root, 'infra/azure')
const read = (path: string) => readFileSync(join(azure, path), 'utf8')

// biome-ignore lint/suspicious/noExplicitAny: any template
type Json = any

const text = read('main.json')
const main: Json = JSON.parse(text)
/** Of all modules. */
const resources: Json[] = main.resources.flatMap((one: Json) =>
  one.type === 'Microsoft.Resources/deployments' ? one.properties.template.resources : [one],
)
const ofType = (type: string) => resources.filter((one) => one.type === `Microsoft.${type}`)
const named = (type: string, end: string) =>
  ofType(type).find(({ name }) => name.includes(end))!.properties
const matches = (from: string, pattern: RegExp) =>
  [...from.matchAll(pattern)].map(([, one]) => one!)

/** https://learn.microsoft.com/azure/role-based-access-control/built-in-roles */
const roleIds = {
  'Storage Blob Data Contributor': 'ba92f5b4-2d11-453d-a403-e96b0029c9fe',
  'Storage Queue Data Contributor': '974c5e8b-45b9-4653-ba55-5f855dd0fb88',
  'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3',
  'Key Vault Secrets User': '4633458b-17de-408a-b874-0445c86b69e6',
  'Monitoring Metrics Publisher': '3913510d-42f4-4e42-8a64-420c390055eb',
}

test('storage and telemetry take no shared keys, and nothing asks for one', () => {
  const [account] = ofType('Storage/storageAccounts')
  expect(account.properties).toMatchObject({
    allowSharedKeyAccess: false,
    allowBlobPublicAccess: false,
    minimumTlsVersion: 'TLS1_2',
  })
  expect(ofType('Insights/components')[0].properties).toMatchObject({ DisableLocalAuth: true })
  expect(text).not.toMatch(
    /listKeys|listAccountSas|AccountKey=|SharedAccessSignature|instrumentationKey/i,
  )
})

test('the identity has its roles on what it uses, never on the whole account or more', () => {
  const scopes = ofType('Authorization/roleAssignments').map(
    ({ scope }) => /^\[resourceId\('Microsoft\.([^']+)'/.exec(scope)?.[1],
  )
  expect(scopes.sort()).toEqual([
    'Insights/components',
    'KeyVault/vaults',
    'Storage/storageAccounts/blobServices/containers',
    'Storage/storageAccounts/queueServices/queues',
    'Storage/storageAccounts/tableServices/tables',
  ])
  const ids = matches(text, /"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"/g)
  expect(ids.sort()).toEqual(Object.values(roleIds).sort())
})

test('storage and vault can be closed to all networks but one, and a vault is kept from purging', () => {
  for (const type of ['Storage/storageAccounts', 'KeyVault/vaults']) {
    expect(ofType(type)[0].properties).toMatchObject({
      networkAcls: {
        defaultAction:
          "[if(or(parameters('privateOnly'), not(empty(parameters('subnetId')))), 'Deny', 'Allow')]",
      },
      publicNetworkAccess: "[if(parameters('privateOnly'), 'Disabled', 'Enabled')]",
    })
  }
  expect(ofType('KeyVault/vaults')[0].properties).toMatchObject({ enableSoftDelete: true })
  expect(main.parameters.purgeProtection.defaultValue).toBe(true)
  expect(ofType('Web/sites')[0].properties.virtualNetworkSubnetId).toContain(
    "parameters('subnetId')",
  )
})

test('zones need storage in zones', () => {
  const storage = main.resources.find(({ name }: Json) => name === 'foghorn-storage')
  expect(JSON.stringify(storage.properties.parameters.sku)).toContain(
    "if(parameters('zoneRedundant'), createObject('value', 'Standard_ZRS')",
  )
  expect(ofType('Web/serverfarms')[0].properties.zoneRedundant).toBe(
    "[parameters('zoneRedundant')]",
  )
})

test('an alert for each failure, and one for the state that nothing runs', () => {
  const failures = named('Insights/scheduledQueryRules', '-failures')
  // an alert that is still open would hide the next failure
  expect(failures.autoMitigate).toBe(false)
  expect(failures.muteActionsDuration).toBe(failures.windowSize)
  expect(named('Insights/scheduledQueryRules', '-silence').autoMitigate).toBe(true)
})

test('secrets are secure parameters, and no file holds the value of one', () => {
  const secret = ['secrets', 'linkKey', 'adminKey']
  for (const name of secret) {
    const { type, defaultValue } = main.parameters[name]
    expect([name, type]).toEqual([name, expect.stringMatching(/^secure/)])
    expect(['', '{}']).toContain(defaultValue === '' ? '' : JSON.stringify(defaultValue))
  }
  const vault = main.resources.find(({ name }: Json) => name === 'foghorn-vault')
  expect(vault.properties.template.parameters.secrets.type).toBe('secureObject')
  const values = matches(read('main.bicepparam'), /^ {2}(\w+: .+)$/gm)
  expect(values.length).toBeGreaterThan(0)
  for (const value of values) {
    expect(value).toMatch(/^(\w+): readEnvironmentVariable\('\1', ''\)$/)
  }
})

test('a secret without a value is not written, so an upgrade replaces no key', () => {
  expect(ofType('KeyVault/vaults/secrets')[0].condition).toBe(
    "[not(empty(items(parameters('secrets'))[copyIndex()].value))]",
  )
  expect(text).not.toMatch(/newGuid|utcNow/)
})

test('the app has the settings that are read, and no others', () => {
  const settings = JSON.stringify(named('Web/sites/config', 'appsettings'))
  expect(matches(settings, /'(AzureWebJobs\w+|APPLICATION\w+|FOGHORN_\w+)'/g)).toEqual([
    'AzureWebJobsStorage__accountName',
    'AzureWebJobsStorage__credential',
    'AzureWebJobsStorage__clientId',
    'APPLICATIONINSIGHTS_CONNECTION_STRING',
    'APPLICATIONINSIGHTS_AUTHENTICATION_STRING',
    'FOGHORN_LOG_LEVEL',
  ])
  expect(matches(main.variables.allSecrets, /'([A-Z][A-Z_]+)'/g)).toEqual([
    'FOGHORN_LINK_KEY',
    'FOGHORN_ADMIN_KEY',
  ])
})

test('the example of parameters sets what exists, and names each secret of the example configuration', () => {
  const set = matches(read('main.bicepparam'), /^param (\w+)/gm)
  expect(Object.keys(main.parameters)).toEqual(expect.arrayContaining(set))
  const configuration = readFileSync(join(root, 'infra/examples/full.config.json'), 'utf8')
  const used = new Set(matches(configuration, /"env:(\w+)"/g))
  expect(matches(read('main.bicepparam'), /^ {2}(\w+): /gm).sort()).toEqual([...used].sort())
})

test('the app sets nothing that Flex Consumption refuses', () => {
  expect(JSON.stringify(ofType('Web/sites'))).not.toMatch(
    /\b(ftpsState|alwaysOn|linuxFxVersion|cors|use32BitWorkerProcess)\b/,
  )
  expect(text).not.toMatch(/FUNCTIONS_(WORKER_RUNTIME|EXTENSION_VERSION)|WEBSITE_RUN_FROM_PACKAGE/)
})

test('sign-in turns nobody away, and takes people of one tenant', () => {
  const signIn = named('Web/sites/config', 'authsettingsV2')
  // beacons, Slack and holders of links come without
  expect(signIn.globalValidation).toEqual({
    requireAuthentication: false,
    unauthenticatedClientAction: 'AllowAnonymous',
  })
  expect(signIn.httpSettings).toEqual({ requireHttps: true })
  // the issuer of one tenant, not `common`
  expect(signIn.identityProviders).toContain(
    "format('{0}{1}/v2.0', environment().authentication.loginEndpoint, parameters('signInTenantId'))",
  )
  expect(signIn.identityProviders).toContain(
    "'allowedAudiences', createArray(parameters('signInClientId')",
  )
  // Azure sets it; no setting of ours may
  expect(text).not.toContain('WEBSITE_AUTH_ENABLED')
})

test('the host takes routes as they are, writes no addresses of requests, and looks at its queue often', () => {
  const host = JSON.parse(read('host.json'))
  expect(host.version).toBe('2.0')
  expect(host.extensions.http.routePrefix).toBe('')
  // its rows would hold whole addresses, with the tokens of links in them
  expect(host.logging.logLevel['Host.Results']).toBe('None')
  expect(host.extensions.queues.maxPollingInterval).toMatch(/^00:00:\d\d(\.\d+)?$/)
  expect(host.functionTimeout).toMatch(/^00:\d\d:\d\d$/)
})

test('azd finds the templates, the bundle and the app', () => {
  const yaml = readFileSync(join(root, 'azure.yaml'), 'utf8')
  const value = (key: string) => new RegExp(`^ +${key}: (.+)$`, 'm').exec(yaml)![1]!
  expect(existsSync(join(root, value('path'), `${value('module')}.bicep`))).toBe(true)
  expect(value('dist')).toBe('dist/azure')
  const service = /^services:\n {2}(\w+):/m.exec(yaml)![1]
  expect(ofType('Web/sites')[0].tags).toContain(`createObject('azd-service-name', '${service}')`)
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(Object.keys(scripts)).toContain(/npm run (\S+)/.exec(value('run'))![1])
})
