// The system topic of Scheduled Events of this subscription, and its subscription for the relay.
@description('Where the relay takes events.')
@secure()
param endpoint string

@description('Token of the relay with the scope "report".')
@secure()
param reportToken string

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' = {
  name: 'foghorn-scheduled-events'
  location: 'global'
  properties: {
    source: subscription().id
    topicType: 'microsoft.resourcenotifications.maintenanceresources'
  }
}

resource toRelay 'Microsoft.EventGrid/systemTopics/eventSubscriptions@2025-02-15' = {
  parent: topic
  name: 'foghorn'
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
    retryPolicy: {
      // later, the event is over
      eventTimeToLiveInMinutes: 60
      maxDeliveryAttempts: 30
    }
  }
}
