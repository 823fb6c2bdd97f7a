// The main job with every part real: simulated IMDS, beacon and relay processes, channel sinks.
import { afterEach, describe, expect, test } from 'vitest'
import { type Stage, startStage } from '../support/stage.ts'

let stage: Stage

afterEach(() => stage.stop())

function approve(link: string, decision = 'approve'): Promise<Response> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return fetch(link, { method: 'POST', headers, body: `decision=${decision}` })
}

function webhookTypes(): string[] {
  return stage.sinks.received
    .filter((r) => r.kind === 'webhook' && r.accepted)
    .map((r) => r.json.type)
}

const ended = (type: string) => (r: { kind: string; json: { type?: string } }) =>
  r.kind === 'webhook' && r.json.type === `foghorn.event.${type}`

describe('the main job', () => {
  test('an event is told, approved, started and closed, each once', async () => {
    stage = await startStage({ vms: [['web_0', 'web_1', 'web_2']] })
    await stage.startRelay()
    await stage.startBeacons()
    const eventId = stage.simulator.createEvent({
      EventType: 'Reboot',
      Resources: ['web_1'],
      impactSeconds: 1,
    })
    const link = await stage.approveLink(eventId)
    expect((await approve(link)).status).toBe(200)
    await stage.sinks.waitFor(ended('completed'), 30_000)
    expect(webhookTypes()).toEqual(
      ['scheduled', 'approved', 'started', 'completed'].map((moment) => `foghorn.event.${moment}`),
    )
    const accepted = stage.simulator.startRequests().filter((one) => one.status === 200)
    expect(accepted.length).toBeGreaterThanOrEqual(1)
  })
})
