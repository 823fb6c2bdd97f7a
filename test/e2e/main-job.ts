// The main job with every part real: simulated IMDS, relay and beacon processes, channel sinks. A test file
// for each host runs it, one with beacons on Node and one with executables.
import { randomBytes } from 'node:crypto'
import { afterEach, expect, test as vitest } from 'vitest'
import type { Way } from '../support/beacon-ways.ts'
import { expectExactly, postDecision, told } from '../support/expect.ts'
import type { Program } from '../support/process.ts'
import type { HostName } from '../support/relay-hosts.ts'
import { fleetName, type Stage, startStage } from '../support/stage.ts'
import { isWhole } from '../support/whole.ts'

/** Microsoft's published course of a live migration; weekday and spelling as recorded. */
const recorded = (status?: string, incarnation = 1) => ({
  DocumentIncarnation: incarnation,
  Events:
    status === undefined
      ? []
      : [
          {
            EventId: 'C7061BAC-AFDC-4513-B24B-AA5F13A16123',
            EventStatus: status,
            EventType: 'Freeze',
            ResourceType: 'VirtualMachine',
            Resources: ['WestNO_0', 'WestNO_1'],
            NotBefore: status === 'Started' ? '' : 'Mon, 11 Apr 2022 22:26:58 GMT',
            Description:
              'Virtual machine is being paused because of a memory-preserving Live Migration operation.',
            EventSource: 'Platform',
            DurationInSeconds: 5,
          },
        ],
})

/** A person's check finds all well, beside a beacon that runs and goes on. */
async function expectCheck(stage: Stage, vm: string, beacon: Program): Promise<void> {
  const check = stage.startBeacon(vm, {}, undefined, ['check'])
  const [{ code }] = await Promise.all([check.exited, check.ended])
  const verdicts = check.output
    .split('\n')
    .slice(1, -1)
    .map((line) => line.split(/ {2,}/).slice(0, 2))
  const about = [
    'imds',
    'vm',
    'reboots',
    'relay',
    'certificate',
    'credential',
    'clock',
    'heard',
    'state',
    'hooks',
  ]
  // the relay of the test has an http address
  const isSkipped = (name: string) => name === 'certificate'
  expect(verdicts, check.output).toEqual(
    about.map((name) => [isSkipped(name) ? 'skip' : 'ok', name]),
  )
  expect(check.output).toContain(`the relay heard the beacon`)
  expect(code).toBe(0)
  expect(beacon.running).toBe(true)
  expect(beacon.entries.filter(({ level }) => level !== 'debug' && level !== 'info')).toEqual([])
}

/** Each takes the product's own times, so they may be in files of their own. */
type Story = 'recorded' | 'death' | 'fleets' | 'preempt'
const all: Story[] = ['recorded', 'death', 'fleets', 'preempt']

/** One story shows that a host works; the others are tried on Node, and on each host in `test:all`. */
export function mainJob(host: HostName, way: Way, stories = all): void {
  const test = (story: Story) => {
    const isUsual = isWhole || host === 'node' || story === 'recorded'
    return vitest.runIf(stories.includes(story) && isUsual)
  }
  let stage: Stage

  afterEach(() => stage?.stop())

  test('recorded')(
    'the recorded live migration: one message per moment and channel',
    {
      timeout: 120_000,
    },
    async () => {
      const vms = ['WestNO_0', 'WestNO_1']
      const eventId = 'c7061bac-afdc-4513-b24b-aa5f13a16123'
      const match = { eventType: 'Freeze', maxDurationSeconds: 8.9 }
      stage = await startStage({
        ...{ vms: [vms], host, way },
        config: () => ({ policy: [{ name: 'short freeze', match, decide: 'approve' }] }),
      })
      const { simulator } = stage
      simulator.serveRecorded(vms, recorded())
      await stage.startRelay()
      const [first] = await stage.startBeacons()
      await expectCheck(stage, vms[0]!, first!)
      simulator.serveRecorded(vms, recorded('Scheduled', 2))
      await told(stage, 'approved')
      await simulator.waitFor(() => simulator.startRequests().length > 0, 10_000)
      simulator.serveRecorded(vms, recorded('Started', 3))
      await told(stage, 'started')
      simulator.serveRecorded(vms, recorded(undefined, 4))
      await told(stage, 'completed')
      await expectExactly(stage, eventId, ['scheduled', 'approved', 'started', 'completed'])
      const record = await stage.readEvent(eventId)
      expect(record.approvals).toMatchObject([{ how: 'policy', who: 'short freeze' }])
    },
  )

  test('death')(
    'the beacon with the directive dies: another of the tenant starts the event',
    {
      timeout: 120_000,
    },
    async () => {
      const vms = ['web_0', 'web_1', 'web_2']
      stage = await startStage({ vms: [vms], host, way })
      const { simulator } = stage
      await stage.startRelay()
      const beacons = await stage.startBeacons()
      const eventId = simulator.createEvent({
        EventType: 'Reboot',
        Resources: ['web_1'],
        // polls that hang now go on to hang for a while, and must not miss that it started
        impactSeconds: 15,
      })
      const link = await stage.approveLink(eventId)
      await Promise.all(beacons.map((beacon) => beacon.waitFor('event_seen')))
      // every POST hangs until the first of them is dead
      simulator.fault({ delayMs: 120_000 })
      await postDecision(link)
      const first = await Promise.race(
        beacons.map(async (beacon) => {
          await beacon.waitFor('directive_received')
          return beacon
        }),
      )
      first.kill('SIGKILL')
      await first.exited
      simulator.fault({ clear: true })
      // if the affected VM's own beacon died, the others decide the end, 30 s later
      await told(stage, 'completed', 60_000)
      const record = await stage.settledEvent(eventId)
      const steps = record.history.map((entry: { what: string }) => entry.what)
      expect(steps.filter((what: string) => what === 'directed').length).toBeGreaterThanOrEqual(2)
      expect(record.azureAccepted.vm).not.toBe(first.name)
      const approvals = simulator.startRequests().filter(({ status }) => status === 200)
      expect(approvals.map(({ vm }) => vm)).not.toContain(first.name)
    },
  )

  test('fleets')(
    'two fleets that see one event: each has a record, messages and a decision of its own',
    {
      timeout: 120_000,
    },
    async () => {
      const key = `whsec_${randomBytes(32).toString('base64')}`
      stage = await startStage({
        ...{ vms: [['web_0', 'db_0']], host, way },
        config: () => ({
          fleets: { [fleetName]: { key: 'env:FLEET_KEY' }, other: { key } },
          routes: [
            { match: { fleet: fleetName }, channels: ['chat'] },
            { match: { fleet: 'other' }, channels: ['system'] },
          ],
        }),
      })
      const { simulator, sinks } = stage
      await stage.startRelay()
      const [, db] = [
        stage.startBeacon('web_0'),
        stage.startBeacon('db_0', { FOGHORN_FLEET: 'other', FOGHORN_FLEET_KEY: key }),
      ]
      await db!.waitFor('report_accepted')
      const eventId = simulator.createEvent({ Resources: ['web_0'], impactSeconds: 3 })
      const link = await stage.approveLink(eventId)
      await sinks.waitFor(({ kind }) => kind === 'webhook', 15_000)
      await postDecision(link)
      await told(stage, 'completed')
      const own = await stage.settledEvent(eventId)
      const others = await stage.readEvent(eventId, 'other')
      expect(own.approvals).toHaveLength(1)
      expect(others.approvals).toEqual([])
      const channels = ({ deliveries }: { deliveries: { channel: string }[] }) => [
        ...new Set(deliveries.map(({ channel }) => channel)),
      ]
      expect([channels(own), channels(others)]).toEqual([['chat'], ['system']])
      const starters = simulator.startRequests().filter(({ status }) => status === 200)
      expect(starters.map(({ vm }) => vm)).toEqual(['web_0'])
    },
  )

  test('preempt')(
    'Preempt of one of three: the others see the end, and the incident is resolved',
    {
      timeout: 150_000,
    },
    async () => {
      stage = await startStage({ vms: [['web_0', 'web_1', 'web_2']], host, way })
      await stage.startRelay()
      await stage.startBeacons()
      const eventId = stage.simulator.createEvent({
        EventType: 'Preempt',
        Resources: ['web_1'],
        noticeSeconds: 3,
        impactSeconds: 1,
      })
      // the VM is gone, so the others decide, 30 s later
      await told(stage, 'completed', 60_000)
      await expectExactly(stage, eventId, ['scheduled', 'started', 'completed'])
    },
  )
}
