// Warnings about approvers, only where they are certain.
import { describe, expect, test } from 'vitest'
import { adviseOn } from '../../functions/check/advice.ts'
import { adviseOnApprovers } from '../../functions/check/approvers.ts'
import { readConfig, readConfigWith } from '../../functions/config/config.ts'
import { ann, bobId, tenant } from '../support/principals.ts'
import { baseConfig } from '../support/world.ts'

const slackApp = { signingSecret: '0'.repeat(32), team: 'T0TEAM' }
const cid = 'slack:T0TEAM/U0CID'
const bob = `entra:${tenant}/${bobId}`
const all = { match: {}, channels: ['chat'] }
const db = { match: { tag: 'role=db' }, channels: ['chat'] }
const web = { match: { tag: 'role=web' }, channels: ['chat'] }

function adviceOn(routes: object[]): string[] {
  const { fleets, ...rest } = baseConfig
  const prod = { prod: (fleets as Record<string, object>).prod }
  const config = { ...rest, fleets: prod, slackApp, signIn: { tenantId: tenant }, routes }
  return adviseOnApprovers(readConfig(JSON.stringify(config), {}))
}

describe('said', () => {
  test.each<[string, object[], ...string[]]>([
    [
      'Slack users alone, and no message has buttons',
      [{ ...all, approvers: [cid] }],
      'routes[0].approvers: its Slack users cannot decide',
      'write "approveIn": "slack"',
    ],
    [
      'Slack users beside others, and no message has buttons',
      [{ ...all, approvers: [cid, ann] }],
      'routes[0].approvers: its Slack users cannot decide',
    ],
    [
      'buttons for everyone in the channel',
      [{ ...all, approveIn: 'slack' }],
      'routes[0].approveIn: everyone in the channel can press the button',
      'unless this is intended',
    ],
    [
      'buttons, and lists for other events',
      [
        { match: { eventType: 'Freeze' }, channels: ['chat'], approveIn: 'slack' },
        { match: { eventType: 'Reboot' }, channels: ['chat'], approvers: [ann] },
      ],
      'routes[0].approveIn: everyone in the channel',
    ],
    [
      'two lists by tag, and nobody on both',
      [all, { ...db, approvers: [ann] }, { ...web, approvers: [bob] }],
      'routes: while the beacon of a VM is silent, only the admin key or a token can decide a Freeze, Reboot, Redeploy, Preempt or Terminate',
      'in fleet "prod": any of the lists in routes[1] and routes[2] may apply',
      'add one person to each',
    ],
    [
      'of some events only',
      [
        {
          match: { tag: 'a', eventType: ['Reboot', 'Freeze'] },
          channels: ['chat'],
          approvers: [ann],
        },
        { match: { tag: 'b', maxDurationSeconds: 8 }, channels: ['chat'], approvers: [bob] },
      ],
      'can decide a Freeze or Reboot in',
    ],
    [
      'by name and tag',
      [
        { match: { resource: 'db*', tag: 'a' }, channels: ['chat'], approvers: [ann] },
        { match: { resource: 'db_?', tag: 'b' }, channels: ['chat'], approvers: [bob] },
      ],
      'only the admin key or a token can decide',
    ],
  ])('%s', (_, routes, ...said) => {
    const advice = adviceOn(routes)
    expect(advice).toHaveLength(1)
    for (const part of said) expect(advice[0]).toContain(part)
  })
})

describe('not said', () => {
  test.each<[string, object[]]>([
    ['nobody is listed', [all]],
    ['Entra users', [{ ...all, approvers: [ann] }]],
    ['Slack users, with buttons', [{ ...all, approvers: [cid], approveIn: 'slack' }]],
    [
      'buttons in another route',
      [
        { ...all, approveIn: 'slack' },
        { ...db, approvers: [cid, ann] },
      ],
    ],
    [
      'two lists with somebody on both',
      [
        { ...db, approvers: [ann, bob] },
        { ...web, approvers: [bob] },
      ],
    ],
    [
      'two lists, and one that needs no beacon',
      [
        { ...db, approvers: [ann] },
        { ...web, approvers: [bob] },
        { ...all, approvers: [bob] },
      ],
    ],
    [
      'lists by names that exclude each other',
      [
        { match: { resource: 'db*' }, channels: ['chat'], approvers: [ann] },
        { match: { resource: 'web*' }, channels: ['chat'], approvers: [bob] },
      ],
    ],
    [
      'lists of other fleets',
      [
        { match: { tag: 'a', eventType: 'Reboot' }, channels: ['chat'], approvers: [ann] },
        { match: { tag: 'b', eventType: 'Freeze' }, channels: ['chat'], approvers: [bob] },
      ],
    ],
  ])('%s', (_, routes) => {
    expect(adviceOn(routes)).toEqual([])
  })

  test('of ids that were taken as given', () => {
    const config = {
      ...baseConfig,
      slackApp: { signingSecret: 'env:SECRET', team: 'env:TEAM' },
      signIn: { tenantId: 'env:TENANT' },
      routes: [{ ...all, approvers: [cid, ann], approveIn: 'slack' }],
    }
    const { config: read, assumed } = readConfigWith(JSON.stringify(config), {}, 'assumed')
    expect(assumed).toEqual(['SECRET', 'TEAM', 'TENANT'])
    expect(adviseOn(read).filter((one) => one.startsWith('routes'))).toEqual([])
  })
})
