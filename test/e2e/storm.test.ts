// A hundred beacons of one tenant report one event at the same time, to a relay process of its own.
import { randomUUID } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { fleetHeader, type Report, reportPath } from '../../shared/report.ts'
import { sign } from '../../shared/signature.ts'
import { accepted, kinds, told } from '../support/expect.ts'
import { hosts } from '../support/relay-hosts.ts'
import { fleetName, type Stage, startStage } from '../support/stage.ts'
import { event, eventId } from '../support/world.ts'

let stage: Stage

afterEach(() => stage.stop())

test.each(hosts)(
  '100 beacons at once: one message for each channel, on %s',
  {
    timeout: 60_000,
  },
  async (host) => {
    stage = await startStage({ vms: [['web_0']], host })
    await stage.startRelay()
    const notBeforeAt = Date.now() + 15 * 60_000
    const statuses = await Promise.all([...Array(100).keys()].map((i) => report(i, notBeforeAt)))
    expect(new Set(statuses)).toEqual(new Set([200]))
    await told(stage, 'scheduled')
    await stage.settledEvent(eventId)
    for (const kind of kinds) expect(accepted(stage, kind), kind).toHaveLength(1)
  },
)

async function report(i: number, notBeforeAt: number): Promise<number> {
  const vm = { name: `web_${i}`, vmId: `vm-${i}` }
  const report = {
    version: 1,
    vm,
    beacon: { version: 'test', bootId: randomUUID(), counter: 1, uptimeMs: 1e6 },
    document: { ageMs: 0, apiVersion: '2020-07-01', events: [event({ notBeforeAt })] },
    changes: [],
    starts: [],
  } satisfies Omit<Report, 'vm'> & { vm: Partial<Report['vm']> }
  const body = JSON.stringify(report)
  const headers = await sign([stage.secrets.fleetKey], randomUUID(), Date.now(), body)
  const response = await fetch(`${stage.relayUrl}${reportPath}`, {
    method: 'POST',
    body,
    headers: { ...headers, [fleetHeader]: fleetName },
  })
  return response.status
}
