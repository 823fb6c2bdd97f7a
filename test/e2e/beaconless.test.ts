// Azure outside the VMs, on each host: without a beacon, and beside the beacon of one VM.
import { afterEach, expect, test } from 'vitest'
import { faultsOf } from '../demo/check.ts'
import {
  type AzureOutside,
  outsideSubscription,
  startAzureOutside,
} from '../simulator/azure-outside.ts'
import { decideByForm } from '../support/form.ts'
import { fleetName, type Stage, startStage } from '../support/stage.ts'
import { hostsToTry } from '../support/whole.ts'

const endMs = 40_000
const timeout = 90_000
let stage: Stage | undefined
let outside: AzureOutside | undefined

afterEach(async () => {
  await stage?.stop()
  await outside?.stop()
})

test.each(
  hostsToTry.flatMap((host) => [
    { host, beacons: [] },
    { host, beacons: ['web_0'] },
  ]),
)('$host, beacons: $beacons', { timeout }, async ({ host, beacons }) => {
  outside = await startAzureOutside('web')
  const { azure, attach, onStep, sendTo, arm } = outside
  stage = await startStage({
    vms: [['web_0', 'web_1']],
    host,
    onStep,
    config(_, simulator) {
      attach(simulator)
      const key = beacons.length > 0 ? { key: 'env:FLEET_KEY' } : {}
      return { azure, fleets: { [fleetName]: { ...key, azureSubscriptions: outsideSubscription } } }
    },
  })
  const { simulator, sinks } = stage
  await stage.startRelay()
  await sendTo(stage.relayUrl, await stage.makeToken(['report']))
  await stage.startBeacons(beacons)
  // Slack takes a message a second, so one that waits for long is overtaken by the next step
  const eventId = simulator.createEvent({
    ...{ EventType: 'Reboot', Resources: ['web_1'], noticeSeconds: 60, impactSeconds: 10 },
  })
  const answer = await decideByForm(fetch, await stage.approveLink(eventId))
  expect(answer.status).toBe(200)
  await sinks.waitFor(
    ({ kind, body }) => kind === 'webhook' && body.includes('foghorn.event.completed'),
    endMs,
  )
  const record = await stage.settledEvent(eventId)
  expect(faultsOf(record, sinks, simulator.startRequests())).toEqual([])
  expect(record).toMatchObject({ outcome: 'completed', resources: ['web_1'] })
  // a beacon that had reported before the click tells Azure itself
  if (beacons.length === 0) expect(arm.acknowledged).toHaveLength(1)
  expect(record.inferred).toBeUndefined()
})
