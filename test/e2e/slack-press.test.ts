// A button pressed in Slack on each host, with every part real but Slack: it is answered in time while a channel hangs,
// the VM is told to start, and the message says who decided.
import { afterEach, expect, test } from 'vitest'
import {
  formOf,
  home,
  payloadOf,
  personOf,
  postSigned,
  signingSecret,
} from '../support/slack-press.ts'
import { type Stage, startStage } from '../support/stage.ts'
import { hostsToTry } from '../support/whole.ts'

/** Slack's own limit. */
const slackWaitsMs = 3_000

let stage: Stage

afterEach(() => stage.stop())

test.each(hostsToTry)('%s', { timeout: 60_000 }, async (host) => {
  const route = { match: {}, channels: ['chat', 'system'], approveIn: 'slack' }
  stage = await startStage({
    ...{ vms: [['web_0']], host },
    config: () => ({
      slackApp: { signingSecret: 'env:SLACK_SIGNING_SECRET', team: home },
      routes: [{ ...route, approvers: [`slack:${home}/U0ADA`] }],
    }),
  })
  const { sinks, simulator } = stage
  await stage.startRelay({ environment: { SLACK_SIGNING_SECRET: signingSecret } })
  await stage.startBeacons()
  const eventId = simulator.createEvent({ EventType: 'Reboot', Resources: ['web_0'] })
  const message = await sinks.waitFor(({ body }) => body.includes('"not_now"'), 15_000)
  const value = /"value":"([^"]+)"/.exec(message.body)![1]!
  await stage.settledEvent(eventId)

  let presses = 0
  const press = async (person: string) => {
    // no press is a repeat of another one, however fast they follow each other
    const trigger_id = String(++presses)
    const changes = { ...personOf(person), response_url: sinks.slackReplyUrl, trigger_id }
    const body = formOf(payloadOf(value, changes))
    const request = (path: string, init?: RequestInit) => fetch(stage.relayUrl + path, init)
    const reached = { app: { request } as never, clock: { now: Date.now() } }
    const from = performance.now()
    const { response } = await postSigned(reached, body)
    expect([response.status, await response.text()]).toEqual([200, ''])
    return performance.now() - from
  }
  const reply = (words: string) =>
    sinks.waitFor(({ path, body }) => path.startsWith('/actions/') && body.includes(words), 15_000)

  await press('U0BOB')
  await reply('you are not a listed approver')
  expect((await stage.readEvent(eventId)).approvals).toEqual([])

  sinks.failNext({ kind: 'webhook', hang: true })
  expect(await press('U0ADA')).toBeLessThan(slackWaitsMs)
  await reply('approved by <@U0ADA>')
  await simulator.waitFor(
    () => simulator.startRequests().some(({ status }) => status === 200),
    15_000,
  )
  await press('U0ADA')
  await reply('already decided')

  const { approvals } = await stage.readEvent(eventId)
  expect(approvals).toMatchObject([{ decision: 'approved', how: 'slack', who: `${home}/U0ADA` }])
  expect(sinks.received.filter(({ valid }) => valid !== true)).toEqual([])
  const lines = JSON.stringify(stage.programs.map(({ entries }) => entries))
  for (const secret of [signingSecret, value, sinks.slackReplyUrl, '/actions/']) {
    expect(lines).not.toContain(secret)
  }
})
