// Every preset of kind `http`, through a drill on each host, to services that check what they get.
import { afterEach, expect, test } from 'vitest'
import { writtenFor } from '../notify/presets.ts'
import { presetNames } from '../simulator/sinks/presets.ts'
import { fleetName, type Stage, startStage } from '../support/stage.ts'
import { hostsToTry } from '../support/whole.ts'

let stage: Stage

afterEach(() => stage.stop())

test.each(hostsToTry)(
  'a drill reaches each preset, and closes what it opened, on %s',
  {
    timeout: 60_000,
  },
  async (host) => {
    stage = await startStage({
      vms: [['web_0']],
      host,
      config: (sinks) => ({
        channels: Object.fromEntries(presetNames.map((name) => [name, writtenFor(name, sinks)])),
        routes: [{ match: {}, channels: presetNames }],
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
    const { deliveries } = await stage.settledEvent(eventId)
    const states = deliveries.map((one: { channel: string; state: string }) => [
      one.channel,
      one.state,
    ])
    expect(states.filter(([, state]: string[]) => state === 'refused')).toEqual([])
    for (const name of presetNames) {
      const got = stage.sinks.received.filter(({ kind }) => kind === name)
      expect(got.length, name).toBeGreaterThan(0)
      expect(got.filter(({ accepted }) => !accepted).map(({ valid }) => [name, valid])).toEqual([])
      const incidents = [...stage.sinks.presetIncidents(name).values()]
      for (const steps of incidents) expect([steps[0], steps.at(-1)]).toEqual(['open', 'resolve'])
    }
  },
)
