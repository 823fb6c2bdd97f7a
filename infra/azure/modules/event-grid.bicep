// The system topic of Scheduled Events of this subscription, and its subscription for the relay.
@description('Where the relay takes events.')
@secure()
param endpoint string

@description('Token of the relay with the scope "report".')
@secure()
param reportToken string

@description('Storage account in this resource group for events that the relay has not taken. Empty: Event Grid drops them.')
param deadLetterAccount string

// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles
var blobContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var keepsDeadLetters = deadLetterAccount != ''

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' = {
  name: 'foghorn-scheduled-events'
  location: 'global'
  identity: { type: 'SystemAssigned' }
  properties: {
    source: subscription().id
    topicType: 'microsoft.resourcenotifications.maintenanceresources'
  }
}

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' existing = if (keepsDeadLetters) {
  name: keepsDeadLetters ? deadLetterAccount : 'none'

  resource blobs 'blobServices' existing = {
    name: 'default'

    resource container 'containers' = {
      name: 'foghorn-dead-letters'
    }
  }
}

resource mayWrite 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (keepsDeadLetters) {
  scope: account
  name: guid(resourceGroup().id, deadLetterAccount, topic.name, blobContributor)
  properties: {
    principalId: topic.identity.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', blobContributor)
  }
}

resource toRelay 'Microsoft.EventGrid/systemTopics/eventSubscriptions@2025-02-15' = {
  parent: topic
  name: 'foghorn'
  dependsOn: [mayWrite, account::blobs::container]
  properties: {
    eventDeliverySchema: 'CloudEventSchemaV1_0'
    destination: {
      endpointType: 'WebHook'
      properties: {
        endpointUrl: endpoint
        // the relay stores each event by itself, and takes many at once
        maxEventsPerBatch: 50
        preferredBatchSizeInKilobytes: 64
        deliveryAttributeMappings: [
          {
            name: 'Authorization'
            type: 'Static'
            properties: {
              value: 'Bearer ${reportToken}'
              isSecret: true
            }
          }
        ]
      }
    }
    deadLetterWithResourceIdentity: keepsDeadLetters
      ? {
          identity: { type: 'SystemAssigned' }
          deadLetterDestination: {
            endpointType: 'StorageBlob'
            properties: { resourceId: account.id, blobContainerName: 'foghorn-dead-letters' }
          }
        }
      : null
    retryPolicy: {
      // later, the event is over
      eventTimeToLiveInMinutes: 60
      maxDeliveryAttempts: 30
    }
  }
}
