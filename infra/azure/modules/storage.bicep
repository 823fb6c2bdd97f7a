// The storage account: the deployed package, the host's own state, the relay's table and its wake-ups.
// Only Entra identities get in; keys and shared access signatures do not work. The relay's identity has its
// roles on the containers, queues and the table that it uses, never on the account.

@description('Name of the account: 3 to 24 lower-case letters and digits, unique in Azure.')
param name string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('Redundancy.')
param sku string

@description('The only subnet with access, by a service endpoint for Azure Storage. Empty: any network.')
param subnetId string

@description('Whether only private endpoints have access.')
param privateOnly bool

@description('Principal id of the identity that the relay runs as.')
param identityPrincipalId string

// the package, and what the Functions host stores: locks, the timer's state and the keys of its API
var containerNames = ['packages', 'azure-webjobs-hosts', 'azure-webjobs-secrets']
var queueNames = ['foghorn-wake', 'foghorn-wake-poison']

// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/storage
var blobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var queueDataContributor = '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
var tableDataContributor = '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'

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
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: privateOnly ? 'Disabled' : 'Enabled'
    networkAcls: {
      defaultAction: privateOnly || !empty(subnetId) ? 'Deny' : 'Allow'
      bypass: 'None'
      virtualNetworkRules: privateOnly || empty(subnetId)
        ? []
        : [
            {
              id: subnetId
            }
          ]
    }
  }
}

// not for blobs: the host rewrites its own every few seconds, and each old version would be kept
resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' = {
  parent: account
  name: 'default'
  properties: {
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 7
    }
  }
}

resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = [
  for containerName in containerNames: {
    parent: blobService
    name: containerName
    properties: {
      publicAccess: 'None'
    }
  }
]

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

resource containerRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (containerName, i) in containerNames: {
    scope: containers[i]
    name: guid(containers[i].id, identityPrincipalId, blobDataContributor)
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        blobDataContributor
      )
      principalId: identityPrincipalId
      principalType: 'ServicePrincipal'
    }
  }
]

resource queueRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (queueName, i) in queueNames: {
    scope: queues[i]
    name: guid(queues[i].id, identityPrincipalId, queueDataContributor)
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        queueDataContributor
      )
      principalId: identityPrincipalId
      principalType: 'ServicePrincipal'
    }
  }
]

resource tableRole 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: table
  name: guid(table.id, identityPrincipalId, tableDataContributor)
  properties: {
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      tableDataContributor
    )
    principalId: identityPrincipalId
    principalType: 'ServicePrincipal'
  }
}

@description('Name of the account.')
output accountName string = account.name

@description('Resource id of the account.')
output accountId string = account.id

@description('Where the deployed package is kept.')
output packageContainerUrl string = '${account.properties.primaryEndpoints.blob}${containers[0].name}'
