// The bot by which the relay posts in Teams and people decide there. docs/teams-bot.md says how to use it.
targetScope = 'resourceGroup'

@description('Name of the bot, unique in Azure.')
param name string = 'foghorn-${uniqueString(subscription().id, clientId)}'

@description('Address of the relay, without a slash at its end.')
param relayUrl string

@description('Client id of the identity of the relay: the clientId of azure in its configuration.')
param clientId string

@description('Resource id of that identity, if it is a user-assigned identity. Empty: an app registration.')
param identityId string = ''

@description('Tenant of the identity.')
param tenantId string = tenant().tenantId

@description('Tags.')
param tags object = {}

resource bot 'Microsoft.BotService/botServices@2022-09-15' = {
  name: name
  // the service has one region
  location: 'global'
  tags: tags
  kind: 'azurebot'
  sku: {
    name: 'F0'
  }
  properties: {
    displayName: 'Foghorn'
    endpoint: '${relayUrl}/teams/messages'
    msaAppType: empty(identityId) ? 'SingleTenant' : 'UserAssignedMSI'
    msaAppId: clientId
    msaAppTenantId: tenantId
    msaAppMSIResourceId: empty(identityId) ? null : identityId
    disableLocalAuth: true
  }
}

resource teams 'Microsoft.BotService/botServices/channels@2022-09-15' = {
  parent: bot
  name: 'MsTeamsChannel'
  location: 'global'
  properties: {
    channelName: 'MsTeamsChannel'
    properties: {
      isEnabled: true
      enableCalling: false
    }
  }
}
