// The promises of the infrastructure, checked in the text of the Bicep files. `az bicep build`
// finds compile errors.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const azure = join(root, 'infra/azure')
const read = (path: string) => readFileSync(join(azure, path), 'utf8')

const modulePaths = readdirSync(join(azure, 'modules')).map((name) => `modules/${name}`)
const all = ['main.bicep', ...modulePaths].map(read).join('\n')
const matches = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, one]) => one!)
const paramsOf = (path: string) => matches(read(path), /^param (\w+)/gm).sort()

/** From the line that declares it to the bracket at the margin that closes it. */
function declaration(path: string, name: string): string {
  return new RegExp(`^\\w+ ${name} [\\s\\S]*?^[}\\])]`, 'm').exec(read(path))![0]
}

/** https://learn.microsoft.com/azure/role-based-access-control/built-in-roles */
const roleIds = {
  'Storage Blob Data Contributor': 'ba92f5b4-2d11-453d-a403-e96b0029c9fe',
  'Storage Queue Data Contributor': '974c5e8b-45b9-4653-ba55-5f855dd0fb88',
  'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3',
  'Key Vault Secrets User': '4633458b-17de-408a-b874-0445c86b69e6',
  'Monitoring Metrics Publisher': '3913510d-42f4-4e42-8a64-420c390055eb',
}

test('main gives every module exactly its parameters', () => {
  const modules = [...read('main.bicep').matchAll(/^module (\w+) '(.+?)'/gm)]
  expect(modules.map(([, , path]) => path).sort()).toEqual(modulePaths.sort())
  for (const [, name, path] of modules) {
    const given = matches(declaration('main.bicep', name!), /^ {4}(\w+): /gm)
    expect(given.sort(), name).toEqual(paramsOf(path!))
  }
})

test('storage and telemetry take no shared keys, and nothing asks for one', () => {
  expect(all).toContain('allowSharedKeyAccess: false')
  expect(all).toContain('allowBlobPublicAccess: false')
  expect(all).toContain('DisableLocalAuth: true')
  expect(all).not.toMatch(
    /listKeys|listAccountSas|AccountKey=|SharedAccessSignature|instrumentationKey/i,
  )
})

test('the identity has its roles on what it uses, never on the whole account or more', () => {
  const scopes = matches(all, /roleAssignments@[\s\S]*?^ +scope: (\S+)$/gm)
  expect(scopes.sort()).toEqual(['containers[i]', 'insights', 'queues[i]', 'table', 'vault'])
  const ids = matches(all, /'([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})'/g)
  expect(ids.sort()).toEqual(Object.values(roleIds).sort())
})

test('storage and vault can be closed to all networks but one, and a vault is kept from purging', () => {
  for (const path of ['modules/storage.bicep', 'modules/vault.bicep']) {
    const text = read(path)
    expect(text).toContain("defaultAction: privateOnly || !empty(subnetId) ? 'Deny' : 'Allow'")
    expect(text).toContain("publicNetworkAccess: privateOnly ? 'Disabled' : 'Enabled'")
  }
  expect(read('modules/storage.bicep')).toContain("minimumTlsVersion: 'TLS1_2'")
  expect(read('modules/vault.bicep')).toContain('enableSoftDelete: true')
  expect(read('main.bicep')).toContain('param purgeProtection bool = true')
  expect(read('modules/app.bicep')).toContain('virtualNetworkSubnetId: empty(subnetId) ? null')
})

test('zones need storage in zones', () => {
  expect(read('main.bicep')).toContain("sku: zoneRedundant ? 'Standard_ZRS' : storageSku")
  expect(read('modules/app.bicep')).toMatch(/serverfarms@[\s\S]+?zoneRedundant: zoneRedundant/)
})

test('an alert for each failure, and one for the state that nothing runs', () => {
  const failures = declaration('modules/logs.bicep', 'alert')
  // an alert that is still open would hide the next failure
  expect(failures).toContain('autoMitigate: false')
  const durationOf = (key: string) => new RegExp(`${key}: '(\\w+)'`).exec(failures)![1]
  expect(durationOf('muteActionsDuration')).toBe(durationOf('windowSize'))
  expect(declaration('modules/logs.bicep', 'silence')).toContain('autoMitigate: true')
})

test('secrets are secure parameters, and no file holds the value of one', () => {
  const declared = matches(all, /^param ((?:secrets|linkKey|adminKey) .*)$/gm)
  const secure = matches(all, /^@secure\(\)\nparam (.*)$/gm)
  expect(declared).toHaveLength(4)
  expect(secure).toEqual(expect.arrayContaining(declared))
  for (const line of secure) expect(line).toMatch(/^\w+ (string|object)( = (''|\{\}))?$/)
  const values = matches(read('main.bicepparam'), /^ {2}(\w+: .+)$/gm)
  expect(values.length).toBeGreaterThan(0)
  for (const value of values) {
    expect(value).toMatch(/^(\w+): readEnvironmentVariable\('\1', ''\)$/)
  }
})

test('a secret without a value is not written, so an upgrade replaces no key', () => {
  expect(read('modules/vault.bicep')).toContain('in items(secrets): if (!empty(secret.value)) {')
  expect(all).not.toMatch(/newGuid|utcNow/)
})

test('the app has the settings that are read, and no others', () => {
  const settings = declaration('modules/app.bicep', 'settings')
  expect(matches(settings, /^ {6}(\w+): /gm)).toEqual([
    'AzureWebJobsStorage__accountName',
    'AzureWebJobsStorage__credential',
    'AzureWebJobsStorage__clientId',
    'APPLICATIONINSIGHTS_CONNECTION_STRING',
    'APPLICATIONINSIGHTS_AUTHENTICATION_STRING',
    'FOGHORN_LOG_LEVEL',
  ])
  const secrets = declaration('main.bicep', 'allSecrets')
  expect(matches(secrets, /\b([A-Z][A-Z_]+):/g)).toEqual(['FOGHORN_LINK_KEY', 'FOGHORN_ADMIN_KEY'])
})

test('the example of parameters sets what exists, and names each secret of the example configuration', () => {
  expect(paramsOf('main.bicep')).toEqual(expect.arrayContaining(paramsOf('main.bicepparam')))
  const configuration = readFileSync(join(root, 'infra/examples/full.config.json'), 'utf8')
  const used = new Set(matches(configuration, /"env:(\w+)"/g))
  const named = matches(read('main.bicepparam'), /^ {2}(\w+): /gm)
  expect(named.sort()).toEqual([...used].sort())
})

test('the app sets nothing that Flex Consumption refuses', () => {
  const app = read('modules/app.bicep').replace(/\/\/.*$/gm, '')
  expect(app).not.toMatch(/\b(ftpsState|alwaysOn|linuxFxVersion|cors|use32BitWorkerProcess)\b/)
  expect(all).not.toMatch(/FUNCTIONS_(WORKER_RUNTIME|EXTENSION_VERSION)|WEBSITE_RUN_FROM_PACKAGE/)
})

test('sign-in turns nobody away, and takes people of one tenant', () => {
  const signIn = declaration('modules/app.bicep', 'pageSignIn')
  // beacons, Slack and holders of links come without
  expect(signIn).toContain("unauthenticatedClientAction: 'AllowAnonymous'")
  expect(signIn).toContain('requireAuthentication: false')
  expect(signIn).toContain('requireHttps: true')
  // the issuer of one tenant, not `common`
  expect(signIn).toMatch(/openIdIssuer: '\$\{.+\}\$\{signInTenantId\}\/v2\.0'/)
  expect(signIn).toMatch(/allowedAudiences: \[\s+signInClientId/)
  // Azure sets it; no setting of ours may
  expect(all).not.toContain('WEBSITE_AUTH_ENABLED')
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
