// The relay on Azure Functions (Flex Consumption), with all that it needs. docs/install-relay-azure.md
// says how to deploy it. Each module grants the app's identity its roles, so a role exists before what uses it.
targetScope = 'resourceGroup'

@description('Start of every resource name: lower-case letters and digits, beginning with a letter.')
@minLength(2)
@maxLength(10)
param name string = 'foghorn'

@description('Region of all resources. Flex Consumption is not in every region.')
param location string = resourceGroup().location

@description('Tags for every resource.')
param tags object = {}

@description('Redundancy of the storage account. Standard_ZRS keeps three copies in different zones.')
@allowed(['Standard_LRS', 'Standard_ZRS'])
param storageSku string = 'Standard_LRS'

@description('Spreads instances and storage over zones. Azure then keeps instances running, and bills them.')
param zoneRedundant bool = false

@description('Id of a subnet that the app sends from. Storage and vault then accept no other network.')
param subnetId string = ''

@description('Id of a subnet for private endpoints. Storage and vault then have no public address.')
param endpointSubnetId string = ''

@description('Memory of one instance in MB. Billing follows it.')
@allowed([512, 2048, 4096])
param instanceMemoryMB int = 512

@description('The most instances that may run at once.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int = 40

@description('Requests that one instance accepts at once. See docs/performance-and-cost.md, "Memory".')
@minValue(1)
@maxValue(1000)
param httpConcurrency int = 32

@description('Instances that always run and always cost, so that no request waits for a cold start.')
@minValue(0)
param alwaysReadyHttp int = 0

@description('Lowest TLS version that the relay accepts.')
@allowed(['1.2', '1.3'])
param minTlsVersion string = '1.2'

@description('Least important log lines that are kept.')
@allowed(['debug', 'info', 'warn', 'error'])
param logLevel string = 'info'

@description('Signs links: base64 of 32 random bytes, several by comma. Empty: the vault keeps what it has.')
@secure()
param linkKey string = ''

@description('Key of the events API, at least 32 characters. Empty: the vault keeps what it has.')
@secure()
param adminKey string = ''

@description('Whether the events API is on.')
param eventsApi bool = true

@description('What the configuration takes as "env:NAME", by NAME. Empty: the vault keeps what it has.')
@secure()
param secrets object = {}

@description('Forbids purging the vault. Cannot be undone; a deleted vault blocks its name for 30 days.')
param purgeProtection bool = true

@description('Days that logs are kept.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('Most log data of a day in GB; -1: no limit. Above it logs are lost, and alerts see nothing.')
param logDailyCapGb string = '1'

@description('Who is mailed when the relay logs an error. Empty: no alert.')
param alertEmail string = ''

@description('Client id of the app registration with which people sign in on the pages. Empty: no sign-in.')
param signInClientId string = ''

@description('Tenant of that app registration: signIn.tenantId of the configuration.')
param signInTenantId string = tenant().tenantId

var unique = uniqueString(resourceGroup().id)
var resourceName = '${name}-${unique}'
var privateOnly = !empty(endpointSubnetId)

// names of app settings and the values to write; an empty value writes nothing
var allSecrets = union(
  secrets,
  { FOGHORN_LINK_KEY: linkKey },
  eventsApi ? { FOGHORN_ADMIN_KEY: adminKey } : {}
)

// user-assigned: it exists before the app does, so roles can be granted before the app first starts,
// and a new app in its place keeps them
resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: resourceName
  location: location
  tags: tags
}

module storage 'modules/storage.bicep' = {
  name: 'foghorn-storage'
  params: {
    name: '${name}${unique}'
    location: location
    tags: tags
    sku: zoneRedundant ? 'Standard_ZRS' : storageSku
    subnetId: subnetId
    privateOnly: privateOnly
    identityPrincipalId: identity.properties.principalId
  }
}

module vault 'modules/vault.bicep' = {
  name: 'foghorn-vault'
  params: {
    name: resourceName
    location: location
    tags: tags
    purgeProtection: purgeProtection
    subnetId: subnetId
    privateOnly: privateOnly
    secrets: allSecrets
    identityPrincipalId: identity.properties.principalId
  }
}

module logs 'modules/logs.bicep' = {
  name: 'foghorn-logs'
  params: {
    name: resourceName
    location: location
    tags: tags
    retentionDays: logRetentionDays
    dailyCapGb: logDailyCapGb
    alertEmail: alertEmail
    identityPrincipalId: identity.properties.principalId
  }
}

module network 'modules/network.bicep' = if (privateOnly) {
  name: 'foghorn-network'
  params: {
    name: resourceName
    location: location
    tags: tags
    subnetId: endpointSubnetId
    accountId: storage.outputs.accountId
    vaultId: vault.outputs.id
  }
}

module app 'modules/app.bicep' = {
  name: 'foghorn-app'
  // without them the app reaches neither its package nor its secrets
  dependsOn: [
    network
  ]
  params: {
    name: resourceName
    location: location
    tags: tags
    identityId: identity.id
    identityClientId: identity.properties.clientId
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    httpConcurrency: httpConcurrency
    alwaysReadyHttp: alwaysReadyHttp
    minTlsVersion: minTlsVersion
    zoneRedundant: zoneRedundant
    subnetId: subnetId
    storageAccountName: storage.outputs.accountName
    packageContainerUrl: storage.outputs.packageContainerUrl
    insightsConnectionString: logs.outputs.connectionString
    vaultUri: vault.outputs.uri
    secretNames: map(items(allSecrets), entry => entry.key)
    logLevel: logLevel
    signInClientId: signInClientId
    signInTenantId: signInTenantId
  }
}

@description('Where the relay answers: write it as publicUrl into foghorn.config.json.')
output appUrl string = app.outputs.url

@description('Name of the function app.')
output appName string = app.outputs.name

@description('Name of the key vault.')
output vaultName string = vault.outputs.name

@description('Name of the storage account.')
output storageAccountName string = storage.outputs.accountName

@description('Client id of the identity that the relay runs as.')
output identityClientId string = identity.properties.clientId

@description('Id of the log workspace, for queries.')
output workspaceId string = logs.outputs.workspaceId
