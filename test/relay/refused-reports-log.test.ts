// Whoever sets up a beacon finds its refusals in the relay's log by the name of the VM, which is claimed and proven by
// nothing.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createWorld, event, FakeBeacon, testKey, type World } from '../support/world.ts'

let world: World
beforeEach(async () => {
  world = await createWorld()
})
afterEach(() => world.store.close())

async function refusalOf(report: unknown, options = {}) {
  const beacon = new FakeBeacon(world, 'web_0', options)
  const response = await beacon.post(report)
  expect(response.status).toBeGreaterThanOrEqual(400)
  const entries = world.lines.map((line) => JSON.parse(line))
  return entries.findLast((entry: { event: string }) => entry.event === 'report_refused')
}

const whole = () => new FakeBeacon(world, 'web_0').body([event()])
const named = (name: unknown) => ({ ...whole(), version: 'none', vm: { name } })

test('a wrong key: the VM is named', async () => {
  const entry = await refusalOf(whole(), { key: testKey })
  expect(entry).toMatchObject({ code: 'signature_invalid', fleet: 'prod', vm: 'web_0' })
})

test('a report of the wrong form: as well', async () => {
  expect(await refusalOf(named('web_7'))).toMatchObject({ code: 'report_malformed', vm: 'web_7' })
})

test.each([
  ['no JSON', 'x', undefined],
  ['a name that is none', { vm: { name: 7 } }, undefined],
  ['a key in its place', { vm: { name: testKey } }, '(not shown, as it may be a secret)'],
  ['a long one', { vm: { name: 'x '.repeat(5_000) } }, '(not shown, as it may be a secret)'],
])('%s', async (_, report, vm) => {
  expect((await refusalOf(report)).vm).toBe(vm)
})
