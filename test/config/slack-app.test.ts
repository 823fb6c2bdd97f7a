// What the configuration says of deciding in Slack: mistakes with their remedy, and no secret in them.
import { expect, test } from 'vitest'
import { readConfig, secretsOf } from '../../functions/config.ts'
import { mistakesOf } from '../support/config.ts'
import { signingSecret, slackDecides } from '../support/slack-press.ts'
import { baseConfig } from '../support/world.ts'

const textOf = (changes: object) => JSON.stringify({ ...baseConfig, ...slackDecides, ...changes })
const { slackApp } = slackDecides
const [route] = slackDecides.routes

const mistakes: [string, object, string][] = [
  [
    'no app',
    { slackApp: undefined },
    'routes[0].approveIn: "slack" needs "slackApp", with signingSecret and team',
  ],
  [
    'no channel of Slack',
    { routes: [{ ...route, channels: ['hook'] }] },
    'routes[0].approveIn: "slack" needs a Slack channel in this route',
  ],
  [
    'another place',
    { routes: [{ ...route, approveIn: 'Slack' }] },
    'routes[0].approveIn: write one of "page", "slack"',
  ],
  ['no team', { slackApp: { signingSecret } }, 'slackApp.team: write the id of a work'],
  ['a team by name', { slackApp: { ...slackApp, team: 'home' } }, 'slackApp.team: write the id of'],
  ['no secret', { slackApp: { team: 'T0HOME' } }, "slackApp.signingSecret: write the app's"],
  [
    'a token in place of the secret',
    { slackApp: { ...slackApp, signingSecret: 'xoxb-hunter2-hunter2' } },
    "slackApp.signingSecret: write the app's signing secret, 32 hexadecimal digits",
  ],
  [
    'a key that is none',
    { slackApp: { ...slackApp, signingSecrets: [signingSecret] } },
    'slackApp: unknown key "signingSecrets"; allowed are "signingSecret", "team"',
  ],
  [
    'an approver by name',
    { routes: [{ ...route, approvers: ['@ada'] }] },
    'routes[0].approvers[0]: write "slack:" and the ids of team and user',
  ],
]

test.each(mistakes)('%s', (_, changes, said) => {
  const message = mistakesOf(textOf(changes))
  expect(message).toContain(said)
  expect(message).not.toMatch(/hunter2|0f1e2d3c|undefined/)
})

test('workspaces and organisations are teams, and the secret is one', () => {
  const team = ['T0HOME', 'E0ORG']
  const routes = [{ ...route, approvers: ['slack:E0ORG/W0ADA', 'slack:T0HOME/U0ADA'] }]
  const config = readConfig(textOf({ slackApp: { ...slackApp, team }, routes }), {})
  expect(config.slackApp).toEqual({ signingSecret: [signingSecret], team })
  expect(secretsOf(config)).toContain(signingSecret)
})
