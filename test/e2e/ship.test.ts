// Shipping to services of Azure, on each host, with a token that the relay asks for itself.
import { afterEach, expect, test } from 'vitest'
import { shipClient, shipRule, shipSecret, shipTenant } from '../simulator/sinks/ship.ts'
import { hosts } from '../support/relay-hosts.ts'
import { fleetName, type Stage, startStage } from '../support/stage.ts'

let stage: Stage

afterEach(() => stage.stop())

const kinds = ['logs', 'event-hubs', 'event-grid'] as const

test.each(hosts)(
  'a drill reaches each, with every step, on %s',
  { timeout: 60_000 },
  async (host) => {
    stage = await startStage({
      vms: [['web_0']],
      host,
      config: ({ url, shipUrl }) => ({
        // a rule that tells nobody: shipping gets the event all the same
        policy: [{ match: {}, decide: 'ignore' }],
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
    const drill = { fleet: fleetName, type: 'Reboot', noticeSeconds: 1, impactSeconds: 1 }
    const response = await fetch(`${stage.relayUrl}/v1/drills`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${stage.secrets.adminKey}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(drill),
    })
    expect(response.status).toBe(201)
    const { eventId } = (await response.json()) as { eventId: string }
    await expect
      .poll(async () => (await stage.readEvent(eventId)).outcome, { timeout: 20_000 })
      .toBe('completed')
    await stage.settledEvent(eventId)
    for (const kind of kinds) {
      const got = stage.sinks.received.filter((one) => one.kind === kind)
      expect(got.filter(({ accepted }) => !accepted).map(({ valid }) => [kind, valid])).toEqual([])
      const all = got.map(({ body }) => body).join()
      for (const moment of ['scheduled', 'started', 'completed'])
        expect(all, kind).toContain(moment)
    }
  },
)
