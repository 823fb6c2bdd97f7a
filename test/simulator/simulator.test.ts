// The simulator as a whole over real HTTP: VMs that are away, events that go by themselves, and its ports.

import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { start } from './client.ts'
import { startSimulator } from './simulator.ts'

const LIMIT_MS = 10_000

describe('a VM that is away', () => {
  test('breaks connections, also those in use', async () => {
    const { simulator, events } = await start()
    simulator.fault({ vm: 'web_0', delayMs: 3_600_000 })
    const waiting = expect(events('web_0')).rejects.toThrow()
    await events('web_1')
    simulator.takeAway('web_0')
    await waiting
    await expect(events('web_0')).rejects.toThrow()
    simulator.bringBack('web_0')
    simulator.fault({})
    expect((await events('web_0')).status).toBe(200)
  })

  test('does not even wait for a request', async () => {
    const { simulator, urlOf } = await start()
    simulator.takeAway('web_0')
    const socket = connect(Number(new URL(urlOf('web_0')).port), '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'close', { signal: AbortSignal.timeout(LIMIT_MS) })
  })
})

describe('the clock', () => {
  test('starts and ends an event without any request', async () => {
    const log: string[] = []
    const { simulator } = await start({ log: (line) => log.push(line) })
    const id = simulator.createEvent({ noticeSeconds: 0.02, impactSeconds: 0.02 })
    await simulator.waitFor(() => log.length === 3, LIMIT_MS)
    expect(log).toEqual([
      `tenant-0: event ${id} scheduled`,
      `tenant-0: event ${id} started`,
      `tenant-0: event ${id} ended`,
    ])
  })
})

describe('starting', () => {
  // Neighbouring ports can't be reserved: where another process has one, the next pair is tried.
  const MAX_TRIES = 20
  const inUse = (port: number) => `Port ${port} on 127.0.0.1 is in use already.`

  test('with a port gives VM i the port+1+i', async () => {
    for (let tries = 1; ; tries += 1) {
      const probe = await startSimulator({ vms: [['probe']] })
      await probe.stop()
      const port = Number(new URL(probe.controlUrl).port)
      try {
        const { simulator } = await start({ port })
        const ports = simulator.vms.map((vm) => Number(new URL(vm.url).port))
        expect(ports).toEqual([port + 1, port + 2, port + 3])
        return
      } catch (error) {
        if (tries === MAX_TRIES || !String(error).includes('in use')) throw error
      }
    }
  })

  test('on a port in use fails with that port, and leaves nothing open', async () => {
    for (let tries = 1; ; tries += 1) {
      const { simulator } = await start()
      const port = Number(new URL(simulator.controlUrl).port)
      const again = () => startSimulator({ vms: [['a']], port: port - 1 }).catch(String)
      const first = await again()
      if (first === `Error: ${inUse(port - 1)}` && tries < MAX_TRIES) continue
      expect([first, await again()]).toEqual(Array(2).fill(`Error: ${inUse(port)}`))
      return
    }
  })
})
