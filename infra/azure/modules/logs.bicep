// Logs: a workspace, Application Insights that takes telemetry from Entra identities only, and two alerts.

@description('Name of the resources.')
param name string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('Days that logs are kept.')
param retentionDays int

@description('Most data taken in a day, in GB. A string, because it may be a decimal number.')
param dailyCapGb string

@description('Who is mailed. Empty: no alert.')
param alertEmail string

@description('Principal id of the identity that the relay runs as.')
param identityPrincipalId string

// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/monitor
var metricsPublisher = '3913510d-42f4-4e42-8a64-420c390055eb'

// The relay's errors arrive in two ways with the same text: at their level in the category of their
// function, or, after the invocation returned, at Information in Host.Function.Console. Other
// errors (the host, a bundle that does not load, a function that times out, a wake-up that was
// given up) count by their level. A client that went away is no failure. RequestBodyDestination
// also means a body beyond the relay's limit.
var failureQuery = '''
union isfuzzy=true AppTraces, AppExceptions
| extend level = tostring(parse_json(Message).level)
| extend text = strcat(Message, ' ', OuterMessage, ' ', InnermostMessage, ' ', tostring(Details))
| where level == 'error' or (level == '' and SeverityLevel >= 3) or text contains 'foghorn-wake-poison'
| where not(text matches regex 'ForwarderError: (RequestCanceled|RequestBody|ResponseBodyCanceled|ResponseBodyClient)')
| summarize TimeGenerated = min(TimeGenerated) by text, OperationId
'''

// The host logs each run of the timer, once a minute. No such line in two days means that there is no relay yet.
var silenceQuery = '''
AppTraces
| where tostring(Properties.Category) == 'Function.sweep'
| summarize lastRunAt = max(TimeGenerated)
| where lastRunAt < ago(15m)
| project TimeGenerated = now(), lastRunAt
'''

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-07-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    retentionInDays: retentionDays
    workspaceCapping: {
      dailyQuotaGb: json(dailyCapGb)
    }
  }
}

resource insights 'Microsoft.Insights/components@2020-02-02' = {
  name: name
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspace.id
    IngestionMode: 'LogAnalytics'
    DisableLocalAuth: true
  }
}

resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: insights
  name: guid(insights.id, identityPrincipalId, metricsPublisher)
  properties: {
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      metricsPublisher
    )
    principalId: identityPrincipalId
    principalType: 'ServicePrincipal'
  }
}

resource mail 'Microsoft.Insights/actionGroups@2023-01-01' = if (!empty(alertEmail)) {
  name: name
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'foghorn'
    enabled: true
    emailReceivers: [
      {
        name: 'mail'
        emailAddress: alertEmail
        useCommonAlertSchema: true
      }
    ]
  }
}

resource alert 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = if (!empty(alertEmail)) {
  name: '${name}-failures'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: 'Foghorn logged an error'
    description: 'A message was not delivered, a wake-up was given up, or the relay or its host failed.'
    severity: 1
    enabled: true
    scopes: [
      workspace.id
    ]
    // a new workspace has no such table until the first line arrives
    skipQueryValidation: true
    // the window overlaps, because lines arrive minutes late
    evaluationFrequency: 'PT15M'
    windowSize: 'PT30M'
    // Each failure counts, so the alert does not wait until an earlier one is resolved. It is muted
    // for one window, so that the same line is not mailed twice.
    autoMitigate: false
    muteActionsDuration: 'PT30M'
    criteria: {
      allOf: [
        {
          query: failureQuery
          timeAggregation: 'Count'
          operator: 'GreaterThan'
          threshold: 0
          failingPeriods: {
            numberOfEvaluationPeriods: 1
            minFailingPeriodsToAlert: 1
          }
        }
      ]
    }
    actions: {
      actionGroups: [
        mail.id
      ]
    }
  }
}

resource silence 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = if (!empty(alertEmail)) {
  name: '${name}-silence'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: 'Foghorn does not run'
    description: 'The timer of the relay has not run for 15 minutes: the app, its bundle or its host is down.'
    severity: 1
    enabled: true
    scopes: [
      workspace.id
    ]
    skipQueryValidation: true
    evaluationFrequency: 'PT15M'
    windowSize: 'PT15M'
    overrideQueryTimeRange: 'P2D'
    // a state, not an event: one mail when it begins, one when it ends
    autoMitigate: true
    criteria: {
      allOf: [
        {
          query: silenceQuery
          timeAggregation: 'Count'
          operator: 'GreaterThan'
          threshold: 0
          failingPeriods: {
            numberOfEvaluationPeriods: 1
            minFailingPeriodsToAlert: 1
          }
        }
      ]
    }
    actions: {
      actionGroups: [
        mail.id
      ]
    }
  }
}

@description('Where telemetry is sent. It names the resource; without a role it opens nothing.')
output connectionString string = insights.properties.ConnectionString

@description('Id of the workspace, for queries.')
output workspaceId string = workspace.properties.customerId
