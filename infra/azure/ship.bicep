// Where the relay ships events in Log Analytics: a table, the rule that fills it, the relay's role on that rule,
// saved queries, and an alert. Deploy it into the resource group of the workspace. docs/ship.md says how.
targetScope = 'resourceGroup'

@description('Name of the Log Analytics workspace.')
param workspaceName string

@description('Object id of the identity of the relay.')
param relayPrincipalId string

@description('Region of the workspace.')
param location string = resourceGroup().location

@description('Name of the data collection rule, and start of the name of the alert.')
param name string = 'foghorn-events'

@description('Tags for the rule and the alert.')
param tags object = {}

@description('Days that events are kept.')
@minValue(30)
@maxValue(730)
param retentionDays int = 365

@description('Id of an action group. It is notified when an event starts without notice. Empty: no alert.')
param actionGroupId string = ''

// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/monitor
var metricsPublisher = '3913510d-42f4-4e42-8a64-420c390055eb'

// what the relay sends: functions/features/ship/kind-row.ts
var columns = loadJsonContent('ship-columns.json').columns

var queries = [
  {
    id: 'foghorn-events-by-month'
    title: 'Maintenance by month'
    text: loadTextContent('queries/events-by-month.kql')
  }
  {
    id: 'foghorn-unannounced'
    title: 'Events that started without notice'
    text: loadTextContent('queries/unannounced.kql')
  }
  {
    id: 'foghorn-time-to-decide'
    title: 'How long people took to decide'
    text: loadTextContent('queries/time-to-decide.kql')
  }
]

// by the time of arrival: a row may come hours after its moment, while a new role does not count yet
var unannouncedQuery = '''
FoghornEvents_CL
| where ingestion_time() > ago(30m)
| where Moment == 'started' and StartKind == 'none' and not(Drill)
| summarize TimeGenerated = min(TimeGenerated) by Fleet, EventId, EventType
'''

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-07-01' existing = {
  name: workspaceName
}

resource table 'Microsoft.OperationalInsights/workspaces/tables@2025-07-01' = {
  parent: workspace
  name: 'FoghornEvents_CL'
  properties: {
    plan: 'Analytics'
    retentionInDays: retentionDays
    totalRetentionInDays: retentionDays
    schema: {
      name: 'FoghornEvents_CL'
      columns: [
        for column in columns: {
          name: column.name
          // a table and a rule write this type differently
          type: column.type == 'datetime' ? 'dateTime' : column.type
        }
      ]
    }
  }
}

resource rule 'Microsoft.Insights/dataCollectionRules@2023-03-11' = {
  name: name
  location: location
  tags: tags
  // it has an endpoint of its own
  kind: 'Direct'
  dependsOn: [
    table
  ]
  properties: {
    streamDeclarations: {
      'Custom-FoghornEvents': {
        columns: columns
      }
    }
    destinations: {
      logAnalytics: [
        {
          name: 'workspace'
          workspaceResourceId: workspace.id
        }
      ]
    }
    dataFlows: [
      {
        streams: [
          'Custom-FoghornEvents'
        ]
        destinations: [
          'workspace'
        ]
        transformKql: 'source'
        outputStream: 'Custom-FoghornEvents_CL'
      }
    ]
  }
}

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: rule
  name: guid(rule.id, relayPrincipalId, metricsPublisher)
  properties: {
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      metricsPublisher
    )
    principalId: relayPrincipalId
    principalType: 'ServicePrincipal'
  }
}

resource saved 'Microsoft.OperationalInsights/workspaces/savedSearches@2025-07-01' = [
  for query in queries: {
    parent: workspace
    name: query.id
    properties: {
      category: 'Foghorn'
      displayName: query.title
      query: query.text
      version: 2
      // without it, Azure refuses to write a query that exists
      #disable-next-line BCP037
      etag: '*'
    }
  }
]

resource alert 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = if (!empty(actionGroupId)) {
  name: '${name}-unannounced'
  location: location
  tags: tags
  kind: 'LogAlert'
  dependsOn: [
    table
  ]
  properties: {
    displayName: 'Maintenance started without notice'
    description: 'Azure started an event that no VM saw before. See the table FoghornEvents_CL.'
    severity: 2
    enabled: true
    scopes: [
      workspace.id
    ]
    skipQueryValidation: true
    // the windows overlap, so the same event is muted for a day
    evaluationFrequency: 'PT15M'
    windowSize: 'PT30M'
    overrideQueryTimeRange: 'P2D'
    autoMitigate: false
    muteActionsDuration: 'P1D'
    criteria: {
      allOf: [
        {
          query: unannouncedQuery
          timeAggregation: 'Count'
          operator: 'GreaterThan'
          threshold: 0
          // one alert for each event, which names it
          dimensions: [
            for name in ['Fleet', 'EventId', 'EventType']: {
              name: name
              operator: 'Include'
              values: [
                '*'
              ]
            }
          ]
          failingPeriods: {
            numberOfEvaluationPeriods: 1
            minFailingPeriodsToAlert: 1
          }
        }
      ]
    }
    actions: {
      actionGroups: [
        actionGroupId
      ]
    }
  }
}

@description('The endpoint of the rule: "endpoint" in the configuration.')
output endpoint string = rule.properties.endpoints.logsIngestion

@description('The immutable id of the rule: "rule" in the configuration.')
output ruleId string = rule.properties.immutableId
