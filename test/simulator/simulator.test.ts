// The simulator over real HTTP. Events here are far off, or due at once, so that nothing depends on how
// fast the machine is; where something has to happen first, the test waits for it.

import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { EventsDocument } from './documents.ts'
import { API_VERSIONS } from './documents.ts'
import { type Simulator, type SimulatorOptions, startSimulator } from './simulator.ts'

const LIMIT_MS = 10_000
const METADATA = { metadata: 'true' }
const running: Simulator[] = []

afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.stop()))
})

async function start(options: Partial<SimulatorOptions> = {}) {
  const simulator = await startSimulator({ vms: [['web_0', 'web_1'], ['db_0']], ...options })
  running.push(simulator)
  const urlOf = (vm: string) => simulator.vms.find((one) => one.name === vm)!.url
  const events = (vm: string, init: RequestInit = {}, query = '?api-version=2020-07-01') =>
    fetch(`${urlOf(vm)}/metadata/scheduledevents${query}`, { headers: METADATA, ...init })
  const document = async (vm: string) => (await (await events(vm)).json()) as EventsDocument
  const approve = (vm: string, ...ids: string[]) =>
    events(vm, {
      method: 'POST',
      body: JSON.stringify({ StartRequests: ids.map((EventId) => ({ EventId })) }),
    })
  const instance = (vm: string, version: string, headers: Record<string, string> = METADATA) =>
    fetch(`${urlOf(vm)}/metadata/instance?api-version=${version}`, { headers })
  const control = async (method: string, path: string, body?: unknown) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const init = { method, ...(body !== undefined && { body: text }) }
    const response = await fetch(simulator.controlUrl + path, init)
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  return { simulator, urlOf, events, document, approve, instance, control }
}

describe('GET scheduledevents', () => {
  test('serves the document of the tenant to each of its VMs', async () => {
    const { simulator, document } = await start()
    const id = simulator.createEvent({ Resources: ['web_1'] })
    expect((await document('web_0')).Events[0]?.EventId).toBe(id)
    expect(await document('web_0')).toEqual(await document('web_1'))
    expect((await document('db_0')).Events).toEqual([])
  })

  test.each([
    ['no Metadata', '2017-08-01', {}, 400],
    ['Metadata: false', '2020-07-01', { metadata: 'false' }, 400],
    ['Metadata: True', '2020-07-01', { metadata: 'True' }, 200],
    ['no Metadata in the preview', '2017-03-01', {}, 200],
    ['forwarded', '2020-07-01', { ...METADATA, 'x-forwarded-for': '10.0.0.1' }, 400],
    ['forwarded in the preview', '2017-03-01', { 'x-forwarded-for': '10.0.0.1' }, 400],
    ['an unknown version', '2021-02-01', METADATA, 400],
    ['{latest}', '{latest}', METADATA, 400],
  ])('%s (%s)', async (_, version, headers, status) => {
    const { events } = await start()
    expect((await events('web_0', { headers }, `?api-version=${version}`)).status).toBe(status)
  })

  test('explains a missing version', async () => {
    const { events } = await start()
    const response = await events('web_0', {}, '')
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 'Bad request: api-version is missing.' })
  })

  test('can know older versions only', async () => {
    const { events } = await start({ apiVersions: ['2019-08-01', '2019-04-01'] })
    const statuses = await Promise.all(
      API_VERSIONS.map(async (version) => {
        return (await events('web_0', {}, `?api-version=${version}`)).status
      }),
    )
    expect(statuses).toEqual([400, 400, 400, 400, 200, 200, 400])
  })

  test('is slow for the first GET of a tenant only', async () => {
    const { events } = await start({ firstGetMs: 300 })
    const since = performance.now()
    const refused = await events('web_0', {}, '?api-version=1')
    expect(refused.status).toBe(400)
    await events('web_0')
    expect(performance.now() - since).toBeGreaterThan(290)
    // The service is on now: a GET of the tenant overtakes the first one of another.
    const order: string[] = []
    await Promise.all([
      events('db_0').then(() => order.push('db_0')),
      events('web_1').then(() => order.push('web_1')),
    ])
    expect(order).toEqual(['web_1', 'db_0'])
  })

  test.each([
    ['GET', '/metadata/other', 404],
    ['GET', '/', 404],
    ['PUT', '/metadata/scheduledevents?api-version=2020-07-01', 405],
  ])('%s %s is answered %d', async (method, path, status) => {
    const { urlOf } = await start()
    const response = await fetch(urlOf('web_0') + path, { method, headers: METADATA })
    expect(response.status).toBe(status)
  })
})

describe('POST StartRequests', () => {
  test('starts the event, answers with nothing, and may be repeated', async () => {
    const { simulator, document, approve } = await start()
    const id = simulator.createEvent({ impactSeconds: 3600 })
    const first = await approve('web_1', id)
    expect([first.status, await first.text()]).toEqual([200, ''])
    expect((await document('web_0')).Events[0]?.EventStatus).toBe('Started')
    expect((await approve('web_0', id)).status).toBe(200)
    expect(simulator.startRequests().map(({ vm, status }) => [vm, status])).toEqual([
      ['web_1', 200],
      ['web_0', 200],
    ])
  })

  test.each([
    ['not JSON', '{"StartRequests":'],
    ['no StartRequests', '{}'],
    ['an empty list', '{"StartRequests":[]}'],
    ['no EventId', '{"StartRequests":[{}]}'],
    ['an unknown EventId', '{"StartRequests":[{"EventId":"nonsense"}]}'],
  ])('%s is refused', async (_, body) => {
    const { events } = await start()
    expect((await events('web_0', { method: 'POST', body })).status).toBe(400)
  })

  test('needs the Metadata header too, and starts nothing without', async () => {
    const { simulator, events, document } = await start()
    const EventId = simulator.createEvent()
    const body = JSON.stringify({ StartRequests: [{ EventId }] })
    expect((await events('web_0', { method: 'POST', body, headers: {} })).status).toBe(400)
    expect((await document('web_0')).Events[0]?.EventStatus).toBe('Scheduled')
  })

  test.each([
    ['the current one as a string', '2', 200],
    ['a number', 2, 400],
    ['an old one', '1', 400],
    ['none', undefined, 400],
  ])('in the preview DocumentIncarnation is %s', async (_, DocumentIncarnation, status) => {
    const { simulator, events } = await start()
    const StartRequests = [{ EventId: simulator.createEvent() }]
    const body = JSON.stringify({ DocumentIncarnation, StartRequests })
    const init = { method: 'POST', body }
    expect((await events('web_0', init, '?api-version=2017-03-01')).status).toBe(status)
    expect(simulator.startRequests().map((entry) => entry.status)).toEqual([status])
  })

  test('too long a body is refused', async () => {
    const { events } = await start()
    const body = 'x'.repeat(70_000)
    expect((await events('web_0', { method: 'POST', body })).status).toBe(413)
  })

  test('is answered before what it starts takes the VM down', async () => {
    const { simulator, events, approve } = await start()
    const id = simulator.createEvent({ takesVmDown: true, impactSeconds: 3600 })
    expect((await approve('web_0', id)).status).toBe(200)
    await expect(events('web_0')).rejects.toThrow()
    expect((await events('web_1')).status).toBe(200)
  })
})

describe('GET instance', () => {
  test('describes an instance of a scale set', async () => {
    const { instance } = await start()
    const { compute } = (await (await instance('web_1', '2021-02-01')).json()) as {
      compute: Record<string, unknown>
    }
    expect(compute).toMatchObject({
      name: 'web_1',
      vmId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      resourceGroupName: 'rg-web',
      vmScaleSetName: 'web',
      resourceId: expect.stringMatching(/\/virtualMachineScaleSets\/web\/virtualMachines\/1$/),
      tagsList: [{ name: 'role', value: 'web' }],
    })
    const { tagsList: _, ...rest } = compute
    expect(Object.values(rest).every((value) => typeof value === 'string')).toBe(true)
  })

  test('describes a VM of its own', async () => {
    const { instance } = await start()
    expect(await (await instance('db_0', '2021-02-01')).json()).toMatchObject({
      compute: {
        vmScaleSetName: '',
        placementGroupId: '',
        resourceId: expect.stringMatching(/Microsoft\.Compute\/virtualMachines\/db_0$/),
      },
    })
  })

  test('is the same in every run, and different for every VM', async () => {
    const ids = await Promise.all(
      [await start(), await start()].flatMap(({ instance }) =>
        ['web_0', 'web_1'].map(async (vm) => {
          const body = (await (await instance(vm, '2021-02-01')).json()) as {
            compute: { vmId: string }
          }
          return body.compute.vmId
        }),
      ),
    )
    expect(ids.slice(0, 2)).toEqual(ids.slice(2))
    expect(new Set(ids).size).toBe(2)
  })

  test.each([
    ['2017-04-02', METADATA, 200],
    ['2025-04-07', METADATA, 200],
    ['2017-03-01', METADATA, 400],
    ['latest', METADATA, 400],
    ['2021-02-01', {}, 400],
    ['2021-02-01', { ...METADATA, 'x-forwarded-for': '10.0.0.1' }, 400],
  ])('version %s with %j is answered %d', async (version, headers, status) => {
    const { instance } = await start()
    expect((await instance('web_0', version, headers)).status).toBe(status)
  })
})

describe('faults', () => {
  test('fail each VM so many times', async () => {
    const { simulator, events } = await start()
    simulator.fault({ status: 429, retryAfterSeconds: 3, times: 1 })
    const limited = await events('web_0')
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '3'])
    expect((await events('web_0')).status).toBe(200)
    expect((await events('web_1')).status).toBe(429)
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

  test('can delay an answer', async () => {
    const { simulator, events } = await start()
    simulator.fault({ delayMs: 3_600_000, times: 1 })
    await expect(events('web_0', { signal: AbortSignal.timeout(50) })).rejects.toThrow(/timeout/)
    simulator.fault({ delayMs: 60, times: 1 })
    const since = performance.now()
    expect((await events('web_0')).status).toBe(200)
    expect(performance.now() - since).toBeGreaterThan(55)
  })
})

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

  test('was terminated', async () => {
    const { simulator, events, document } = await start()
    const Resources = ['web_1']
    const id = simulator.createEvent({ EventType: 'Terminate', Resources, noticeSeconds: 0 })
    expect((await document('web_1')).Events[0]).toMatchObject({ EventId: id })
    simulator.createEvent({ EventType: 'Preempt', Resources, noticeSeconds: 0, impactSeconds: 0 })
    await expect(events('web_1')).rejects.toThrow()
    expect((await document('web_0')).Events).toHaveLength(1)
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

  test('waits for nothing longer than it is told', async () => {
    const { simulator } = await start()
    await expect(simulator.waitFor(() => false, 5)).rejects.toThrow(/within 5 ms.*web_0/)
  })
})

describe('control', () => {
  test('plays an event from creation to cancellation', async () => {
    const { control } = await start()
    const created = await control('POST', '/events', { EventType: 'Freeze', Resources: ['db_0'] })
    const id = created.json.EventId as string
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    await control('PATCH', `/events/${id}`, { DurationInSeconds: 7 })
    const { json } = await control('GET', '/state')
    expect(json).toEqual({
      vms: [
        { name: 'web_0', tenant: 'tenant-0', document: { DocumentIncarnation: 1, Events: [] } },
        { name: 'web_1', tenant: 'tenant-0', document: { DocumentIncarnation: 1, Events: [] } },
        {
          name: 'db_0',
          tenant: 'tenant-1',
          document: {
            DocumentIncarnation: 3,
            Events: [expect.objectContaining({ EventId: id, DurationInSeconds: 7 })],
          },
        },
      ],
      startRequests: [],
    })
    expect((await control('POST', `/events/${id}/cancel`)).json).toEqual({ EventId: id })
    expect((await control('POST', `/events/${id}/cancel`)).status).toBe(404)
  })

  test('needs no body for an event', async () => {
    const { control, document } = await start()
    expect((await control('POST', '/events')).status).toBe(200)
    expect((await document('web_0')).Events).toMatchObject([{ EventType: 'Reboot' }])
  })

  test('logs start requests with a time', async () => {
    const { simulator, control, approve } = await start()
    const eventId = simulator.createEvent()
    await approve('web_1', eventId)
    expect((await control('GET', '/state')).json.startRequests).toEqual([
      { vm: 'web_1', eventId, status: 200, at: expect.stringMatching(/^\d{4}-.*Z$/) },
    ])
  })

  test('sets faults, resets incarnations, takes VMs away and back', async () => {
    const { simulator, control, events, document } = await start()
    await control('POST', '/faults', { vm: 'web_0', status: 503 })
    expect((await events('web_0')).status).toBe(503)
    await control('POST', '/faults', { clear: true })
    simulator.createEvent()
    await control('POST', '/incarnation/reset')
    expect((await document('web_0')).DocumentIncarnation).toBe(1)
    await control('POST', '/vms/web_0/away')
    await expect(events('web_0')).rejects.toThrow()
    await control('POST', '/vms/web_0/back')
    expect((await events('web_0')).status).toBe(200)
  })

  test('serves recorded documents verbatim, also broken ones', async () => {
    const { control, events, document, approve } = await start()
    const recorded = { DocumentIncarnation: 9, Events: [{ EventId: 'ABC', New: [1] }] }
    await control('POST', '/recorded', { vms: ['web_0'], document: recorded })
    expect(await document('web_0')).toEqual(recorded)
    expect((await document('web_1')).Events).toEqual([])
    expect((await approve('web_0', 'abc')).status).toBe(200)
    await control('POST', '/recorded', { vms: ['web_0'], document: '{"Events":' })
    expect(await (await events('web_0')).text()).toBe('{"Events":')
    await control('POST', '/recorded', { vms: ['web_0'], document: null })
    expect((await document('web_0')).Events).toEqual([])
  })

  test.each([
    ['POST', '/events', '{', 400, 'not valid JSON'],
    ['POST', '/events', { noticeSecond: 3 }, 400, 'noticeSecond'],
    ['POST', '/events', { NotBefore: 'soon' }, 400, 'NotBefore: write a time such as'],
    ['POST', '/events', { Resources: ['web_9'] }, 400, 'web_9'],
    ['POST', '/events', { Resources: ['web_0', 'db_0'] }, 400, 'one tenant'],
    ['PATCH', '/events/nonsense', {}, 404, 'nonsense'],
    ['PATCH', '/events/nonsense', { EventType: 'Freeze' }, 400, 'EventType'],
    ['POST', '/faults', { vm: 'web_9', status: 500 }, 404, 'web_9'],
    ['POST', '/faults', { vm: 'web_0' }, 400, 'status, delayMs'],
    ['POST', '/recorded', { vms: ['web_0'] }, 400, 'document'],
    ['POST', '/vms/web_9/away', undefined, 404, 'web_9'],
    ['GET', '/nonsense', undefined, 404, 'POST /events'],
  ])('%s %s with %j is answered %d', async (method, path, body, status, mention) => {
    const { control } = await start()
    expect(await control(method, path, body)).toEqual({
      status,
      json: { error: expect.stringContaining(mention) },
    })
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
