// Refused reports in the relay's log. If a report has the fleet's credential, the log names the VM.
// Otherwise its body is not parsed, and the log has only the fleet of its header.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startRelay, world } from '../../support/relay.ts'
import { event, FakeBeacon, testKey } from '../../support/world.ts'

beforeEach(() => startRelay())
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

test.each<[string, object]>([
  ['a wrong key', { key: testKey }],
  ['a token in a fleet that accepts none', { token: 'a.b.c' }],
])('%s: nothing of the body is read or logged', async (_, options) => {
  const parse = vi.spyOn(JSON, 'parse')
  const body = JSON.stringify({ ...whole(), vm: { name: 'x'.repeat(200_000) } })
  await new FakeBeacon(world, 'web_0', options).post(body)
  const parsed = parse.mock.calls.map(([text]) => text)
  parse.mockRestore()
  expect(parsed).not.toContain(body)
  const entry = await refusalOf(whole(), options)
  expect(entry).toMatchObject({ code: 'signature_invalid', fleet: 'prod' })
  expect(entry.vm).toBeUndefined()
})

test('an unknown fleet: neither its name nor its body becomes a kind of its own', async () => {
  const entry = await refusalOf(whole(), { fleet: 'made-up' })
  expect(entry).toMatchObject({ code: 'fleet_unknown', fleet: '' })
  expect(entry.vm).toBeUndefined()
})

test('a report of the wrong form with the right key: the VM is named', async () => {
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
