// The Bicep files, read as text: no compiler is at hand. Mistakes that a compiler would find and this does
// not are found by `az bicep build`, as infra/azure/README.md says.
import { readdirSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Declaration, keysOf, namesIn, readBicep, unknownNames } from './bicep.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const azure = join(root, 'infra/azure')
const read = (path: string) => readFileSync(join(azure, path), 'utf8')

const modulePaths = readdirSync(join(azure, 'modules')).map((name) => `modules/${name}`)
const paths = ['main.bicep', ...modulePaths]
const files = new Map(paths.map((path) => [path, readBicep(read(path))]))
const all = paths.map(read).join('\n')
const of = (path: string, kind: Declaration['kind']) =>
  files.get(path)!.declarations.filter((declaration) => declaration.kind === kind)
const main = (name: string) =>
  files.get('main.bicep')!.declarations.find((declaration) => declaration.name === name)!

/** What the Functions host and the relay read; besides them, what the configuration names. */
const settingsRead = [
  'AzureWebJobsStorage__accountName',
  'AzureWebJobsStorage__credential',
  'AzureWebJobsStorage__clientId',
  'APPLICATIONINSIGHTS_CONNECTION_STRING',
  'APPLICATIONINSIGHTS_AUTHENTICATION_STRING',
  'FOGHORN_LOG_LEVEL',
]
const secretsRead = ['FOGHORN_LINK_KEY', 'FOGHORN_ADMIN_KEY']

/** https://learn.microsoft.com/azure/role-based-access-control/built-in-roles */
const roleIds: Record<string, string> = {
  'Storage Blob Data Contributor': 'ba92f5b4-2d11-453d-a403-e96b0029c9fe',
  'Storage Queue Data Contributor': '974c5e8b-45b9-4653-ba55-5f855dd0fb88',
  'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3',
  'Key Vault Secrets User': '4633458b-17de-408a-b874-0445c86b69e6',
  'Monitoring Metrics Publisher': '3913510d-42f4-4e42-8a64-420c390055eb',
}

describe.each(paths)('%s', (path) => {
  const file = files.get(path)!

  test('closes every bracket and quote', () => {
    expect(file.faults).toEqual([])
  })

  test('uses no name that it does not declare', () => {
    expect(unknownNames(file)).toEqual([])
  })

  test('describes every parameter and output', () => {
    const silent = [...of(path, 'param'), ...of(path, 'output')].filter(
      ({ decorators }) => !decorators.some((line) => /^@description\('.{3,}'\)$/.test(line)),
    )
    expect(silent.map(({ name }) => name)).toEqual([])
  })

  test('declares each name once, outputs apart, and uses each parameter and variable', () => {
    const names = file.declarations.filter(({ kind }) => kind !== 'output').map(({ name }) => name)
    expect(names).toEqual([...new Set(names)])
    const uses = namesIn(file).map(({ name }) => name)
    const unused = [...of(path, 'param'), ...of(path, 'var')].filter(
      ({ name }) => uses.filter((use) => use === name).length < 2,
    )
    expect(unused.map(({ name }) => name)).toEqual([])
  })

  test('names a dated version, not a preview, of every resource type', () => {
    for (const { name, text } of of(path, 'resource')) {
      expect(text, name).toMatch(/^resource \w+ 'Microsoft\.[\w/.]+@20\d\d-\d\d-\d\d' = /)
    }
  })
})

test('the parameters of every module call are those of its file', () => {
  const modules = of('main.bicep', 'module')
  expect(modules.map(({ text }) => /'(.+?)'/.exec(text)![1]).sort()).toEqual(modulePaths.sort())
  for (const { name, text } of modules) {
    const path = normalize(/'(.+?)'/.exec(text)![1]!)
    const declared = of(path, 'param').map((parameter) => parameter.name)
    expect(keysOf(text, /params: \{\n/).sort(), name).toEqual(declared.sort())
  }
})

test('every output of a module that is used exists', () => {
  for (const [, name, output] of read('main.bicep').matchAll(/(\w+)\.outputs\.(\w+)/g)) {
    const path = /'(.+?)'/.exec(main(name!).text)![1]!
    expect(
      of(path, 'output').map((declaration) => declaration.name),
      name,
    ).toContain(output)
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

test('the identity has roles on what it uses, never on the whole account or more', () => {
  const scopes = paths.flatMap((path) =>
    of(path, 'resource')
      .filter(({ text }) => text.includes("'Microsoft.Authorization/roleAssignments@"))
      .map(({ text }) => `${path}: ${/^ +scope: (\S+)$/m.exec(text)?.[1]}`),
  )
  expect(scopes.sort()).toEqual([
    'modules/logs.bicep: insights',
    'modules/storage.bicep: containers[i]',
    'modules/storage.bicep: queues[i]',
    'modules/storage.bicep: table',
    'modules/vault.bicep: vault',
  ])
})

test('storage and vault can be closed to all networks but one, and a vault is kept from purging', () => {
  for (const path of ['modules/storage.bicep', 'modules/vault.bicep']) {
    const text = read(path)
    expect(text).toContain("defaultAction: privateOnly || !empty(subnetId) ? 'Deny' : 'Allow'")
    expect(text).toContain("publicNetworkAccess: privateOnly ? 'Disabled' : 'Enabled'")
  }
  expect(read('modules/storage.bicep')).toContain("minimumTlsVersion: 'TLS1_2'")
  expect(read('modules/vault.bicep')).toContain('enableSoftDelete: true')
  expect(main('purgeProtection').text.trim()).toBe('param purgeProtection bool = true')
  expect(read('modules/app.bicep')).toContain('virtualNetworkSubnetId: empty(subnetId) ? null')
})

test('zones need storage in zones', () => {
  expect(main('storage').text).toContain("sku: zoneRedundant ? 'Standard_ZRS' : storageSku")
  expect(read('modules/app.bicep')).toMatch(/serverfarms@[\s\S]+?zoneRedundant: zoneRedundant/)
})

test('an alert for each failure, and one for the state that nothing runs', () => {
  const [failures, silence] = ['alert', 'silence'].map(
    (name) => of('modules/logs.bicep', 'resource').find((one) => one.name === name)!.text,
  )
  // an alert that is still open would hide the next failure
  expect(failures).toContain('autoMitigate: false')
  const durationOf = (key: string) => new RegExp(`${key}: '(\\w+)'`).exec(failures!)?.[1]
  expect(durationOf('muteActionsDuration')).toBe(durationOf('windowSize'))
  expect(silence).toContain('autoMitigate: true')
})

test('secrets are secure parameters, and none has a value in a file', () => {
  const secure = paths.flatMap((path) =>
    of(path, 'param')
      .filter(({ name }) => /^(secrets|linkKey|adminKey)$/.test(name))
      .map(({ name, text, decorators }) => ({ path, name, text, decorators })),
  )
  expect(secure).toHaveLength(4)
  for (const { path, name, text, decorators } of secure) {
    expect(decorators, `${path} ${name}`).toContain('@secure()')
    expect(text.trim().split('\n')[0]).toMatch(/^param \w+ (string|object)( = (''|\{\}))?$/)
  }
  const values = read('main.bicepparam').match(/^ {2}\w+: .+$/gm) ?? []
  expect(values.length).toBeGreaterThan(0)
  for (const value of values)
    expect(value).toMatch(/^ {2}(\w+): readEnvironmentVariable\('\1', ''\)$/)
})

test('a secret without a value is not written, so an upgrade replaces no key', () => {
  expect(read('modules/vault.bicep')).toContain('in items(secrets): if (!empty(secret.value)) {')
  expect(all).not.toMatch(/newGuid|utcNow/)
})

test('the app has the settings that are read, and no others', () => {
  const settings = of('modules/app.bicep', 'resource').find(({ name }) => name === 'settings')!
  expect(keysOf(settings.text, /union\(\n {4}\{\n/)).toEqual(settingsRead)
  const names = [...main('allSecrets').text.matchAll(/\b([A-Z][A-Z_]+):/g)].map((match) => match[1])
  expect(names).toEqual(secretsRead)
})

test('the example of parameters sets what exists, and names each secret of the example configuration', () => {
  const example = readBicep(read('main.bicepparam'))
  expect(example.faults).toEqual([])
  const known = of('main.bicep', 'param').map(({ name }) => name)
  for (const { name } of example.declarations) expect(known).toContain(name)
  const configuration = readFileSync(join(root, 'infra/example.config.json'), 'utf8')
  const used = [...configuration.matchAll(/"env:(\w+)"/g)].map((match) => match[1]!)
  expect(keysOf(read('main.bicepparam'), /param secrets = \{\n/).sort()).toEqual(
    [...new Set(used)].sort(),
  )
})

test('role ids are those of the roles that the README names', () => {
  const found = all.match(/'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'/g) ?? []
  expect(found.map((id) => id.slice(1, -1)).sort()).toEqual(Object.values(roleIds).sort())
  for (const role of Object.keys(roleIds)) expect(read('README.md')).toContain(role)
})

test('the app sets nothing that Flex Consumption refuses', () => {
  const { code } = files.get('modules/app.bicep')!
  const refused = ['ftpsState', 'alwaysOn', 'linuxFxVersion', 'cors', 'use32BitWorkerProcess']
  for (const property of refused) expect(code).not.toContain(property)
  expect(all).not.toMatch(/FUNCTIONS_(WORKER_RUNTIME|EXTENSION_VERSION)|WEBSITE_RUN_FROM_PACKAGE/)
})

test('sign-in turns nobody away, takes people of one tenant, and leads back to the app', () => {
  const resources = of('modules/app.bicep', 'resource')
  const { text } = resources.find(({ name }) => name === 'pageSignIn')!
  // beacons, Slack and holders of links come without
  expect(text).toContain("unauthenticatedClientAction: 'AllowAnonymous'")
  expect(text).toContain('requireAuthentication: false')
  expect(text).toContain('requireHttps: true')
  // the issuer of one tenant, not `common`
  expect(text).toMatch(/openIdIssuer: '\$\{.+\}\$\{signInTenantId\}\/v2\.0'/)
  expect(text).toMatch(/allowedAudiences: \[\s+signInClientId/)
  // Azure says that it is on, and nobody else may
  expect(all).not.toContain('WEBSITE_AUTH_ENABLED')
  const readme = read('README.md')
  expect(readme).toContain('--web-redirect-uris "$(output appUrl)/.auth/login/aad/callback"')
  expect(readme).toContain('"signIn": { "tenantId"')
})

test('the README tells every parameter, and only outputs that exist', () => {
  const readme = read('README.md')
  for (const { name } of of('main.bicep', 'param')) expect(readme).toContain(`\`${name}\``)
  const outputs = of('main.bicep', 'output').map(({ name }) => name)
  const asked = [...readme.matchAll(/(?:\$\(|\n)output (\w+)/g)].map((match) => match[1]!)
  expect(asked.length).toBeGreaterThan(5)
  for (const name of asked) expect(outputs).toContain(name)
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

describe('reading Bicep as text', () => {
  const unknown = (source: string) => unknownNames(readBicep(source))

  test.each([
    ['a name in a text', `var a = '\${b}'`, ['b']],
    ['a function', 'var a = unoin(b, c)', ['unoin', 'b', 'c']],
    ['a branch', 'param b bool\nvar a = b ? c : {\n  d: e\n}', ['c', 'e']],
    ['nothing but keys and properties', "var a = {\n  b: 'c'\n}\nvar f = a.b", []],
    ['nothing in a comment', '// b\nvar a = 1 // c', []],
    ['nothing in a loop', 'param b array\nvar a = [\n  for c in b: {\n    d: c\n  }\n]', []],
    ['nothing in a counted loop', 'param b array\nvar a = [\n  for (c, i) in b: b[i] + c\n]', []],
  ])('finds %s', (_, source, names) => {
    expect(unknown(source)).toEqual(names)
  })

  test.each([
    ['an open bracket', 'var a = {\n', 'line 1: missing }'],
    ['the wrong bracket', 'var a = {\n]', 'line 2: unexpected ]'],
    ['an open text', "var a = 'b\nvar c = 1", 'line 1: a text is not closed'],
    [
      'an open text of several lines',
      "var a = '''\nb",
      'line 1: a text of several lines is not closed',
    ],
    ['an open expression in a text', `var a = '\${b'\n`, 'line 1: missing }'],
  ])('finds %s', (_, source, fault) => {
    expect(readBicep(source).faults).toContain(fault)
  })
})
