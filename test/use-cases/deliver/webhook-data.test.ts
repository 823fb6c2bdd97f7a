// What a webhook says about the affected VMs, from the reports of their beacons to the body.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { answer, down, passInSteps, sentTo } from '../../support/deliveries.ts'
import { hour, minute, report, startRelay, world } from '../../support/relay.ts'
import {
  adminKey,
  baseConfig,
  event,
  eventId,
  FakeBeacon,
  usualAnswer,
} from '../../support/world.ts'

const place = {
  ...{
    vmId: '0f9c1a52-5f0e-4a0e-9d3e-0c6f4a1b2c3d',
    subscriptionId: 'sub',
    resourceGroup: 'rg-web',
  },
  ...{ scaleSet: 'web', placementGroup: 'pg', zone: '2', tags: { role: 'web' } },
}
const { name: _, ...known } = { name: '', ...place }
const dataOf = (place = -1) => sentTo(world, 'hook').at(place)!.json.data
const decides = {
  channels: {
    ...(baseConfig.channels as object),
    hook: { ...(baseConfig.channels as { hook: object }).hook, links: 'decide' },
  },
}

describe('affected VMs', () => {
  test('are described by their own beacons, with the others as a count', async () => {
    await startRelay()
    await new FakeBeacon(world, 'web_7', { vm: { ...place, vmId: 'another' } }).sees([
      event({ resources: ['web_1', 'web_0'] }),
    ])
    await world.drain()
    const web0 = new FakeBeacon(world, 'web_0', { vm: place })
    await web0.runs([event({ resources: ['web_1', 'web_0'] })], 'succeeded')
    await world.pass(11_000)
    await web0.runs([event({ resources: ['web_1', 'web_0'], durationSeconds: 9 })], 'succeeded')
    await world.drain()
    expect(dataOf(0)).toMatchObject({ vms: [{ name: 'web_1' }, { name: 'web_0' }] })
    expect(dataOf(0)).not.toHaveProperty('observers')
    expect(dataOf()).toMatchObject({
      moment: 'changed',
      observers: 1,
      vms: [
        { name: 'web_1', readiness: 'awaited' },
        { name: 'web_0', ...known, readiness: 'ready' },
      ],
    })
    expect(dataOf()).not.toHaveProperty('vmsTotal')
  })

  test('of a beacon of 0.1.0, whose reports are recorded', async () => {
    const recorded = join(import.meta.dirname, '../../recorded/0.1.0/first-sight.json')
    const { vm } = JSON.parse(readFileSync(recorded, 'utf8'))
    await startRelay({}, { vm: vm.name })
    const { name, location: _, ...facts } = vm
    await new FakeBeacon(world, name, { vm }).sees([event({ resources: [name] })])
    await world.drain()
    expect(dataOf().vms).toEqual([{ name, ...facts }])
  })

  test('of a beacon that knows only its name', async () => {
    await startRelay()
    const unknown = { vmId: '', subscriptionId: '', resourceGroup: '' }
    await new FakeBeacon(world, 'web_0', { vm: unknown }).sees([event()])
    await world.drain()
    expect(dataOf().vms).toEqual([{ name: 'web_0', tags: {} }])
  })

  test('the API shows them at any time', async () => {
    await startRelay()
    await new FakeBeacon(world, 'web_0', { vm: place }).sees([event()])
    const api = dataLink()
    await world.drain()
    expect(dataOf().links.api).toBe(`https://foghorn.example${api}`)
    const headers = { authorization: `Bearer ${adminKey}` }
    const { vms } = (await (await world.app.request(api, { headers })).json()) as { vms: unknown }
    expect(vms).toEqual([{ name: 'web_0', ...known }])
  })
})

describe('links', () => {
  test('to the page lead to one that shows the event', async () => {
    await startRelay()
    await report(event())
    const { pathname } = new URL(dataOf().links.page)
    const form = await world.app.request(pathname)
    const to = encodeURIComponent(pathname.replace('/console', ''))
    expect([form.status, form.headers.get('location')]).toEqual([303, `/console?to=${to}`])
    world.relay.credentials.adminKey = undefined
    await report(event({ durationSeconds: 9 }))
    expect(dataOf().links).toEqual({ api: `https://foghorn.example${dataLink()}` })
  })

  test('that decide are the same at every attempt, and work after a late replay', async () => {
    await startRelay(decides)
    answer(world, 'hook', down)
    await report(event({ notBeforeAt: world.clock.now + 7 * 24 * hour }))
    await passInSteps(world, 10 * minute, 10_000)
    const bodies = sentTo(world, 'hook').map(({ body }) => body)
    expect(bodies.length).toBeGreaterThan(3)
    expect(new Set(bodies).size).toBe(1)
    await passInSteps(world, 26 * hour, hour)
    world.channels.answer = usualAnswer
    await world.store.replay({ since: 0 }, world.clock.now, 100)
    await world.drain()
    const { pathname } = new URL(dataOf().links.decide)
    expect(sentTo(world, 'hook').at(-1)!.body).not.toBe(bodies[0])
    expect((await world.app.request(pathname)).status).toBe(200)
  })
})

function dataLink(): string {
  return `/v1/events/prod/${eventId}`
}
