// What is known of the affected VMs, and what is cut if there is not enough room.
import { describe, expect, test } from 'vitest'
import { hitVms, maxMessageVmBytes } from '../../../functions/core/event/hit-vms.ts'
import type { Sight } from '../../../functions/core/event/sight.ts'
import { at, type Fields, facts, record, sight } from '../../support/records.ts'

const listening = { now: at, listeningSince: 0 }
const place = {
  ...{ vmId: '0f9c1a52-5f0e-4a0e-9d3e-0c6f4a1b2c3d', subscriptionId: 'sub', resourceGroup: 'rg' },
  ...{ scaleSet: 'web', placementGroup: 'pg', zone: '2' },
}
const vmsOf = (sights: Sight[], changes: Fields = {}, maxBytes = maxMessageVmBytes) =>
  hitVms(record({ ...changes, sights }), listening, maxBytes)
const hit = (...resources: string[]): Fields => ({ facts: facts({ resources }) })
const sizeOf = (value: object) => Buffer.byteLength(JSON.stringify(value))

describe('facts', () => {
  test('come from the beacon of the VM, in the order of the event', () => {
    const tags = { role: 'web' }
    const sights = [
      sight('db_0'),
      sight('WEB_1', { resourceGroup: '' }),
      sight('web_0', { ...place, tags }),
    ]
    expect(vmsOf(sights, hit('web_0', 'web_1', 'web_2'))).toEqual([
      { name: 'web_0', ...place, tags },
      { name: 'web_1', tags: {} },
    ])
  })

  test.each<[string, Partial<Sight>, object]>([
    ['agree', { tags: {} }, { name: 'web_0', ...place, tags: {} }],
    ['know less', { resourceGroup: '' }, { name: 'web_0', ...place, tags: {} }],
    ['differ', { resourceGroup: 'other', vmId: 'other', tags: { a: 'b' } }, { name: 'web_0' }],
  ])('of two beacons with one name that %s', (_, other, expected) => {
    const { subscriptionId, scaleSet, placementGroup, zone, ...rest } = place
    const shared = { subscriptionId, scaleSet, placementGroup, zone }
    const second = sight('web_0', { beacon: 'second', ...rest, ...shared, ...other })
    const [vm] = vmsOf([sight('web_0', place), second])
    expect(vm).toEqual('vmId' in expected ? expected : { name: 'web_0', ...shared })
  })

  test('what a node of Kubernetes ran', () => {
    const workloads = ['data/db', 'shop/web']
    const one = sight('web_0', { workloads })
    const other = sight('web_0', { beacon: 'second', workloads: ['shop/web'] })
    expect(vmsOf([one])).toMatchObject([{ name: 'web_0', workloads }])
    expect(vmsOf([one, other])[0]).not.toHaveProperty('workloads')
  })

  test('the readiness of each VM is known if the event has a summary', () => {
    const summary = { wait: { readiness: { counts: {}, unready: [] } } }
    const ready = sight('web_0', { hooks: { prepare: { state: 'succeeded', since: at } } })
    const states = vmsOf([ready], { ...hit('web_0', 'web_1'), ...summary })
    expect(states.map(({ name, readiness }) => [name, readiness])).toEqual([
      ['web_0', 'ready'],
      ['web_1', 'awaited'],
    ])
    expect(vmsOf([ready])[0]).not.toHaveProperty('readiness')
  })
})

describe('with many VMs', () => {
  const names = [...Array(1_000).keys()].map((i) => `web_${i}`)
  const tags = { note: '☃'.repeat(200) }
  const sights = names.map((name) => sight(name, { ...place, tags }))

  test('the last ones are cut, after all tags', () => {
    const vms = vmsOf(sights, hit(...names))
    expect(sizeOf(vms)).toBeLessThanOrEqual(maxMessageVmBytes + 2)
    expect(sizeOf(vms)).toBeGreaterThan(maxMessageVmBytes - 300)
    expect(vms.map(({ name }) => name)).toEqual(names.slice(0, vms.length))
    expect(vms.some((vm) => vm.tags)).toBe(false)
  })

  test('tags of the first ones stay if there is room', () => {
    const vms = vmsOf(sights, hit(...names.slice(0, 20)))
    expect(vms).toHaveLength(20)
    const whole = vms.filter((vm) => vm.tags)
    expect(whole.length).toBeGreaterThan(2)
    expect(whole).toEqual(vms.slice(0, whole.length))
    expect(sizeOf(vms)).toBeLessThanOrEqual(maxMessageVmBytes + 2)
  })
})
