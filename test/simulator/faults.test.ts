// What goes wrong when it is told to: which fault is whose turn, and what each does over HTTP.

import { describe, expect, test } from 'vitest'
import { start } from './client.ts'
import { Faults } from './faults.ts'

describe('faults', () => {
  test('with times count per VM and come first, in order; then the newest lasting one', () => {
    const faults = new Faults()
    faults.add({ status: 500 })
    faults.add({ status: 503, times: 2 })
    faults.add({ vm: 'b', status: 429, times: 1 })
    faults.add({ status: 410 })
    const take = (vm: string) => faults.take(vm)?.status
    expect([take('a'), take('a'), take('a'), take('a')]).toEqual([503, 503, 410, 410])
    expect([take('b'), take('b'), take('b'), take('b')]).toEqual([503, 503, 429, 410])
  })

  test('can be cleared for one VM, or all', () => {
    const faults = new Faults()
    faults.add({ status: 500 })
    faults.add({ vm: 'a', status: 503 })
    expect(faults.take('a')?.status).toBe(503)
    faults.clear('a')
    expect(faults.take('a')?.status).toBe(500)
    faults.clear()
    expect(faults.take('a')).toBeNull()
  })

  test('spare the other VMs where one is named, until cleared', async () => {
    const { simulator, events, approve, instance } = await start()
    const id = simulator.createEvent()
    simulator.fault({ vm: 'web_0', status: 500 })
    expect((await events('web_0')).status).toBe(500)
    expect((await approve('web_0', id)).status).toBe(500)
    expect(simulator.startRequests()).toMatchObject([{ eventId: id, status: 500 }])
    expect(simulator.state().vms[0]?.document).toMatchObject({
      Events: [{ EventStatus: 'Scheduled' }],
    })
    expect((await instance('web_0', '2021-02-01')).status).toBe(200)
    expect((await events('web_1')).status).toBe(200)
    simulator.fault({})
    expect((await events('web_0')).status).toBe(200)
  })

  test('can empty the body, or the list of events', async () => {
    const { simulator, events } = await start()
    simulator.createEvent()
    simulator.fault({ emptyBody: true, times: 1 })
    simulator.fault({ emptyEvents: true, times: 1 })
    const empty = await events('web_0')
    expect([empty.status, await empty.text()]).toEqual([200, ''])
    expect(await (await events('web_0')).json()).toEqual({ DocumentIncarnation: 2, Events: [] })
    expect(await (await events('web_0')).json()).toMatchObject({ Events: [{}] })
  })

  test('can spoil entries of the list of events', async () => {
    const { simulator, events } = await start()
    const id = simulator.createEvent()
    simulator.fault({ unreadable: 'added', times: 1 })
    simulator.fault({ unreadable: 'instead', times: 1 })
    expect(await (await events('web_0')).json()).toMatchObject({ Events: [null, { EventId: id }] })
    expect(await (await events('web_0')).json()).toMatchObject({ Events: [{ EventId: 7 }] })
    expect(await (await events('web_0')).json()).toMatchObject({ Events: [{ EventId: id }] })
  })

  test('can delay an answer', async () => {
    const { simulator, events } = await start()
    simulator.fault({ delayMs: 3_600_000, times: 1 })
    await expect(events('web_0', { signal: AbortSignal.timeout(50) })).rejects.toThrow(/timeout/)
    // another VM: on a slow machine the aborted request may still come, and would take its fault
    simulator.fault({})
    simulator.fault({ vm: 'web_1', delayMs: 60, times: 1 })
    const since = performance.now()
    expect((await events('web_1')).status).toBe(200)
    expect(performance.now() - since).toBeGreaterThan(55)
  })
})
