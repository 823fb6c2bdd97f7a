// The relay on Azure Functions with invalid settings: its log lists all mistakes, and strangers see
// none of them.
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Program } from '../support/process.ts'

const example = fileURLToPath(new URL('../../infra/examples/full.config.json', import.meta.url))
const reference = '@Microsoft.KeyVault(SecretUri=https://vault.example/secrets/admin)'
const noWebUrl = 'ftp://hooks.slack.example/services/T0/B0/url-secret'

async function misconfigured(changes: Record<string, string>) {
  const program = new Program('wrong', 'test/support/functions-main.ts', {
    FUNCTIONS_ENTRY: 'infra/azure/main.ts',
    FUNCTIONS_TRIGGERS: '',
    FOGHORN_CONFIG: example,
    ...changes,
  })
  const { port } = await program.waitFor('functions_host_started')
  const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init)
  const response = await ask('/healthz')
  const answer = {
    status: response.status,
    type: response.headers.get('content-type'),
    body: await response.text(),
  }
  const entry = await program.waitFor('relay_misconfigured')
  const runs = ['wake', 'sweep'].map((name) =>
    ask(`/admin/functions/${name}`, { method: 'POST', body: '{"input":"{}"}' }),
  )
  const statuses = (await Promise.all(runs)).map(({ status }) => status)
  await program.stop()
  await program.ended
  return { answer, statuses, entry, output: program.output }
}

test('one line of the log lists all mistakes, and strangers see none', async () => {
  const { answer, statuses, entry, output } = await misconfigured({
    FOGHORN_LINK_KEY: 'c2hvcnQ=',
    FOGHORN_ADMIN_KEY: reference,
    FOGHORN_LOG_LEVEL: 'loud',
    PROD_FLEET_KEY: 'whsec_not-base64',
    SLACK_WEBHOOK_URL: noWebUrl,
    SLACK_BOT_TOKEN: 'xoxb-not-a-token',
    TEAMS_WORKFLOW_URL: 'https://teams.example/workflow',
    PAGERDUTY_ROUTING_KEY: '0123456789abcdef0123456789abcdef',
    INVENTORY_WEBHOOK_SECRET: 'whsec_aG9va3NlY3JldGhvb2tzZWNyZXRob29rc2VjcmV0',
  })
  expect(answer).toMatchObject({ status: 503, type: 'application/problem+json' })
  expect(JSON.parse(answer.body)).toEqual({
    code: 'misconfigured',
    title: 'misconfigured',
    status: 503,
    detail: 'the relay cannot start with its settings; see its log for the mistakes',
  })
  expect(statuses).toEqual([202, 202])
  expect(entry.level).toBe('error')
  const mistakes = String(entry.error)
  for (const said of [
    'AzureWebJobsStorage__accountName',
    'Azure did not resolve FOGHORN_ADMIN_KEY',
    'FOGHORN_LINK_KEY is not valid',
    'FOGHORN_LOG_LEVEL is "loud"',
    // the configuration takes these from the environment
    'fleets.prod.key',
    'channels.ops-slack.url',
  ]) {
    expect(mistakes).toContain(said)
  }
  for (const secret of ['c2hvcnQ=', 'vault.example', 'not-base64', 'url-secret']) {
    expect(output).not.toContain(secret)
  }
})

test.each<[string, Record<string, string>, string]>([
  [
    'an invalid connection string',
    { AzureWebJobsStorage: 'AccountName=a;AccountKey=account-secret' },
    'AzureWebJobsStorage is not a connection string',
  ],
  [
    'an invalid account name',
    { AzureWebJobsStorage__accountName: 'my account' },
    'the name of the storage account',
  ],
])('%s is reported with its setting, beside the others', async (_, changes, said) => {
  const { answer, entry, output } = await misconfigured(changes)
  expect(answer.status).toBe(503)
  expect(entry.error).toContain(said)
  expect(entry.error).toContain('FOGHORN_LINK_KEY is not set')
  expect(output).not.toContain('account-secret')
})
