// What a VM of the simulator is answered by its IMDS: the document, approvals, and what it is itself.

import { describe, expect, test } from 'vitest'
import { METADATA, start } from './client.ts'
import { API_VERSIONS } from './documents.ts'

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
    expect(statuses).toEqual([400, 400, 400, 400, 200, 200, 400, 404])
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

  test('answers parts of it, and values as text', async () => {
    const { instance } = await start()
    const part = async (path: string) => {
      const [name = '', query = ''] = path.split('?')
      const version = `2021-02-01${query && `&${query}`}`
      const response = await instance('db_0', version, METADATA, name)
      return [response.status, await response.text()]
    }
    const [status, compute] = await part('/compute')
    expect([status, JSON.parse(String(compute)).name]).toEqual([200, 'db_0'])
    expect(await part('/compute/name?format=text')).toEqual([200, 'db_0'])
    expect(await part('/compute/name')).toEqual([400, expect.stringContaining('format text')])
    expect(await part('/compute/nothing')).toEqual([404, expect.stringContaining('Not found')])
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
