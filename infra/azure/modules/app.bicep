// The function app, its plan, its settings and, if asked for, sign-in on its pages.

@description('Name of the app, unique in Azure, and of its plan.')
param name string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('Resource id of the identity that the relay runs as.')
param identityId string

@description('Client id of that identity.')
param identityClientId string

@description('Memory of one instance in MB.')
param instanceMemoryMB int

@description('The most instances that may run at once.')
param maximumInstanceCount int

@description('Requests that one instance takes at once.')
param httpConcurrency int

@description('Instances that always run.')
param alwaysReadyHttp int

@description('Lowest TLS version.')
param minTlsVersion string

@description('Whether instances are spread over zones.')
param zoneRedundant bool

@description('Subnet that the app sends from. Empty: no virtual network.')
param subnetId string

@description('Name of the storage account.')
param storageAccountName string

@description('Where the deployed package is kept.')
param packageContainerUrl string

@description('Connection string of Application Insights.')
param insightsConnectionString string

@description('Where the key vault answers, with a slash at the end.')
param vaultUri string

@description('App settings whose values are in the vault.')
param secretNames array

@description('Least important log lines that are kept.')
param logLevel string

@description('Client id of the app registration for sign-in. Empty: no sign-in.')
param signInClientId string

@description('Tenant of that app registration.')
param signInTenantId string

var signIn = !empty(signInClientId)

// without a version in the address the app follows the newest
var secretSettings = toObject(
  secretNames,
  setting => setting,
  setting => '@Microsoft.KeyVault(SecretUri=${vaultUri}secrets/${replace(setting, '_', '-')}/)'
)

resource plan 'Microsoft.Web/serverfarms@2025-03-01' = {
  name: name
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
    zoneRedundant: zoneRedundant
  }
}

resource app 'Microsoft.Web/sites@2025-03-01' = {
  name: name
  location: location
  // by this tag, azd finds where to deploy the service of azure.yaml
  tags: union(tags, { 'azd-service-name': 'relay' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    // the app is public: beacons, Slack and people come from anywhere
    publicNetworkAccess: 'Enabled'
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    // client certificates are ignored
    clientCertEnabled: false
    keyVaultReferenceIdentity: identityId
    // Flex Consumption refuses ftpsState, alwaysOn and linuxFxVersion here; it has no FTP at all.
    // No CORS: nothing but the relay's own pages calls it from a browser.
    siteConfig: {
      http20Enabled: true
      minTlsVersion: minTlsVersion
      scmMinTlsVersion: minTlsVersion
    }
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packageContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: {
        name: 'node'
        version: '24'
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReadyHttp == 0
          ? []
          : [
              {
                name: 'http'
                instanceCount: alwaysReadyHttp
              }
            ]
        triggers: {
          http: {
            perInstanceConcurrency: httpConcurrency
          }
        }
      }
    }
  }
}

// what is not named here is removed from the app by a deployment
resource settings 'Microsoft.Web/sites/config@2025-03-01' = {
  parent: app
  name: 'appsettings'
  properties: union(
    {
      AzureWebJobsStorage__accountName: storageAccountName
      AzureWebJobsStorage__credential: 'managedidentity'
      AzureWebJobsStorage__clientId: identityClientId
      APPLICATIONINSIGHTS_CONNECTION_STRING: insightsConnectionString
      APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
      FOGHORN_LOG_LEVEL: logLevel
    },
    secretSettings
  )
}

// packages are deployed with an Entra token, never with a publishing password
resource noFtpPassword 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: app
  name: 'ftp'
  properties: {
    allow: false
  }
}

resource noPublishingPassword 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: app
  name: 'scm'
  properties: {
    allow: false
  }
}

// written even when sign-in is off, so that it can be switched off. Beacons and holders of links come
// without a sign-in, so nobody is turned away here: the relay judges.
resource pageSignIn 'Microsoft.Web/sites/config@2025-03-01' = {
  parent: app
  name: 'authsettingsV2'
  dependsOn: [
    settings
  ]
  properties: {
    platform: {
      enabled: signIn
    }
    globalValidation: {
      requireAuthentication: false
      unauthenticatedClientAction: 'AllowAnonymous'
    }
    httpSettings: {
      requireHttps: true
    }
    login: {
      tokenStore: {
        enabled: false
      }
    }
    identityProviders: signIn
      ? {
          azureActiveDirectory: {
            enabled: true
            registration: {
              clientId: signInClientId
              openIdIssuer: '${environment().authentication.loginEndpoint}${signInTenantId}/v2.0'
            }
            validation: {
              allowedAudiences: [
                signInClientId
                'api://${signInClientId}'
              ]
            }
          }
        }
      : {}
  }
}

@description('Name of the app.')
output name string = app.name

@description('Where the app answers.')
output url string = 'https://${app.properties.defaultHostName}'
