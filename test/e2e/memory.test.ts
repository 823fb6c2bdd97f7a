// A relay with little memory survives large reports of many VMs. Each report names 980 VMs with the
// longest names.
import { expect, test } from 'vitest'
import { bigNames } from '../support/big.ts'
import { fleetName, startStage } from '../support/stage.ts'
import { event, FakeBeacon, type Reachable } from '../support/world.ts'

const reports = 40
const heapMb = 250

test(`with ${heapMb} MB, ${reports} VMs that name 980 others each, and one that does so ${reports} times`, {
  timeout: 120_000,
}, async () => {
  const stage = await startStage({ vms: [['web_0']] })
  try {
    const environment = { NODE_OPTIONS: `--max-old-space-size=${heapMb}` }
    const relay = await stage.startRelay({ environment })
    const reachable: Reachable = {
      app: { request: (path, init) => fetch(`${stage.relayUrl}${path}`, init) },
      clock: {
        get now() {
          return Date.now()
        },
      },
    }
    const key = stage.secrets.fleetKey
    const one = new FakeBeacon(reachable, 'liar', { fleet: fleetName, key })
    for (let i = 0; i < reports; i++) {
      const resources = bigNames(i * 1_000, 980, 256)
      const other = new FakeBeacon(reachable, `vm_${i}`, { fleet: fleetName, key })
      await other.sees([event({ eventId: 'of all', resources })])
      await one.sees([event({ eventId: 'of one', resources })])
    }
    const named = (name: string) => relay.entries.filter((entry) => entry.event === name)
    expect(named('request_failed')).toEqual([])
    expect((await fetch(`${stage.relayUrl}/healthz`)).status).toBe(200)
  } finally {
    await stage.stop()
  }
})
