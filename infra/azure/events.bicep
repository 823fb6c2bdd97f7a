// Lets the relay see Scheduled Events of a whole subscription, also of VMs without a beacon: Azure publishes
// them through Event Grid, and the relay may read and acknowledge them. docs/azure.md says how to use it.
// All of it is a preview of Azure's.
targetScope = 'subscription'

@description('Resource group for the system topic.')
param resourceGroupName string

@description('Address of the relay, without a path.')
param relayUrl string

@description('Token of the relay with the scope "report".')
@secure()
param reportToken string

@description('Object id of the identity of the relay.')
param relayPrincipalId string

@description('Object id, in this tenant, of the application 78315a30-673a-4a46-8e5c-ce59dbc6adf8, as which Azure publishes events.')
param publisherPrincipalId string

@description('Storage account in that resource group for events that the relay has not taken within an hour. Empty: Event Grid drops them.')
param deadLetterAccount string = ''

// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles
var scheduledEventsContributor = 'b67fe603-310e-4889-b9ee-8257d09d353d'
var reader = 'acdd72a7-3385-48ef-bd42-f606fba81ae7'

var assignments = [
  { principalId: publisherPrincipalId, roleId: scheduledEventsContributor }
  { principalId: relayPrincipalId, roleId: scheduledEventsContributor }
  { principalId: relayPrincipalId, roleId: reader }
]

resource roles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for one in assignments: {
    name: guid(subscription().id, one.principalId, one.roleId)
    properties: {
      principalId: one.principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', one.roleId)
    }
  }
]

module topic 'modules/event-grid.bicep' = {
  name: 'foghorn-events'
  scope: resourceGroup(resourceGroupName)
  params: {
    endpoint: '${relayUrl}/v1/azure/events'
    reportToken: reportToken
    deadLetterAccount: deadLetterAccount
  }
}
