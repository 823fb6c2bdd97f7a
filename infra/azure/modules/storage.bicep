// The storage account: the deployed package, the host's own state, the relay's table and its wake-ups.
// Only Entra identities get in; keys and shared access signatures do not work.

@description('Name of the account: 3 to 24 lower-case letters and digits, unique in Azure.')
param name string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('Redundancy.')
param sku string

@description('Principal id of the identity that the relay runs as.')
param identityPrincipalId string

var queueNames = ['foghorn-wake', 'foghorn-wake-poison']

// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/storage
var roles = {
  blobDataOwner: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  queueDataContributor: '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
  tableDataContributor: '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
}

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: sku
  }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    publicNetworkAccess: 'Enabled'
    supportsHttpsTrafficOnly: true
  }
}

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' = {
  parent: account
  name: 'default'
}

resource packages 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = {
  parent: blobService
  name: 'packages'
  properties: {
    publicAccess: 'None'
  }
}

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-06-01' = {
  parent: account
  name: 'default'
}

resource queues 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-06-01' = [
  for queueName in queueNames: {
    parent: queueService
    name: queueName
  }
]

resource tableService 'Microsoft.Storage/storageAccounts/tableServices@2025-06-01' = {
  parent: account
  name: 'default'
}

resource table 'Microsoft.Storage/storageAccounts/tableServices/tables@2025-06-01' = {
  parent: tableService
  name: 'foghorn'
}

resource assignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in items(roles): {
    scope: account
    name: guid(account.id, identityPrincipalId, role.value)
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        role.value
      )
      principalId: identityPrincipalId
      principalType: 'ServicePrincipal'
    }
  }
]

@description('Name of the account.')
output accountName string = account.name

@description('Where the deployed package is kept.')
output packageContainerUrl string = '${account.properties.primaryEndpoints.blob}${packages.name}'
