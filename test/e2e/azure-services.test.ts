// Services that take the identity of the relay, on each host: shipping, and a bot in Teams. The relay asks for its
// tokens itself.
import { afterEach, expect, test } from 'vitest'
import { shipClient, shipRule, shipSecret, shipTenant } from '../simulator/sinks/ship.ts'
import { fleetName, type Stage, startStage } from '../support/stage.ts'
import { hostsToTry } from '../support/whole.ts'

let stage: Stage

afterEach(() => stage.stop())

test.each(hostsToTry)(
  'a drill reaches each, with every moment, on %s',
  { timeout: 60_000 },
  async (host) => {
    stage = await startStage({
      vms: [['web_0']],
      host,
      config: ({ url, shipUrl, teamsBot }) => ({
        channels: { bot: { kind: 'teams', ...teamsBot } },
        // people are not told of a Freeze: shipping gets it all the same
        policy: [{ match: { eventType: 'Freeze' }, decide: 'ignore' }],
        routes: [{ match: {}, channels: ['bot'] }],
        ship: {
          logs: { kind: 'logs', endpoint: shipUrl('logs'), rule: shipRule },
          hub: { kind: 'event-hubs', endpoint: shipUrl('event-hubs') },
          topic: { kind: 'event-grid', endpoint: shipUrl('event-grid') },
        },
        azure: {
          ...{ tenantId: shipTenant, clientId: shipClient, clientSecret: shipSecret },
          authority: url,
        },
      }),
    })
    await stage.startRelay()
    const [asked, quiet] = [await drill('Reboot'), await drill('Freeze')]
    for (const eventId of [asked, quiet]) {
      await expect
        .poll(async () => (await stage.readEvent(eventId)).outcome, { timeout: 20_000 })
        .toBe('completed')
      await stage.settledEvent(eventId)
    }
    for (const kind of ['logs', 'event-hubs', 'event-grid', 'teams_bot'] as const) {
      const got = stage.sinks.received.filter((one) => one.kind === kind)
      expect(got.filter(({ accepted }) => !accepted).map(({ valid }) => [kind, valid])).toEqual([])
      const all = got.map(({ body }) => body).join()
      if (kind === 'teams_bot') continue
      for (const eventId of [asked, quiet]) expect(all, kind).toContain(eventId)
      for (const moment of ['scheduled', 'started', 'completed'])
        expect(all, kind).toContain(moment)
    }
    const [card, ...others] = [...stage.sinks.teamsMessages.values()].filter((one) => !one.isReply)
    expect(others).toEqual([])
    expect(JSON.stringify(card!.content)).toMatch(/Completed at .*: Reboot of/)
  },
)

async function drill(type: string): Promise<string> {
  const response = await fetch(`${stage.relayUrl}/v1/drills`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${stage.secrets.adminKey}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ fleet: fleetName, type, noticeSeconds: 1, impactSeconds: 1 }),
  })
  expect(response.status).toBe(201)
  return ((await response.json()) as { eventId: string }).eventId
}
