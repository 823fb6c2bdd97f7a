// The key vault and the secrets in it. A secret whose value is empty is left as the vault has it, so a
// deployment needs no secret unless it brings a new one.

@description('Name of the vault: 3 to 24 letters, digits and hyphens, unique in Azure.')
param name string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('Forbids purging. Cannot be switched off again.')
param purgeProtection bool

@description('The only subnet with access, by a service endpoint for Key Vault. Empty: any network.')
param subnetId string

@description('Whether only private endpoints have access.')
param privateOnly bool

@description('Values by name of the app setting; an empty value writes nothing.')
@secure()
param secrets object

@description('Principal id of the identity that the relay runs as.')
param identityPrincipalId string

// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/security
var secretsUser = '4633458b-17de-408a-b874-0445c86b69e6'

// fixed when the vault is created
var softDeleteDays = 30

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: {
      family: 'A'
      name: 'standard'
    }
    enableRbacAuthorization: true
    enableSoftDelete: true
    softDeleteRetentionInDays: softDeleteDays
    // Azure knows true and absent only
    enablePurgeProtection: purgeProtection ? true : null
    publicNetworkAccess: privateOnly ? 'Disabled' : 'Enabled'
    networkAcls: {
      defaultAction: privateOnly || !empty(subnetId) ? 'Deny' : 'Allow'
      // lets deployments write secrets through Azure Resource Manager
      bypass: 'AzureServices'
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

// a vault takes letters, digits and hyphens
resource entries 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = [
  for secret in items(secrets): if (!empty(secret.value)) {
    parent: vault
    name: replace(secret.key, '_', '-')
    tags: tags
    properties: {
      contentType: 'text/plain'
      value: secret.value
    }
  }
]

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: vault
  name: guid(vault.id, identityPrincipalId, secretsUser)
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', secretsUser)
    principalId: identityPrincipalId
    principalType: 'ServicePrincipal'
  }
}

@description('Name of the vault.')
output name string = vault.name

@description('Resource id of the vault.')
output id string = vault.id

@description('Where the vault answers, with a slash at the end.')
output uri string = vault.properties.vaultUri
