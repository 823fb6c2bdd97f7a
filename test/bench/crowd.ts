// The relay on Node with as many open events and beacons as five full fleets may have: how much memory it
// takes, and whether a report costs more than in an empty relay.
import { randomBytes } from 'node:crypto'
import { startStage } from '../support/stage.ts'
import type { Figure } from './figures.ts'
import { postAll } from './storm/load.ts'
import { planStorm } from './storm/plan.ts'
import { preparation } from './storm/relay.ts'
import { startStormSink } from './storm/sink.ts'
import { cpuSeconds, memoryMb } from './usage.ts'

const fleets = ['one', 'two', 'three', 'four', 'five'].map((name) => ({
  name,
  variable: `KEY_${name.toUpperCase()}`,
  key: `whsec_${randomBytes(32).toString('base64')}`,
}))
/** A fleet may have 2,000 open events. A signature is valid for 5 minutes, so they come in parts. */
const part = { events: 200, members: 10 }
const parts = 10
const connections = 32

export async function crowd(): Promise<Figure[]> {
  const sink = await startStormSink(({ subject, type }) => ({ eventId: subject, moment: type }))
  const channels = { system: { kind: 'webhook', url: sink.url, secret: 'env:HOOK_SECRET' } }
  const routes = [{ match: {}, channels: ['system'] }]
  const keys = fleets.map(({ name, variable }) => [name, { key: `env:${variable}` }] as const)
  const config = () => ({ channels, routes, fleets: Object.fromEntries(keys) })
  const stage = await startStage({ vms: [['web_0']], config })
  try {
    const variables = fleets.map(({ variable, key }) => [variable, key] as const)
    const environment = { ...Object.fromEntries(variables), FOGHORN_LOG_LEVEL: 'info' }
    const { pid } = await stage.startRelay({ environment })
    const port = Number(new URL(stage.relayUrl).port)
    const costs: number[] = []
    for (let i = 0; i < parts; i++) {
      for (const { name, key } of fleets) {
        const { waves } = await planStorm(part, preparation(port, key, name))
        const cpu = cpuSeconds(pid)
        await postAll(port, waves[0]!, connections)
        costs.push(((cpuSeconds(pid) - cpu) / waves[0]!.length) * 1_000)
      }
    }
    const memory = memoryMb(pid, 'VmRSS')
    const peak = Math.max(memory, memoryMb(pid, 'VmHWM'))
    return [
      // the first part is slower: the compiler has seen nothing yet
      { name: 'CPU per 1000 reports, 4000 VMs', value: costs[1]!, unit: 's' },
      { name: 'CPU per 1000 reports, 100000 VMs', value: costs.at(-1)!, unit: 's' },
      { name: 'memory, 100000 beacons and 10000 open events', value: memory, unit: 'MB' },
      { name: 'memory peak', value: peak, unit: 'MB' },
    ]
  } finally {
    await stage.stop()
    await sink.stop()
  }
}
