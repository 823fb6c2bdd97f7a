// Long lists of VMs: names that Azure would not give, and how documents with them are compared.
import { describe, expect, test } from 'vitest'
import { namesDigest } from '../../../functions/core/event/shown.ts'
import { bigNames } from '../../support/big.ts'
import { sentTo } from '../../support/deliveries.ts'
import { moments, startRelay, world } from '../../support/relay.ts'
import { adminKey, createWorld, event, eventId, FakeBeacon } from '../../support/world.ts'

const few = ['web_0', 'web_1']
const many = bigNames()
const shown = (resources: string[]) => event({ resources })
const lengthOf = (value: object) => JSON.stringify(value).length

describe('the digest of a list', () => {
  test.each([
    ['few', few],
    ['many', many],
  ])('%s: case, order and repetition do not matter', (_, names) => {
    const other = [...names].reverse().map((name) => name.toUpperCase())
    expect(namesDigest([...other, ...other])).toBe(namesDigest(names))
    expect(namesDigest(names.slice(1))).not.toBe(namesDigest(names))
    expect(namesDigest(names)!.length).toBeLessThanOrEqual(64)
  })
})

test('names that Azure would not give fill no row: the first ones stay', async () => {
  const world = await createWorld()
  const names = ['web_0', ...bigNames(0, 190, 256)]
  await new FakeBeacon(world, 'web_0').sees([shown(names)])
  const { body } = await world.getEvent(eventId)
  expect(lengthOf(body.resources)).toBeLessThanOrEqual(40_000)
  expect(names).toEqual(expect.arrayContaining(body.resources))
  expect(body.resourcesTotal).toBe(191)
  world.store.close()
})

describe('an event of more than 200 VMs', () => {
  const all = Array.from({ length: 340 }, (_, i) => `web_${i}`)
  const approving = { policy: [{ match: {}, decide: 'approve' }] }

  test('people are notified with 200 names and the number, and no rule approves it', async () => {
    await startRelay(approving)
    const [one, two] = ['web_0', 'web_1'].map((vm) => new FakeBeacon(world, vm))
    expect((await one!.sees([shown(all)])).refused).toEqual([])
    // another document lists the same VMs in another order
    await two!.sees([shown(all.toReversed())])
    await world.drain()
    expect(moments()).toEqual(['scheduled'])
    const { body } = await world.getEvent(eventId)
    expect(body.resources).toHaveLength(200)
    expect(body).toMatchObject({
      resourcesTotal: 340,
      policy: { decide: 'notify' },
      approvals: [],
    })
    const [sent] = sentTo(world, 'hook')
    expect(sent?.json.data).toMatchObject({ resourcesTotal: 340 })
  })

  test('nobody can decide, and the page says why', async () => {
    await startRelay()
    const beacon = new FakeBeacon(world, 'web_0')
    await beacon.sees([shown(all)])
    await world.drain()
    expect(JSON.stringify(sentTo(world, 'slack'))).toContain('Foghorn decides nothing about')
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
    const response = await world.app.request(`/v1/events/prod/${eventId}/decision`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ decision: 'approve' }),
    })
    expect(response.status).toBe(409)
    expect(await response.json()).toMatchObject({ code: 'too_many_vms' })
    expect((await beacon.sees([shown(all)])).directives).toEqual([])
  })

  test('an approval ends when its event grows beyond them', async () => {
    await startRelay(approving)
    const beacon = new FakeBeacon(world, 'web_0')
    await beacon.sees([shown(['web_0'])])
    await beacon.sees([shown(all)])
    await world.drain()
    const { body } = await world.getEvent(eventId)
    expect(body.policy.decide).toBe('notify')
    expect(body.approvals).toMatchObject([{ decision: 'approved', expiredAt: expect.any(String) }])
    expect((await beacon.sees([shown(all)])).directives).toEqual([])
  })
})
