// An example: change it. Secrets are in the environment, never here. If one is not set there, the vault
// keeps its value. Its name must stay in the list, or the app loses the setting.
using './main.bicep'

param name = 'foghorn'

param linkKey = readEnvironmentVariable('FOGHORN_LINK_KEY', '')
param adminKey = readEnvironmentVariable('FOGHORN_ADMIN_KEY', '')

// every NAME that foghorn.config.json takes with "env:NAME"
param secrets = {
  PROD_FLEET_KEY: readEnvironmentVariable('PROD_FLEET_KEY', '')
  PAGERDUTY_ROUTING_KEY: readEnvironmentVariable('PAGERDUTY_ROUTING_KEY', '')
  SLACK_WEBHOOK_URL: readEnvironmentVariable('SLACK_WEBHOOK_URL', '')
  SLACK_BOT_TOKEN: readEnvironmentVariable('SLACK_BOT_TOKEN', '')
  TEAMS_WORKFLOW_URL: readEnvironmentVariable('TEAMS_WORKFLOW_URL', '')
  INVENTORY_WEBHOOK_SECRET: readEnvironmentVariable('INVENTORY_WEBHOOK_SECRET', '')
}

// gets a mail if the relay logs an error, such as a message that could not be delivered
param alertEmail = readEnvironmentVariable('FOGHORN_ALERT_EMAIL', '')
