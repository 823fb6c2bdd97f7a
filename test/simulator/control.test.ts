// The control API over HTTP: what it makes happen to the fleet, what it shows, and what it refuses.

import { describe, expect, test } from 'vitest'
import { start } from './client.ts'

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
