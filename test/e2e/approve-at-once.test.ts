// From the click on "Approve" to Azure, with every part real but Azure: beacons wait at the relay, so
// the approval reaches one of them without the pause between two reports.
import { afterEach, expect, test } from 'vitest'
import { type Stage, startStage } from '../support/stage.ts'
import { submit } from '../support/submit.ts'

let stage: Stage

afterEach(() => stage.stop())

test('a click reaches a beacon that waits', { timeout: 60_000 }, async () => {
  stage = await startStage({ vms: [['web_0', 'web_1']] })
  const { simulator } = stage
  await stage.startRelay()
  const beacons = await stage.startBeacons()
  const eventId = simulator.createEvent({ EventType: 'Reboot', Resources: ['web_1'] })
  const link = await stage.approveLink(eventId)
  const answers = () =>
    beacons.map(({ entries }) => entries.filter((one) => one.event === 'report_accepted'))
  // the last answer offers to wait, and the next one is held
  await Promise.all(beacons.map((one) => one.waitFor('report_accepted', (entry) => !!entry.waitMs)))
  const before = answers().map((own) => own.at(-1)!)
  await submit(link, 'approve')
  await simulator.waitFor(() => simulator.startRequests().length > 0, 10_000)
  const { vm } = simulator.startRequests()[0]!
  const index = beacons.findIndex(({ name }) => name === vm)
  const since = answers()[index]!.filter(({ time }) => time > before[index]!.time)
  // the held answer, if the click did not come before it was held, and the one with the directive
  expect(since.slice(0, 2).some(({ waitMs }) => waitMs === undefined)).toBe(true)
  expect(beacons[index]!.entries.some((one) => one.event === 'relay_failing')).toBe(false)
})
